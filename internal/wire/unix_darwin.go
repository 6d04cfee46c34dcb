package wire

import "golang.org/x/sys/unix"

// maxSocketPath is sun_path's size without its final zero, in bytes.
const maxSocketPath = 103

func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(cred.Uid), nil
}
