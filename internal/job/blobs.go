package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// blobRef names an image in the folder by its SHA-256.
type blobRef struct {
	Sum  string `json:"sha256"`
	Size int64  `json:"size"`
}

// blobs are image files named by their content, shared by the jobs that were
// given the same image.
type blobs struct {
	root *os.Root

	mu   sync.Mutex
	held map[string]*blob
}

type blob struct {
	jobs  int
	ready chan struct{} // closed when the file is on disk, or could not be written
	err   error
}

// put writes an image, unless it is there, and returns when it is on disk.
func (b *blobs) put(data []byte) (blobRef, error) {
	sum := sha256.Sum256(data)
	ref := blobRef{hex.EncodeToString(sum[:]), int64(len(data))}
	b.mu.Lock()
	h := b.held[ref.Sum]
	if h != nil {
		h.jobs++
		b.mu.Unlock()
		<-h.ready
	} else {
		h = &blob{jobs: 1, ready: make(chan struct{})}
		b.held[ref.Sum] = h
		b.mu.Unlock()
		h.err = b.write(ref.Sum, data)
		close(h.ready)
	}
	if h.err != nil {
		b.release(ref)
		return blobRef{}, h.err
	}
	return ref, nil
}

// write makes the file. It needs no other name meanwhile: no record names it
// before it is on disk, and files that no record names are removed at the start.
func (b *blobs) write(name string, data []byte) error {
	f, err := b.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing an image of %d bytes: %w", len(data), err)
	}
	return syncDir(b.root.Name())
}

// hold counts a job of an earlier process that has the image.
func (b *blobs) hold(ref blobRef) {
	h := b.held[ref.Sum]
	if h == nil {
		h = &blob{ready: make(chan struct{})}
		close(h.ready)
		b.held[ref.Sum] = h
	}
	h.jobs++
}

// get reads an image and checks that it is the one it was.
func (b *blobs) get(ref blobRef) ([]byte, error) {
	data, err := b.root.ReadFile(ref.Sum)
	if err != nil {
		return nil, fmt.Errorf("reading an image of the job: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != ref.Sum {
		return nil, fmt.Errorf("the image file %s of the job is damaged", ref.Sum)
	}
	return data, nil
}

// release gives a job's hold back and removes the file with the last one.
func (b *blobs) release(refs ...blobRef) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range refs {
		h := b.held[ref.Sum]
		if h == nil {
			continue
		}
		if h.jobs--; h.jobs == 0 {
			delete(b.held, ref.Sum)
			b.root.Remove(ref.Sum)
		}
	}
}

// clean removes the files that no job has.
func (b *blobs) clean() error {
	list, err := fs.ReadDir(b.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range list {
		if b.held[e.Name()] == nil {
			if err := b.root.Remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
