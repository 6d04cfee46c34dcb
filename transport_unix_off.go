//go:build visions_nounix

package visions

import (
	"context"
	"net"
	"time"
)

const unixAvailable = false

// UnixConfig is the configuration of a transport that is not built in.
type UnixConfig struct {
	Path        string
	Listener    net.Listener
	AnyUser     bool
	MaxConns    int
	IdleTimeout time.Duration
}

// StartUnix answers [ErrNotBuilt].
func (s *Server) StartUnix(context.Context, *UnixConfig) error { return ErrNotBuilt }
