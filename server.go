package visions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/mcpserver"
	"github.com/visions-mcp/visions/internal/wire"
	"github.com/visions-mcp/visions/tools"
)

// Transport names a transport of a [Server].
type Transport int

// The transports.
const (
	HTTP Transport = iota
	Unix
	Stdio
)

// String is the transport's name.
func (t Transport) String() string {
	switch t {
	case HTTP:
		return "http"
	case Unix:
		return "unix"
	case Stdio:
		return "stdio"
	}
	return fmt.Sprintf("transport %d", int(t))
}

// Available reports whether the library is built in, which is always so.
func Available() bool { return true }

// TransportAvailable reports whether a transport is built in and works on this
// platform; false for an unknown one.
func TransportAvailable(t Transport) bool {
	switch t {
	case HTTP:
		return httpAvailable
	case Unix:
		return unixAvailable
	case Stdio:
		return stdioAvailable
	}
	return false
}

// Defaults and bounds of [ServerConfig].
const (
	DefaultQueueDepth       = 64
	DefaultMaxDrain         = 4
	MostMaxDrain            = 64
	DefaultCloseTimeout     = 5 * time.Second
	DefaultMaxMessageBytes  = 32 << 20
	DefaultMaxBytesInFlight = 256 << 20
)

// ServerConfig makes a [Server]. The zero value works.
type ServerConfig struct {
	// QueueDepth is how many calls may be inside, waiting and running together.
	// It must be a power of two; 0 is 64.
	QueueDepth int
	// MaxDrain is how many calls of one client start in a row while others
	// wait, and how many one Drain starts; 0 is 4, more than 64 is 64.
	MaxDrain int
	// HostDriven starts nothing until [Server.Drain].
	HostDriven bool
	// CloseTimeout is what Close, and a stream that ended, give calls in flight
	// before they are cancelled; 0 is 5 s.
	CloseTimeout time.Duration
	// MaxMessageBytes bounds one message; 0 is 32 MiB.
	MaxMessageBytes int
	// MaxBytesInFlight bounds the bytes of all messages that are being read,
	// worked on or written, over all connections; 0 is 256 MiB.
	MaxBytesInFlight int64
	// Name and Version are what clients see in serverInfo; empty are "visions"
	// and the library's version.
	Name, Version string
}

// Server is a handle on an [Engine] to which transports are attached. It is safe
// for concurrent use.
type Server struct {
	eng    *Engine
	c      ServerConfig
	queue  *admission.Queue
	budget *wire.Budget

	life sync.Mutex // held by Start, Stop and Close: one at a time

	mounts []mounted // on muxes of the host's own; guarded by life

	mu      sync.Mutex
	running map[Transport]*running
	closed  bool
}

// mounted is a Handler: it serves whenever the handle is not stopped.
type mounted struct {
	stop   func(context.Context) error // as in running
	resume func()                      // serves again after stop
}

// running is an attached transport.
type running struct {
	shutdown func(context.Context) error // refuses new calls, answers those in flight, joins
	done     chan struct{}               // closed when the transport has ended
}

