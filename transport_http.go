//go:build !visions_nohttp

package visions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	"github.com/visions-mcp/visions/internal/httpd"
	"github.com/visions-mcp/visions/internal/rest"
)

const httpAvailable = true

// DefaultMaxConns is the default of [HTTPConfig.MaxConns].
const DefaultMaxConns = 512

// HTTPConfig is the loopback HTTP transport. The zero value serves /mcp on a
// free port.
type HTTPConfig struct {
	// Port on 127.0.0.1; 0 picks a free one and writes it back.
	Port int
	// Listener is served instead of Port; it must be on a loopback address.
	// Stop closes it.
	Listener net.Listener
	// Path of the MCP endpoint; empty is /mcp.
	Path string
	// Token is asked for as a bearer token on every route but /health. Without
	// one any local user can connect, so image paths are refused unless
	// [Config.ImageRoots] is set.
	Token string
	// Stateful keeps sessions for clients of the protocol before 2026-07-28,
	// ended after SessionTimeout without a request (0 is 30 minutes), at most
	// MaxSessions at once (0 is 256).
	Stateful       bool
	SessionTimeout time.Duration
	MaxSessions    int
	// MaxConns bounds the connections of StartHTTP at once, more wait to be
	// accepted; 0 is 512.
	MaxConns int
	// SSE serves the transport of 2024 too, at /sse and /messages.
	SSE bool
	// AllowedHosts are Host headers to accept beside 127.0.0.1, localhost and
	// [::1]; AllowedOrigins are web origins whose pages may call.
	AllowedHosts, AllowedOrigins []string
	// MaxUploadBytes bounds one upload; 0 is 20 MiB. UploadRate is how many
	// uploads one peer address may make a minute; 0 is 10, negative any number.
	MaxUploadBytes int64
	UploadRate     int
	// TrustedProxies are addresses or prefixes whose X-Forwarded-For is believed
	// when uploads are counted.
	TrustedProxies []string
	// Handlers are further routes by [http.ServeMux] pattern, behind the same
	// checks.
	Handlers map[string]http.Handler
}

// StartHTTP serves on 127.0.0.1 until ctx ends or Stop is called.
//
// # Errors
//
// [ErrInvalid] for a port out of range or a Listener that is not on a loopback
// address, [ErrAddrInUse] when the port is taken, [ErrBusy], [ErrClosed],
// [ErrNotBuilt].
func (s *Server) StartHTTP(ctx context.Context, c *HTTPConfig) error {
	return s.start(HTTP, func() (*running, error) {
		if c == nil {
			c = &HTTPConfig{}
		}
		h, err := s.httpHandler(*c)
		if err != nil {
			return nil, err
		}
		l, err := c.listen()
		if err != nil {
			return nil, err
		}
		conns := c.MaxConns
		orInt(&conns, DefaultMaxConns)
		l = netutil.LimitListener(l, conns)
		srv := httpd.Server(h)
		shutdown := func(ctx context.Context) error {
			err := h.Shutdown(ctx)
			if ended := srv.Shutdown(ctx); ended != nil {
				err = errors.Join(err, ended, srv.Close())
			}
			return err
		}
		return s.serve(ctx, HTTP, func() error { return srv.Serve(l) }, shutdown), nil
	})
}

// listen opens the port and writes it back.
func (c *HTTPConfig) listen() (net.Listener, error) {
	if c.MaxConns < 0 {
		return nil, fmt.Errorf("%w: MaxConns is negative", ErrInvalid)
	}
	if c.Listener != nil {
		tcp, ok := c.Listener.Addr().(*net.TCPAddr)
		if !ok || !tcp.IP.IsLoopback() {
			return nil, fmt.Errorf("%w: the Listener is on %s, not on a loopback address", ErrInvalid, c.Listener.Addr())
		}
		c.Port = tcp.Port
		return c.Listener, nil
	}
	if c.Port < 0 || c.Port > 65535 {
		return nil, fmt.Errorf("%w: port %d is not in 0..65535", ErrInvalid, c.Port)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%w: port %d", ErrAddrInUse, c.Port)
	}
	if err != nil {
		return nil, err
	}
	c.Port = l.Addr().(*net.TCPAddr).Port
	return l, nil
}

