package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines is a writer that calls f at each write.
type lines struct {
	bytes.Buffer
	f func(string)
}

func (l *lines) Write(p []byte) (int, error) {
	l.f(string(p))
	return l.Buffer.Write(p)
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "v.sock")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &lines{f: func(s string) {
		if strings.HasPrefix(s, "a client sees") {
			cancel() // as an interrupt would
		}
	}}
	if err := run(ctx, path, out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "listening on "+path) || !strings.Contains(got, `health: {"success":true`) {
		t.Errorf("it said:\n%s", got)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}
