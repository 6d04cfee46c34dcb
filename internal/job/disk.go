package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// recover opens the folder and takes its jobs over.
func (t *Table) recover() error {
	dir := t.c.Dir
	if err := os.MkdirAll(filepath.Join(dir, imagesName), 0o700); err != nil {
		return err
	}
	if err := private(dir); err != nil {
		return err
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(filepath.Join(dir, imagesName))
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	t.lock = lock
	t.blobs = &blobs{root: root, held: map[string]*blob{}}
	t.journal = newJournal(dir, t.c.Logger, t.header)
	var order []*entry
	err = t.journal.open(func(k kind, line, raw []byte) (string, error) {
		e, job, err := t.load(k, line, raw)
		if e != nil {
			order = append(order, e)
		}
		return job, err
	})
	var spent []*entry
	if err == nil {
		spent = t.adopt(order)
		err = t.blobs.clean()
	}
	if err != nil {
		return errors.Join(err, t.closeJournal())
	}
	for _, e := range spent {
		t.end(e, Failed, nil, &Failure{Code: CodeInternal, Message: fmt.Sprintf("the server ended %d times while the job ran; it is not tried again", e.status.Attempt)}, true)
	}
	return nil
}

// header is the first record of a journal.
func (t *Table) header() ([]byte, error) {
	t.mu.Lock()
	ids := t.ids
	t.mu.Unlock()
	return encodeRecord(kindHeader, ids, nil)
}

// load takes a record over. It returns the job that a submit record begins, and
// the id under which the record is kept.
func (t *Table) load(k kind, line, raw []byte) (e *entry, job string, err error) {
	switch k {
	case kindHeader:
		var ids issuer
		if err = json.Unmarshal(line, &ids); err == nil {
			t.ids = ids
		}
	case kindSubmit:
		var s submitted
		if err = json.Unmarshal(line, &s); err != nil {
			break
		}
		e = &entry{
			req: Request{Key: s.Key, Tool: s.Tool, Args: slices.Clone(raw)}, size: int64(len(raw)), images: s.Images,
			stored: make(chan struct{}), done: make(chan struct{}),
			status: Status{ID: s.ID, Key: s.Key, Tool: s.Tool, State: Queued, Created: s.Created, Updated: s.Created},
		}
		copy(e.digest[:], s.Digest)
		close(e.stored)
		for _, ref := range s.Images {
			e.size += ref.Size
		}
		t.jobs[s.ID] = e
		t.ids.Count = max(t.ids.Count, countOf(s.ID))
		return e, s.ID, nil
	case kindStart:
		var b began
		if err = json.Unmarshal(line, &b); err == nil && t.jobs[b.ID] != nil {
			t.jobs[b.ID].status.Attempt = b.Attempt
			return nil, b.ID, nil
		}
	case kindEnd:
		var f finished
		if err = json.Unmarshal(line, &f); err != nil {
			break
		}
		e := t.jobs[f.ID]
		if e == nil || e.status.State.Final() {
			return nil, "", nil
		}
		e.status.Attempt = f.Attempt
		t.settle(e, f.State, slices.Clone(raw), f.Failure, f.At)
		close(e.done)
		return nil, f.ID, nil
	default:
		err = fmt.Errorf("its kind %q is not known to this version", byte(k))
	}
	return nil, "", err
}

// adopt queues the loaded jobs that have not ended, and returns those that have
// used up their tries: the process ended each time while they ran.
func (t *Table) adopt(order []*entry) (spent []*entry) {
	for _, e := range order {
		if e.status.Key != "" {
			t.keys[e.status.Key] = e
		}
		if e.status.State.Final() {
			continue
		}
		t.claim(e)
		for _, ref := range e.images {
			t.blobs.hold(ref)
		}
		if e.status.Attempt > t.c.Retries {
			e.ending = true
			spent = append(spent, e)
			continue
		}
		t.lanes.push(e)
	}
	return spent
}

// write puts a new job on disk.
func (t *Table) write(e *entry) error {
	if t.journal == nil {
		return nil
	}
	for _, data := range e.req.Images {
		ref, err := t.blobs.put(data)
		if err != nil {
			t.blobs.release(e.images...)
			return fmt.Errorf("the job cannot be kept on disk: %w", err)
		}
		e.images = append(e.images, ref)
	}
	s := submitted{ID: e.status.ID, Key: e.status.Key, Tool: e.status.Tool, Digest: e.digest[:], Images: e.images, Created: e.status.Created}
	data, err := encodeRecord(kindSubmit, s, e.req.Args)
	if err == nil {
		err = t.journal.append(e.status.ID, data, true)
	}
	if err != nil {
		t.blobs.release(e.images...)
		return fmt.Errorf("the job cannot be kept on disk: %w", err)
	}
	e.req.Images = nil
	return nil
}

// noteStart writes that a try begins, so that a job which ends the process each
// time is not tried for ever.
func (t *Table) noteStart(id string, attempt int) {
	if t.journal != nil {
		t.note(kindStart, id, began{id, attempt}, nil, false)
	}
}

// writeEnd writes a job's end and then removes its images. The end of a job with
// images is on disk before that; of another a power cut may take it, and then
// the job is done again.
func (t *Table) writeEnd(e *entry, state State, result json.RawMessage, f *Failure, at time.Time) {
	if t.journal == nil {
		return
	}
	id := e.status.ID
	if t.note(kindEnd, id, finished{id, state, e.status.Attempt, f, at}, result, len(e.images) > 0) {
		t.blobs.release(e.images...)
	}
}

func (t *Table) note(k kind, job string, line any, raw []byte, sync bool) bool {
	data, err := encodeRecord(k, line, raw)
	if err == nil {
		err = t.journal.append(job, data, sync)
	}
	if err != nil {
		t.c.Logger.Error("the journal lacks a record: the job may be done again after a restart", "kind", string(k), "error", err)
	}
	return err == nil
}

// drop forgets the records of an expired job. The table is locked.
func (t *Table) drop(id string) {
	if t.journal != nil {
		t.journal.forget(id)
	}
}

// images returns a job's images, from disk when there is a journal.
func (t *Table) images(e *entry) ([][]byte, error) {
	t.mu.Lock()
	list, refs := e.req.Images, e.images
	t.mu.Unlock()
	if t.journal == nil {
		return list, nil
	}
	list = make([][]byte, len(refs))
	for i, ref := range refs {
		var err error
		if list[i], err = t.blobs.get(ref); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (t *Table) closeJournal() error {
	if t.journal == nil {
		return nil
	}
	var err error
	if t.journal.f != nil {
		err = t.journal.close()
	}
	return errors.Join(err, t.blobs.root.Close(), t.lock.Close())
}
