// Package httpd serves an MCP server over HTTP: the streamable endpoint for
// both protocol eras, the older /sse pair by setting, /health, and handlers of
// the host's, all behind one guard for Host, Origin and token. The SDK's
// handlers do the protocol; this package gives every refusal a JSON-RPC body,
// bounds bytes, ties handlers to their clients and drains.
package httpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/wire"
)

// Defaults of [Config].
const (
	DefaultSessionTimeout = 30 * time.Minute
	DefaultMaxSessions    = 256
	DefaultWriteTimeout   = 10 * time.Second
	DefaultKeepAlive      = 15 * time.Second
)

// Config of a handler. The zero value serves /mcp and /health to loopback
// clients.
type Config struct {
	Path         string // of the endpoint; "" is /mcp
	SSE          bool   // serve the transport of 2024-11-05 too
	SSEPath      string // "" is /sse
	MessagesPath string // "" is /messages

	Stateful       bool          // sessions for the eras before 2026-07-28
	SessionTimeout time.Duration // idle time after which a session ends; 0 is [DefaultSessionTimeout]
	MaxSessions    int           // sessions and SSE streams at once; 0 is [DefaultMaxSessions]

	Token          string   // bearer token for every route but /health; "" asks for none
	AllowedHosts   []string // Host headers beside the loopback ones
	AllowedOrigins []string // web origins that may call, with CORS

	MaxMessageBytes int           // longest body; 0 is [wire.DefaultMaxMessageBytes]
	Budget          *wire.Budget  // bytes in flight, shared with other edges; nil is one of its own
	WriteTimeout    time.Duration // for each write of up to 1 MiB; 0 is [DefaultWriteTimeout]
	KeepAlive       time.Duration // between comments on a silent event stream; 0 is [DefaultKeepAlive]

	Health func() any              // "ready" of /health; nil leaves it out
	Extra  map[string]http.Handler // further routes by [http.ServeMux] pattern, behind the same guard
	Logger *slog.Logger            // nil discards
}

// Handler serves HTTP. It is an [http.Handler]; [Server] makes a server for it.
type Handler struct {
	c     Config
	srv   *mcp.Server
	web   *guard.Web
	mux   *http.ServeMux
	args  *wire.Attachments
	log   *slog.Logger
	plain *mcp.StreamableHTTPHandler // one JSON answer
	event *mcp.StreamableHTTPHandler // an event stream
	state *mcp.StreamableHTTPHandler // sessions; nil unless Stateful

	sessions sessions
	calls    inFlight
	streams  map[string]*legacyStream // by session id; guarded by mu

	mu       sync.Mutex
	active   int
	stopping bool
	idle     chan struct{} // closed when stopping and nothing is active

	streamsEnd context.CancelFunc // ends what never ends by itself
	streamsCtx context.Context
	kill       context.CancelCauseFunc // cancels everything
	killCtx    context.Context
}

var errStopping = errors.New("server is stopping")

// New returns the handler of srv, which must have been given to
// [wire.Prepare].
//
// # Errors
//
// A malformed allowed origin, or an extra route whose pattern is malformed or
// taken.
func New(srv *mcp.Server, c Config) (*Handler, error) {
	c.setDefaults()
	web, err := guard.NewWeb(c.AllowedHosts, c.AllowedOrigins, c.Token)
	if err != nil {
		return nil, err
	}
	h := &Handler{
		c: c, srv: srv, web: web, log: c.Logger,
		mux: http.NewServeMux(), args: wire.NewAttachments(),
		streams: make(map[string]*legacyStream), idle: make(chan struct{}),
	}
	h.streamsCtx, h.streamsEnd = context.WithCancel(context.Background())
	h.killCtx, h.kill = context.WithCancelCause(context.Background())
	get := func(*http.Request) *mcp.Server { return srv }
	opts := mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		DisableLocalhostProtection: true, // the guard has checked Host already, with AllowedHosts
		MaxRequestBodyBytes:        -1,   // the body was read and bounded already
		Logger:                     c.Logger,
	}
	h.plain = mcp.NewStreamableHTTPHandler(get, &opts)
	opts.JSONResponse = false
	h.event = mcp.NewStreamableHTTPHandler(get, &opts)
	if c.Stateful {
		opts.Stateless, opts.PropagateRequestCancellation, opts.SessionTimeout = false, false, c.SessionTimeout
		h.state = mcp.NewStreamableHTTPHandler(get, &opts)
	}
	return h, h.routes()
}

