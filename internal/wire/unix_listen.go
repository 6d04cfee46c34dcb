package wire

import (
	"errors"
	"net"
	"syscall"
)

// ErrUnavailable is what Unix sockets answer on a platform without them.
var ErrUnavailable = errors.New("unix sockets are not available on this platform; use HTTP or standard input and output")

// InUseError says that something serves at a socket's path already. It is
// syscall.EADDRINUSE for errors.Is.
type InUseError struct{ Path string }

func (e *InUseError) Error() string {
	return "a live server already listens at " + e.Path + "; stop it or choose another path"
}

// Unwrap returns syscall.EADDRINUSE.
func (e *InUseError) Unwrap() error { return syscall.EADDRINUSE }

// checkPeer returns an error when conn is a Unix socket whose peer runs as
// another user.
func checkPeer(conn net.Conn) error {
	if u, ok := conn.(*net.UnixConn); ok {
		return sameUser(u)
	}
	return nil
}
