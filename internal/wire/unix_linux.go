package wire

import "golang.org/x/sys/unix"

// maxSocketPath is sun_path's size without its final zero, in bytes.
const maxSocketPath = 107

func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
