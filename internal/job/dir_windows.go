package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// private accepts every folder: Windows keeps access in ACLs, which a folder
// inherits from the user's profile.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder (a symlink is not accepted)")
	}
	return err
}

// lockFile opens a file that nobody else can open meanwhile.
func lockFile(path string) (io.Closer, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, fmt.Errorf("another server uses it: %w", err)
	}
	return os.NewFile(uintptr(h), path), nil
}

// syncDir does nothing: Windows keeps a folder's names by itself.
func syncDir(string) error { return nil }
