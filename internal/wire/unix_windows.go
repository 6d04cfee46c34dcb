package wire

import "net"

// UnixAvailable tells whether this platform has [ListenUnix].
const UnixAvailable = false

// ListenUnix answers [ErrUnavailable].
func ListenUnix(string) (net.Listener, error) { return nil, ErrUnavailable }

// sameUser is never asked: there is no listener here.
func sameUser(*net.UnixConn) error { return ErrUnavailable }
