//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// private checks that a folder is ours and closed to others.
func private(dir string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to us (%d)", dir, st.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s is open to other users (mode %04o): run chmod 700 on it, or choose another folder", dir, mode)
	}
	return nil
}