func (c *Config) setDefaults() {
	orText := func(v *string, d string) {
		if *v == "" {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	orText(&c.Path, "/mcp")
	orText(&c.SSEPath, "/sse")
	orText(&c.MessagesPath, "/messages")
	orTime(&c.SessionTimeout, DefaultSessionTimeout)
	orTime(&c.WriteTimeout, DefaultWriteTimeout)
	orTime(&c.KeepAlive, DefaultKeepAlive)
	if c.MaxSessions <= 0 {
		c.MaxSessions = DefaultMaxSessions
	}
	if c.MaxMessageBytes <= 0 {
		c.MaxMessageBytes = wire.DefaultMaxMessageBytes
	}
	if c.Budget == nil {
		c.Budget = wire.NewBudget(0)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// routes fills the mux. A ServeMux panics on a bad pattern, which a host's
// setting must not do.
func (h *Handler) routes() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a route cannot be served: %v", p)
		}
	}()
	h.mux.HandleFunc(h.c.Path, h.endpoint)
	h.mux.HandleFunc("/health", h.health)
	if h.c.SSE {
		h.mux.HandleFunc(h.c.SSEPath, h.legacySSE)
		h.mux.HandleFunc(h.c.MessagesPath, h.legacyMessage)
	}
	for pattern, extra := range h.c.Extra {
		h.mux.Handle(pattern, extra)
	}
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("nothing is served at %s; the MCP endpoint is %s", r.URL.Path, h.c.Path))
	})
	return nil
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			h.log.Error("an HTTP handler panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			refuse(w, http.StatusInternalServerError, nil, jsonrpc.CodeInternalError, "internal error; the server goes on")
		}
	}()
	if err := h.web.Host(r); err != nil {
		refuse(w, http.StatusForbidden, nil, jsonrpc.CodeInvalidRequest, "forbidden: "+err.Error())
		return
	}
	if err := h.web.Origin(r); err != nil {
		refuse(w, http.StatusForbidden, nil, jsonrpc.CodeInvalidRequest, "forbidden: "+err.Error())
		return
	}
	if h.cors(w, r) {
		return
	}
	if r.URL.Path != "/health" {
		if err := h.web.Token(r); err != nil {
			w.Header().Set("WWW-Authenticate", `Bearer realm="visions"`)
			refuse(w, http.StatusUnauthorized, nil, jsonrpc.CodeInvalidRequest, err.Error())
			return
		}
		if !h.enter() {
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusServiceUnavailable, nil, wire.CodeStopping, errStopping.Error())
			return
		}
		defer h.leave()
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(h.killCtx, func() { cancel(errStopping) })()
	if h.endless(r) {
		defer context.AfterFunc(h.streamsCtx, func() { cancel(errStopping) })()
	}
	h.mux.ServeHTTP(w, r.WithContext(ctx))
}

// endless reports whether the request asks for something that lasts as long
// as its client: an event stream or an upgrade. The older event stream is
// none of them: it answers what is in flight and ends by itself.
func (h *Handler) endless(r *http.Request) bool {
	if r.Method != http.MethodGet || h.c.SSE && r.URL.Path == h.c.SSEPath {
		return false
	}
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.Header.Get("Upgrade") != ""
}

// cors lets pages of allowed origins read answers and reports whether r was a
// preflight, which is then answered.
func (h *Handler) cors(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || !h.web.CrossOrigin(origin) {
		return false
	}
	head := w.Header()
	head.Add("Vary", "Origin")
	head.Set("Access-Control-Allow-Origin", origin)
	head.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	head.Set("Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS")
	head.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	head.Set("Access-Control-Max-Age", "600") // seconds
	w.WriteHeader(http.StatusNoContent)
	return true
}

// health tells that the process lives, without a token.
func (h *Handler) health(w http.ResponseWriter, _ *http.Request) {
	body := map[string]any{"status": "ok"}
	status := http.StatusOK
	if h.c.Health != nil {
		body["ready"] = h.c.Health()
	}
	h.mu.Lock()
	if h.stopping {
		body["status"], status = "stopping", http.StatusServiceUnavailable
	}
	h.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client is gone
}

func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping {
		return false
	}
	h.active++
	return true
}

func (h *Handler) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.active--; h.stopping && h.active == 0 {
		close(h.idle)
	}
}

// Shutdown refuses new requests with 503 and [wire.CodeStopping], ends event
// streams, waits for the answers in flight and closes the sessions. When ctx
// ends first, the calls are cancelled, and its cause is returned. Requests are
// served by the caller's http.Server, which is to be shut down after.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if !h.stopping {
		h.stopping = true
		if h.active == 0 {
			close(h.idle)
		}
	}
	h.mu.Unlock()
	h.streamsEnd()
	var err error
	select {
	case <-h.idle:
	case <-ctx.Done():
		err = context.Cause(ctx)
		h.kill(errStopping)
	}
	h.kill(errStopping)
	h.closeSessions(ctx)
	return err
}

// refuse answers with a JSON-RPC error.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int64, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(wire.ErrorFrame(id, &jsonrpc.Error{Code: code, Message: message})) //nolint:errcheck // the client is gone
}
