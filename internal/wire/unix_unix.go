//go:build linux || darwin

package wire

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	lockWait  = 5 * time.Second // for another starter or stopper in the same folder
	lockPoll  = 5 * time.Millisecond
	probeWait = time.Second // for a connection to what is at the path
	nameBytes = 8           // random part of the private folder's name
)

// UnixAvailable tells whether this platform has [ListenUnix].
const UnixAvailable = true

// ListenUnix listens at path. The socket is reachable by its owner alone from
// its first instant: it is bound in a fresh 0700 folder beside path, given mode
// 0600 and then linked to path; the process's umask is not touched. A socket
// that nobody serves is replaced. Closing the listener removes path if it is
// still this socket.
//
// Starters and stoppers take a lock on the folder, so of two that race, in one
// process or in two, exactly one serves.
//
// # Errors
//
// [*InUseError] (syscall.EADDRINUSE) when a server answers at path; an error
// that leaves path untouched when anything else is there, or when the path is
// too long for a socket address.
func ListenUnix(path string) (net.Listener, error) {
	dir, base := filepath.Split(path)
	if base == "" {
		return nil, fmt.Errorf("socket path %q names no file", path)
	}
	if dir == "" {
		dir = "."
	}
	private := filepath.Join(dir, ".v"+rand.Text()[:nameBytes])
	inner := filepath.Join(private, "s")
	if n := max(len(path), len(inner)); n > maxSocketPath {
		return nil, fmt.Errorf("socket path %q is too long: it needs %d bytes of at most %d; choose a shorter folder", path, n, maxSocketPath)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", path, err)
	}
	defer unlock()
	if err := clearPath(path); err != nil {
		return nil, err
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, fmt.Errorf("listening at %s: %w", path, err)
	}
	defer os.RemoveAll(private) //nolint:errcheck // an empty private folder at worst
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: inner, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	u := &unixListener{UnixListener: l, path: path, dir: dir}
	if err := u.publish(inner); err != nil {
		l.Close() //nolint:errcheck // err tells more
		return nil, err
	}
	return u, nil
}

// clearPath makes sure that nothing is at path, removing a dead socket.
func clearPath(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listening at %s: %w", path, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("listening at %s: something that is no socket is there (%s); it was left untouched, choose another path", path, info.Mode().Type())
	}
	conn, err := net.DialTimeout("unix", path, probeWait)
	switch {
	case err == nil:
		conn.Close() //nolint:errcheck // a probe
		return &InUseError{Path: path}
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
	default: // a full backlog, or a socket of another kind or user: somebody may be there
		return fmt.Errorf("%w (%w)", &InUseError{Path: path}, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing the dead socket %s: %w", path, err)
	}
	return nil
}

// unixListener removes its socket when it is closed.
type unixListener struct {
	*net.UnixListener
	path, dir string
	self      fs.FileInfo
	once      sync.Once
	err       error
}

// publish makes the socket, which listens already, appear at its path. Link
// does not replace what somebody outside our lock may have put there.
func (u *unixListener) publish(inner string) error {
	err := os.Chmod(inner, 0o600)
	if err == nil {
		err = os.Link(inner, u.path)
	}
	if errors.Is(err, fs.ErrExist) {
		return &InUseError{Path: u.path}
	}
	if err != nil {
		return fmt.Errorf("listening at %s: %w", u.path, err)
	}
	if u.self, err = os.Lstat(u.path); err != nil {
		return fmt.Errorf("listening at %s: %w", u.path, err)
	}
	return nil
}

// Addr returns the socket's public address.
func (u *unixListener) Addr() net.Addr { return &net.UnixAddr{Name: u.path, Net: "unix"} }

// Close removes the socket's file, if it is still ours, and ends the listener.
// The open listener keeps the file's identity from being used again meanwhile.
func (u *unixListener) Close() error {
	u.once.Do(func() {
		unlock, err := lockFolder(u.dir)
		if err == nil {
			defer unlock()
		}
		if now, err := os.Lstat(u.path); err == nil && os.SameFile(now, u.self) {
			u.err = os.Remove(u.path)
		}
		u.err = errors.Join(u.err, u.UnixListener.Close())
	})
	return u.err
}

// lockFolder takes the folder's advisory lock; it leaves no file behind.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockWait); ; {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil //nolint:errcheck // closing unlocks
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			f.Close() //nolint:errcheck // err tells more
			return nil, fmt.Errorf("locking the folder %s: %w", dir, err)
		}
		<-time.After(lockPoll)
	}
}

// sameUser refuses a peer that runs as another user.
func sameUser(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	uid, credErr := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, credErr = peerUID(int(fd)) }); err != nil {
		return err
	}
	if credErr != nil {
		return fmt.Errorf("the peer's user cannot be told: %w", credErr)
	}
	if uid != os.Geteuid() {
		return fmt.Errorf("the peer runs as user %d, this server as %d; set AnyUser to serve it", uid, os.Geteuid())
	}
	return nil
}
