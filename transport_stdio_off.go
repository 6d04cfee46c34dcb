//go:build visions_nostdio

package visions

import (
	"context"
	"io"
)

const stdioAvailable = false

// StdioConfig is the configuration of a transport that is not built in.
type StdioConfig struct {
	In  io.Reader
	Out io.Writer
}

// StartStdio answers [ErrNotBuilt].
func (s *Server) StartStdio(context.Context, *StdioConfig) error { return ErrNotBuilt }
