//go:build visions_nohttp

package visions

import (
	"context"
	"net"
	"net/http"
	"time"
)

const httpAvailable = false

// HTTPConfig is the configuration of a transport that is not built in.
type HTTPConfig struct {
	Port           int
	Listener       net.Listener
	Path           string
	Token          string
	Stateful       bool
	SessionTimeout time.Duration
	MaxSessions    int
	MaxConns       int
	SSE            bool
	AllowedHosts   []string
	AllowedOrigins []string
	MaxUploadBytes int64
	UploadRate     int
	TrustedProxies []string
	Handlers       map[string]http.Handler
}

// StartHTTP answers [ErrNotBuilt].
func (s *Server) StartHTTP(context.Context, *HTTPConfig) error { return ErrNotBuilt }

// Handler returns a handler that answers 501 Not Implemented.
func (s *Server) Handler(HTTPConfig) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, ErrNotBuilt.Error(), http.StatusNotImplemented)
	})
}