// Init makes a handle. Nothing is served until a transport is started.
//
// # Errors
//
// [ErrInvalid] for a nil Engine, a QueueDepth that is no power of two or a
// negative setting; [ErrClosed] when the Engine is closed.
func Init(eng *Engine, c ServerConfig) (*Server, error) {
	if eng == nil {
		return nil, fmt.Errorf("%w: the Engine is nil", ErrInvalid)
	}
	if c.QueueDepth < 0 || c.QueueDepth&(c.QueueDepth-1) != 0 {
		return nil, fmt.Errorf("%w: QueueDepth is %d, not a power of two", ErrInvalid, c.QueueDepth)
	}
	if c.MaxDrain < 0 || c.CloseTimeout < 0 || c.MaxMessageBytes < 0 || c.MaxBytesInFlight < 0 {
		return nil, fmt.Errorf("%w: MaxDrain, CloseTimeout, MaxMessageBytes and MaxBytesInFlight may not be negative", ErrInvalid)
	}
	orInt(&c.QueueDepth, DefaultQueueDepth)
	orInt(&c.MaxDrain, DefaultMaxDrain)
	orInt(&c.MaxMessageBytes, DefaultMaxMessageBytes)
	c.MaxDrain = min(c.MaxDrain, MostMaxDrain)
	if c.CloseTimeout == 0 {
		c.CloseTimeout = DefaultCloseTimeout
	}
	if c.MaxBytesInFlight == 0 {
		c.MaxBytesInFlight = DefaultMaxBytesInFlight
	}
	c.Name, c.Version = orText(c.Name, "visions"), orText(c.Version, Version())
	s := &Server{
		eng: eng, c: c, budget: wire.NewBudget(c.MaxBytesInFlight), running: map[Transport]*running{},
		queue: admission.NewQueue(admission.Config{Depth: c.QueueDepth, MaxDrain: c.MaxDrain, Gate: eng.env.CPU, HostDriven: c.HostDriven}),
	}
	eng.mu.Lock()
	defer eng.mu.Unlock()
	if eng.closed {
		return nil, ErrClosed
	}
	eng.servers[s] = struct{}{}
	return s, nil
}

// mcpServer returns an SDK server whose calls pass this handle's admission.
func (s *Server) mcpServer(allowPaths bool) *mcp.Server {
	srv := mcpserver.New(mcpserver.Config{
		Name: s.c.Name, Version: s.c.Version, Tools: s.eng.registry.Tools(), Store: s.eng.env.Store,
		Invoke: func(ctx context.Context, name string, args json.RawMessage) (*Result, error) {
			if !allowPaths {
				ctx = tools.WithoutPaths(ctx)
			}
			return s.invoke(ctx, name, args)
		},
	})
	wire.Prepare(srv, s.eng.log)
	return srv
}

// invoke is the way of every call: admission, its turn, the tool.
func (s *Server) invoke(ctx context.Context, name string, args json.RawMessage) (*Result, error) {
	ctx, call, err := s.queue.Enter(ctx)
	if err != nil {
		e := tools.AsError(err)
		if e.Code == tools.QueueFull {
			e.Err = ErrQueueFull
		}
		return nil, e
	}
	defer call.Leave()
	if ahead := call.Ahead(); ahead > 0 {
		tools.Report(ctx, fmt.Sprintf("queued, %d calls ahead", ahead), 0, 0)
	}
	if err := call.Start(ctx); err != nil {
		return nil, tools.AsError(err)
	}
	return s.eng.call(ctx, name, args)
}

// start attaches a transport that open makes.
func (s *Server) start(t Transport, open func() (*running, error)) error {
	if s == nil {
		return fmt.Errorf("%w: the Server is nil", ErrInvalid)
	}
	s.life.Lock()
	defer s.life.Unlock()
	if s.isClosed() {
		return ErrClosed
	}
	select {
	case <-s.Done(t):
	default:
		return fmt.Errorf("%w: %s", ErrBusy, t)
	}
	r, err := open()
	if err != nil {
		return fmt.Errorf("starting %s: %w", t, err)
	}
	s.queue.Accept()
	for _, m := range s.mounts {
		m.resume()
	}
	s.mu.Lock()
	s.running[t] = r
	s.mu.Unlock()
	context.AfterFunc(doneContext{r.done}, func() { s.ended(t, r) })
	return nil
}

// serve runs a listener's transport until it ends by itself, ctx ends, or it is
// shut down.
func (s *Server) serve(ctx context.Context, t Transport, accept func() error, shutdown func(context.Context) error) *running {
	r := &running{shutdown: shutdown, done: make(chan struct{})}
	ended := make(chan error, 1)
	go func() { ended <- accept() }()
	go func() {
		defer close(r.done)
		var err error
		select {
		case err = <-ended:
		case <-ctx.Done():
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.c.CloseTimeout)
			defer cancel()
			err = errors.Join(shutdown(bounded), <-ended)
		}
		if err != nil && !errors.Is(err, http.ErrServerClosed) {
			s.eng.log.Warn("a transport ended", "transport", t, "error", err)
		}
	}()
	return r
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// ended forgets a transport that ended by itself.
func (s *Server) ended(t Transport, r *running) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[t] == r {
		delete(s.running, t)
	}
}

