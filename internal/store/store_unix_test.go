//go:build unix

package store

import (
	"os"
	"path/filepath"
	"testing"
)

func TestOpenRefusesAFolderThatIsNotPrivate(t *testing.T) {
	base := t.TempDir()
	wide := filepath.Join(base, "wide")
	if err := os.Mkdir(wide, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(t.TempDir(), link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{wide, link, "relative"} {
		if s, err := Open(Config{Dir: dir}); err == nil {
			s.Close()
			t.Errorf("Open(%s) was accepted", dir)
		}
	}
}
