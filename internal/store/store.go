// Package store keeps the files that a server makes or is given: uploads,
// downloads and outputs, each for a while, in a private folder.
package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is one of the three subfolders.
type Kind string

// The kinds of files.
const (
	Uploads   Kind = "uploads"
	Downloads Kind = "downloads"
	Outputs   Kind = "outputs"
)

var kinds = []Kind{Uploads, Downloads, Outputs}

// Known reports whether k is one of the kinds.
func (k Kind) Known() bool { return slices.Contains(kinds, k) }

// Errors of the store.
var (
	ErrNotFound = errors.New("no such file in the store")
	ErrExpired  = errors.New("the file has expired")
	ErrQuota    = errors.New("the store is full")
	ErrClosed   = errors.New("the store is closed")
)

// Defaults of [Config].
const (
	DefaultTTL      = 15 * time.Minute
	DefaultMaxBytes = 512 << 20
	DefaultMaxFiles = 1000
)

// maxRemembered bounds how many expired ids are told apart from unknown ones.
const maxRemembered = 4096

// Config says where files lie and for how long. The zero value works.
type Config struct {
	Dir      string           // "" is a private folder that Close removes
	TTL      time.Duration    // 0 is 15 minutes
	MaxBytes int64            // 0 is 512 MiB over all kinds
	MaxFiles int              // 0 is 1000 over all kinds
	Now      func() time.Time // nil is time.Now
}

// Ref is one file.
type Ref struct {
	ID      string // file name: 32 hexadecimal digits and the extension
	Kind    Kind
	Size    int64 // bytes
	Created time.Time
	Expires time.Time
}

// Store is a folder of files with expiry and quotas. It is safe for concurrent
// use.
type Store struct {
	c    Config
	dir  string
	own  bool
	root *os.Root

	mu      sync.Mutex
	files   map[string]Ref
	bytes   int64
	expired []string // ids of expired files, oldest first
	closed  bool
}

// Open makes or opens the folder. Files left in a given folder by an earlier
// server are taken over with the age they have.
//
// # Errors
//
// A given folder that is a symlink, belongs to somebody else, or may be read by
// others.
func Open(c Config) (*Store, error) {
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.MaxFiles == 0 {
		c.MaxFiles = DefaultMaxFiles
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Store{c: c, dir: c.Dir, own: c.Dir == "", files: map[string]Ref{}}
	var err error
	if s.own {
		s.dir, err = os.MkdirTemp("", "visions-")
	} else {
		err = claim(c.Dir)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	if s.root, err = os.OpenRoot(s.dir); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	for _, k := range kinds {
		if err := s.adopt(k); err != nil {
			s.root.Close()
			return nil, fmt.Errorf("store: %w", err)
		}
	}
	return s, nil
}

// claim makes dir with mode 0700, or checks that it is private already.
func claim(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("the folder %q is not an absolute path", dir)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder (a symlink is not accepted)", dir)
	}
	return private(dir, info)
}

// adopt makes a kind's subfolder and takes over the files in it.
func (s *Store) adopt(k Kind) error {
	if err := s.root.Mkdir(string(k), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	sub, err := s.root.OpenRoot(string(k))
	if err != nil {
		return err
	}
	defer sub.Close()
	entries, err := fs.ReadDir(sub.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || !validID(e.Name()) {
			continue
		}
		made := info.ModTime()
		s.files[e.Name()] = Ref{ID: e.Name(), Kind: k, Size: info.Size(), Created: made, Expires: made.Add(s.c.TTL)}
		s.bytes += info.Size()
	}
	return nil
}

const idDigits = 32 // 128 bits

func validID(id string) bool {
	name, ext, _ := strings.Cut(id, ".")
	return len(name) == idDigits && strings.Trim(name, "0123456789abcdef") == "" && len(ext) <= 5 &&
		strings.Trim(ext, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// Dir is the folder's path.
func (s *Store) Dir() string { return s.dir }

// Put writes a new file. ext is its extension without a dot.
//
// # Errors
//
// [ErrQuota] when the files that have not expired leave no room; none of them
// is dropped for a new one.
func (s *Store) Put(k Kind, ext string, data []byte) (Ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return Ref{}, ErrClosed
	}
	s.sweep()
	if len(s.files) >= s.c.MaxFiles {
		return Ref{}, fmt.Errorf("%w: it holds %d files (limit %d); they expire after %s", ErrQuota, len(s.files), s.c.MaxFiles, s.c.TTL)
	}
	if s.bytes+int64(len(data)) > s.c.MaxBytes {
		return Ref{}, fmt.Errorf("%w: %d more bytes do not fit beside %d (limit %d); files expire after %s", ErrQuota, len(data), s.bytes, s.c.MaxBytes, s.c.TTL)
	}
	var random [idDigits / 2]byte
	rand.Read(random[:])
	now := s.c.Now()
	ref := Ref{ID: hex.EncodeToString(random[:]) + "." + ext, Kind: k, Size: int64(len(data)), Created: now, Expires: now.Add(s.c.TTL)}
	name := filepath.Join(string(k), ref.ID)
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Ref{}, fmt.Errorf("store: %w", err)
	}
	_, err = f.Write(data)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		s.root.Remove(name)
		return Ref{}, fmt.Errorf("store: writing %s: %w", ref.ID, err)
	}
	s.files[ref.ID] = ref
	s.bytes += ref.Size
	return ref, nil
}

// Get reads a file.
//
// # Errors
//
// [ErrExpired] when it was here and its time is over, [ErrNotFound] otherwise.
func (s *Store) Get(k Kind, id string) ([]byte, Ref, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, Ref{}, ErrClosed
	}
	s.sweep()
	ref, ok := s.files[id]
	if !ok || ref.Kind != k {
		if slices.Contains(s.expired, id) {
			return nil, Ref{}, fmt.Errorf("%w: %s was kept for %s", ErrExpired, id, s.c.TTL)
		}
		return nil, Ref{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	data, err := s.root.ReadFile(filepath.Join(string(k), id))
	if err != nil {
		return nil, Ref{}, fmt.Errorf("store: %w", err)
	}
	return data, ref, nil
}

// Path is where a file lies.
func (s *Store) Path(ref Ref) string { return filepath.Join(s.dir, string(ref.Kind), ref.ID) }

// List returns the files of a kind that have not expired, oldest first.
func (s *Store) List(k Kind) []Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
	var list []Ref
	for _, r := range s.files {
		if r.Kind == k {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Ref) int {
		if c := a.Created.Compare(b.Created); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// Sweep removes the files whose time is over. Put, Get and List do so too.
func (s *Store) Sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep()
}

func (s *Store) sweep() {
	now := s.c.Now()
	for id, ref := range s.files {
		if now.Before(ref.Expires) {
			continue
		}
		s.root.Remove(filepath.Join(string(ref.Kind), id))
		delete(s.files, id)
		s.bytes -= ref.Size
		s.expired = append(s.expired, id)
	}
	if n := len(s.expired) - maxRemembered; n > 0 {
		s.expired = slices.Delete(s.expired, 0, n)
	}
}

// Close ends the store and removes the folder when the store made it. A second
// Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.root.Close()
	if s.own {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}
