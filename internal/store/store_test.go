package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clock is a time that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func open(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestFilesArePrivateAndExpire(t *testing.T) {
	c := &clock{time.Now()}
	s := open(t, Config{Now: c.Now})
	ref, err := s.Put(Outputs, "png", []byte("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Path(ref))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file's mode is %v (%v), want 0600", info.Mode(), err)
	}
	data, _, err := s.Get(Outputs, ref.ID)
	if err != nil || string(data) != "bytes" {
		t.Fatalf("Get = %q, %v", data, err)
	}
	if _, _, err := s.Get(Uploads, ref.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("another kind's id: %v, want ErrNotFound", err)
	}
	c.now = c.now.Add(DefaultTTL)
	if _, _, err := s.Get(Outputs, ref.ID); !errors.Is(err, ErrExpired) {
		t.Errorf("after its time: %v, want ErrExpired", err)
	}
	if _, _, err := s.Get(Outputs, "../../etc/passwd"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a path as id: %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(s.Path(ref)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the expired file is still there: %v", err)
	}
}

func TestQuotaRefusesAndNeverDropsALiveFile(t *testing.T) {
	s := open(t, Config{MaxBytes: 10, MaxFiles: 2})
	first, err := s.Put(Uploads, "png", make([]byte, 8))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(Outputs, "png", make([]byte, 3)); !errors.Is(err, ErrQuota) {
		t.Errorf("bytes over the quota: %v, want ErrQuota", err)
	}
	if _, err := s.Put(Outputs, "png", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(Outputs, "png", nil); !errors.Is(err, ErrQuota) {
		t.Errorf("files over the quota: %v, want ErrQuota", err)
	}
	if _, _, err := s.Get(Uploads, first.ID); err != nil {
		t.Errorf("the first upload is gone: %v", err)
	}
}

func TestGivenFolderIsKeptAndTakenOver(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := open(t, Config{Dir: dir})
	ref, err := s.Put(Uploads, "png", []byte("kept"))
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	again := open(t, Config{Dir: dir})
	if data, _, err := again.Get(Uploads, ref.ID); err != nil || string(data) != "kept" {
		t.Errorf("after a restart: %q, %v", data, err)
	}
	if _, err := s.Put(Uploads, "png", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Put after Close: %v, want ErrClosed", err)
	}
}

func TestOwnFolderIsRemoved(t *testing.T) {
	s := open(t, Config{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the private folder outlives Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
