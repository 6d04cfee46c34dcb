//go:build !visions_nounix

package visions

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/visions-mcp/visions/internal/wire"
)

const unixAvailable = wire.UnixAvailable

// UnixConfig is a Unix socket that speaks newline-delimited JSON-RPC.
type UnixConfig struct {
	// Path of the socket, needed unless Listener is given. The socket is never
	// open to other users, a dead one at the path is replaced, and Stop removes
	// it.
	Path string
	// Listener is served instead of Path; Stop closes it.
	Listener net.Listener
	// AnyUser serves peers of other users too.
	AnyUser bool
	// MaxConns bounds the connections at once; 0 is 64.
	MaxConns int
	// IdleTimeout ends a connection on which nothing happens; 0 is never.
	IdleTimeout time.Duration
}

// StartUnix serves the socket until ctx ends or Stop is called.
//
// # Errors
//
// [ErrInvalid] without Path and Listener, [ErrAddrInUse] when a live server has
// the socket, [ErrUnavailable] on a platform without Unix sockets, [ErrBusy],
// [ErrClosed], [ErrNotBuilt]. Anything else at the path is refused and left
// alone.
func (s *Server) StartUnix(ctx context.Context, c *UnixConfig) error {
	return s.start(Unix, func() (*running, error) {
		if c == nil || c.Path == "" && c.Listener == nil {
			return nil, fmt.Errorf("%w: a Path or a Listener is needed", ErrInvalid)
		}
		l := c.Listener
		if l == nil {
			var err error
			if l, err = listenUnix(c.Path); err != nil {
				return nil, err
			}
		}
		o := s.wireOptions()
		o.IdleTimeout = c.IdleTimeout
		srv := wire.NewServer(s.mcpServer(true), wire.ServerOptions{Options: o, MaxConns: c.MaxConns, AnyUser: c.AnyUser})
		return s.serve(ctx, Unix, func() error { return srv.Serve(l) }, srv.Shutdown), nil
	})
}

func listenUnix(path string) (net.Listener, error) {
	l, err := wire.ListenUnix(path)
	switch {
	case errors.Is(err, wire.ErrUnavailable):
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: %w", ErrAddrInUse, err)
	}
	return l, err
}
