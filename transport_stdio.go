//go:build !visions_nostdio

package visions

import (
	"context"
	"fmt"
	"io"

	"github.com/visions-mcp/visions/internal/wire"
)

const stdioAvailable = true

// StdioConfig is a pair of streams that speak newline-delimited JSON-RPC.
type StdioConfig struct {
	// In and Out belong to the host and are never closed here. Where they have
	// deadlines (pipes, sockets, most terminals), Stop leaves no goroutine
	// behind; with a reader that has none, one goroutine stays in its Read until
	// that returns, and what it then reads is discarded.
	In  io.Reader
	Out io.Writer
}

// StartStdio serves the pair until the input ends, ctx ends or Stop is called.
// After the end of the input, calls in flight are still answered, for
// CloseTimeout at most. [Server.Done] tells when the transport has ended.
//
// # Errors
//
// [ErrInvalid] without In or Out, [ErrBusy], [ErrClosed], [ErrNotBuilt].
func (s *Server) StartStdio(ctx context.Context, c *StdioConfig) error {
	return s.start(Stdio, func() (*running, error) {
		if c == nil || c.In == nil || c.Out == nil {
			return nil, fmt.Errorf("%w: In and Out are needed", ErrInvalid)
		}
		conn := wire.NewConn(s.mcpServer(true), c.In, c.Out, s.wireOptions())
		r := &running{shutdown: conn.Shutdown, done: make(chan struct{})}
		go func() {
			defer close(r.done)
			if err := conn.Run(ctx); err != nil && ctx.Err() == nil {
				s.eng.log.Warn("stdio ended", "error", err)
			}
		}()
		return r, nil
	})
}
