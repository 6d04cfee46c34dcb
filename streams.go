//go:build !visions_nostdio || !visions_nounix

package visions

import "github.com/visions-mcp/visions/internal/wire"

// wireOptions are the options of every stream of this handle.
func (s *Server) wireOptions() wire.Options {
	return wire.Options{
		MaxMessageBytes: s.c.MaxMessageBytes, Budget: s.budget, CloseTimeout: s.c.CloseTimeout, Logger: s.eng.log,
		// One more than fit the queue, so that a full queue is what refuses.
		MaxInFlight: 2 * s.c.QueueDepth,
	}
}