// Handler returns the routes of StartHTTP for a mux of the host's own, whose
// listener, connection and time limits are the host's. Calls pass this handle's
// queue. Stop answers what is in flight here too; from then on every request is
// refused with status 503 until a transport is started again. The handle keeps
// the Handler until Close: make it once. A configuration that makes no sense
// answers every request with status 500 and the reason.
func (s *Server) Handler(c HTTPConfig) http.Handler {
	if s == nil {
		return failing(fmt.Errorf("%w: the Server is nil", ErrInvalid))
	}
	m := &mount{srv: s, c: c}
	if err := m.renew(); err != nil {
		return failing(err)
	}
	s.life.Lock()
	defer s.life.Unlock()
	s.mounts = append(s.mounts, mounted{m.stop, m.resume})
	if s.isClosed() {
		closed, cancel := context.WithCancel(context.Background())
		cancel()
		m.stop(closed) //nolint:errcheck // it serves nothing yet
	}
	return m
}

// mount is a Handler on a mux of the host's: Stop ends its routes, and a Start
// gives it new ones.
type mount struct {
	srv *Server
	c   HTTPConfig

	mu      sync.Mutex
	routes  *httpd.Handler
	stopped bool
}

// ServeHTTP implements [http.Handler].
func (m *mount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	routes := m.routes
	m.mu.Unlock()
	routes.ServeHTTP(w, r)
}

func (m *mount) renew() error {
	routes, err := m.srv.httpHandler(m.c)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.routes, m.stopped = routes, false
	return nil
}

func (m *mount) stop(ctx context.Context) error {
	m.mu.Lock()
	routes := m.routes
	m.stopped = true
	m.mu.Unlock()
	return routes.Shutdown(ctx)
}

func (m *mount) resume() {
	m.mu.Lock()
	stopped := m.stopped
	m.mu.Unlock()
	if stopped {
		m.renew() //nolint:errcheck // this configuration has been accepted before
	}
}

func failing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	})
}

func (s *Server) httpHandler(c HTTPConfig) (*httpd.Handler, error) {
	health := &readiness{eng: s.eng}
	routes, err := rest.Routes(rest.Config{
		Store: s.eng.env.Store, Budget: s.budget, MaxUpload: c.MaxUploadBytes, UploadRate: c.UploadRate, TrustedProxies: c.TrustedProxies,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	maps.Copy(routes, c.Handlers)
	h, err := httpd.New(s.mcpServer(c.Token != "" || s.eng.confined), httpd.Config{
		Path: c.Path, SSE: c.SSE, Stateful: c.Stateful, SessionTimeout: c.SessionTimeout, MaxSessions: c.MaxSessions,
		Token: c.Token, AllowedHosts: c.AllowedHosts, AllowedOrigins: c.AllowedOrigins,
		MaxMessageBytes: s.c.MaxMessageBytes, Budget: s.budget, Health: health.report, Extra: routes, Logger: s.eng.log,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return h, nil
}

// readinessAge is how long an answer about readiness is used again: /health is
// asked often, and each answer asks the model servers, for readinessTime at most.
const (
	readinessAge  = 5 * time.Second
	readinessTime = time.Second
)

// readiness answers whether the models are there.
type readiness struct {
	eng *Engine

	mu     sync.Mutex
	when   time.Time
	last   any
	asking bool
}

// report asks when the last answer is old. Whoever comes meanwhile gets the
// last answer: a model server that hangs delays one request only.
func (r *readiness) report() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = map[string]any{"status": "unknown", "warnings": []string{"the model servers are being asked for the first time"}}
	}
	if r.asking || time.Since(r.when) <= readinessAge {
		return r.last
	}
	r.asking = true
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), readinessTime)
	defer cancel()
	h := r.eng.Health(ctx)
	r.mu.Lock()
	r.last, r.when, r.asking = map[string]any{"status": h.Status, "warnings": h.Warnings}, time.Now(), false
	return r.last
}
