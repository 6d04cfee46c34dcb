// Package guard decides what the outside may reach: which files a path argument
// may name, and which web requests are served.
package guard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrDenied is what a path outside the allowed folders answers, and one that is
// no ordinary file.
var ErrDenied = errors.New("path not allowed")

// ErrTooLarge is what a file over the size limit answers.
var ErrTooLarge = errors.New("file too large")

// Roots are the folders that path arguments are confined to.
type Roots struct {
	dirs []string // absolute, symlinks resolved
	any  bool
}

// NewRoots confines paths to dirs; without any, every path is allowed.
//
// # Errors
//
// A folder that is relative, missing, or no folder.
func NewRoots(dirs []string) (*Roots, error) {
	r := &Roots{any: len(dirs) == 0}
	for _, d := range dirs {
		if !filepath.IsAbs(d) {
			return nil, fmt.Errorf("root %q is not an absolute path", d)
		}
		real, err := filepath.EvalSymlinks(d)
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", d, err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("root %q is not a folder", d)
		}
		r.dirs = append(r.dirs, real)
	}
	return r, nil
}

// Any reports whether every path is allowed.
func (r *Roots) Any() bool { return r.any }

// With returns roots that allow dir as well.
func (r *Roots) With(dir string) (*Roots, error) {
	if r.any {
		return r, nil
	}
	more, err := NewRoots([]string{dir})
	if err != nil {
		return nil, err
	}
	return &Roots{dirs: append(more.dirs, r.dirs...)}, nil
}

// ReadFile reads an ordinary file of at most max bytes. Symlinks inside a root
// are followed as long as they stay inside it.
//
// # Errors
//
// [ErrDenied] for a relative path, a path outside the roots, a folder, a device
// or a pipe; [ErrTooLarge]; fs.ErrNotExist for a missing file.
func (r *Roots) ReadFile(path string, max int64) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("%w: %s is relative, give the absolute path", ErrDenied, path)
	}
	f, err := r.open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not an ordinary file but %s", ErrDenied, path, kindOf(info.Mode()))
	}
	if info.Size() > max {
		return nil, fmt.Errorf("%w: %s has %d bytes, the limit is %d", ErrTooLarge, path, info.Size(), max)
	}
	data := make([]byte, 0, info.Size()+1)
	for { // like io.ReadAll, without growing past the limit
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if int64(len(data)) > max {
			return nil, fmt.Errorf("%w: %s grew past the limit of %d bytes while it was read", ErrTooLarge, path, max)
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

func (r *Roots) open(path string) (*os.File, error) {
	if r.any {
		return os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	}
	for _, dir := range r.dirs {
		rel, err := relTo(dir, path)
		if err != nil {
			continue
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, fmt.Errorf("opening root %s: %w", dir, err)
		}
		defer root.Close()
		f, err := root.OpenFile(rel, os.O_RDONLY|nonblock, 0)
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return f, err
		}
		return nil, fmt.Errorf("%w: %s leads out of %s (%v)", ErrDenied, path, dir, errors.Unwrap(err))
	}
	return nil, fmt.Errorf("%w: %s lies outside the allowed folders (%s)", ErrDenied, path, strings.Join(r.dirs, ", "))
}

// relTo gives path relative to dir, also where the path names dir through a
// symlink above it.
func relTo(dir, path string) (string, error) {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel, nil
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(dir, filepath.Join(parent, filepath.Base(path)))
	if err != nil || !filepath.IsLocal(rel) {
		return "", ErrDenied
	}
	return rel, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return m.Type().String()
}
