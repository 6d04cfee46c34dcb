package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFileStaysInsideTheRoots(t *testing.T) {
	base := t.TempDir()
	root := filepath.Join(base, "root")
	inside := write(t, filepath.Join(root, "sub", "a.png"), "inside")
	outside := write(t, filepath.Join(base, "secret.png"), "secret")
	for name, target := range map[string]string{"out.png": outside, "in.png": inside, "outdir": base} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skipf("this machine makes no symlinks: %v", err)
		}
	}
	relink := filepath.Join(root, "rel.png")
	if err := os.Symlink(filepath.Join("sub", "a.png"), relink); err != nil {
		t.Fatal(err)
	}
	alias := filepath.Join(base, "alias")
	if err := os.Symlink(root, alias); err != nil {
		t.Fatal(err)
	}
	roots, err := NewRoots([]string{alias})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		want error
	}{
		{inside, nil},
		{relink, nil},
		{filepath.Join(alias, "sub", "a.png"), nil},
		{outside, ErrDenied},
		{filepath.Join(root, "out.png"), ErrDenied},
		{filepath.Join(root, "outdir", "secret.png"), ErrDenied},
		{root + "/../secret.png", ErrDenied},
		{"sub/a.png", ErrDenied},
		{filepath.Join(root, "sub"), ErrDenied},
		{filepath.Join(root, "missing.png"), fs.ErrNotExist},
	} {
		_, err := roots.ReadFile(c.path, 100)
		if !errors.Is(err, c.want) {
			t.Errorf("ReadFile(%s) = %v, want %v", c.path, err, c.want)
		}
	}
	if _, err := roots.ReadFile(inside, 3); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a file over the limit: %v, want ErrTooLarge", err)
	}
}

func TestAnyRootReadsEveryOrdinaryFile(t *testing.T) {
	roots, err := NewRoots(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, filepath.Join(t.TempDir(), "a b.png"), "text")
	got, err := roots.ReadFile(path, 4)
	if err != nil || string(got) != "text" {
		t.Fatalf("ReadFile = %q, %v", got, err)
	}
}

func TestNewRootsRefusesWhatIsNoFolder(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "f"), "")
	for _, dir := range []string{"relative", file, file + "-missing"} {
		if _, err := NewRoots([]string{dir}); err == nil {
			t.Errorf("NewRoots(%q) was accepted", dir)
		}
	}
}