// doneContext is a context that ends when a channel is closed, for
// [context.AfterFunc].
type doneContext struct{ done <-chan struct{} }

func (doneContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (d doneContext) Done() <-chan struct{}     { return d.done }
func (doneContext) Value(any) any               { return nil }
func (d doneContext) Err() error {
	select {
	case <-d.done:
		return context.Canceled
	default:
		return nil
	}
}

// closedChannel is what Done returns for a transport that does not run.
var closedChannel = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done returns a channel that is closed when the transport has ended: by Stop,
// or because the peer of a stdio pair hung up. It is closed already when the
// transport does not run.
func (s *Server) Done(t Transport) <-chan struct{} {
	if s == nil {
		return closedChannel
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.running[t]; r != nil {
		return r.done
	}
	return closedChannel
}

// Drain is the heartbeat of a host-driven server: it starts at most MaxDrain
// waiting calls and does their pixel work on the calling goroutine. It does not
// wait for models; a call that does finishes at a later Drain or by itself. It
// returns how many calls it started.
//
// # Errors
//
// [ErrInvalid] when the server is not host-driven or nil, [ErrClosed] after
// Close.
func (s *Server) Drain(ctx context.Context) (int, error) {
	if s == nil {
		return 0, fmt.Errorf("%w: the Server is nil", ErrInvalid)
	}
	if !s.c.HostDriven {
		return 0, fmt.Errorf("%w: the server is not host-driven", ErrInvalid)
	}
	if s.isClosed() {
		return 0, ErrClosed
	}
	return s.queue.Drain(ctx)
}

// errStopped is the cause of calls that Stop cancelled.
var errStopped = errors.New("the server was stopped")

// Stop refuses new calls, answers those in flight on every transport, and joins
// all goroutines. When ctx ends first, the calls left are cancelled and the
// cause of ctx is returned. Stop may be called again, and the transports may be
// started again.
//
// # Errors
//
// [ErrInvalid] on nil, the cause of ctx, and what transports say when they end.
func (s *Server) Stop(ctx context.Context) error {
	if s == nil {
		return fmt.Errorf("%w: the Server is nil", ErrInvalid)
	}
	s.life.Lock()
	defer s.life.Unlock()
	return s.stop(ctx)
}

// stop needs s.life, so that no transport starts while others end.
func (s *Server) stop(ctx context.Context) error {
	s.queue.Refuse()
	cancelLeft := context.AfterFunc(ctx, func() { s.queue.CancelAll(errStopped) })
	defer cancelLeft()
	s.mu.Lock()
	attached := maps.Clone(s.running)
	s.mu.Unlock()
	var group errgroup.Group
	for t, r := range attached {
		group.Go(func() error {
			if err := r.shutdown(ctx); err != nil {
				return fmt.Errorf("stopping %s: %w", t, err)
			}
			return nil
		})
	}
	for _, m := range s.mounts {
		group.Go(func() error { return m.stop(ctx) })
	}
	if s.c.HostDriven {
		s.queue.Finish(ctx) // the host is in here and cannot drain
	}
	err := group.Wait()
	s.mu.Lock()
	clear(s.running)
	s.mu.Unlock()
	if waited := s.queue.Wait(ctx); waited != nil && err == nil {
		err = waited
	}
	return err
}

// Close stops the transports within CloseTimeout and ends the handle. A second
// Close returns nil, and so does one on nil.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	s.life.Lock()
	defer s.life.Unlock()
	if s.isClosed() {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), s.c.CloseTimeout)
	defer cancel()
	err := s.stop(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		s.eng.log.Warn("calls were cancelled at the end of CloseTimeout", "server", s.c.Name)
		err = nil
	}
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	delete(s.eng.servers, s)
	return err
}
