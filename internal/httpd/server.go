package httpd

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Limits of the server that [Server] makes. There is no limit on a whole
// request or answer: model calls last minutes; the byte budget, MaxMessageBytes
// and the deadline of each write bound them instead.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 64 << 10
)

// Server returns an http.Server for h, to be served on a listener of the
// caller's. Its connections name their clients; its errors go to the
// handler's logger.
func Server(h *Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelWarn),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
}
