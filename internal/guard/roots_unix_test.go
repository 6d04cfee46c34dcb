//go:build unix

package guard

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPipesAndDevicesAreRefusedWithoutBlocking(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	roots, err := NewRoots(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", "/"} {
		if _, err := roots.ReadFile(path, 100); !errors.Is(err, ErrDenied) {
			t.Errorf("ReadFile(%s) = %v, want ErrDenied", path, err)
		}
	}
}
