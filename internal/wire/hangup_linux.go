package wire

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// peerGone reports whether nobody can read what is written to w any more: the
// socket's peer has closed both directions, or the pipe has no reader. It does
// not block, and reports false where that cannot be known.
func peerGone(w any) bool {
	s, ok := w.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return err == nil && gone
}
