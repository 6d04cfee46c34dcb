// Package wire speaks newline-delimited JSON-RPC on streams (standard input
// and output, Unix sockets, pipes) for any MCP server of the Go SDK. It owns
// what the SDK's own stream transport leaves open: every malformed line is
// answered and the connection lives on, bytes and calls in flight are bounded,
// answers in flight survive the end of the input and a shutdown, and all
// protocol eras work on one connection.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/admission"
)

// Defaults of [Options].
const (
	DefaultMaxMessageBytes = 32 << 20
	DefaultMaxInFlight     = 128
	DefaultCloseTimeout    = 5 * time.Second
	DefaultWriteTimeout    = 10 * time.Second
	DefaultPauseTimeout    = 30 * time.Second
)

// pauseBytes is what an unfinished line may hold for ever: connections are
// counted, so this much each is bounded.
const pauseBytes = 64 << 10

// cancelGrace is how long calls that were cancelled have to return before the
// connection ends without them.
const cancelGrace = time.Second

// Options of a connection. The zero value works.
type Options struct {
	MaxMessageBytes int           // longest line; 0 is [DefaultMaxMessageBytes]
	Budget          *Budget       // bytes in flight, shared with other edges; nil is one of its own
	MaxInFlight     int           // calls in flight on this connection; 0 is [DefaultMaxInFlight]
	CloseTimeout    time.Duration // what calls in flight get after the input ended; 0 is [DefaultCloseTimeout]
	WriteTimeout    time.Duration // for each write of up to 1 MiB; 0 is [DefaultWriteTimeout]
	PauseTimeout    time.Duration // ends a connection whose long line stops half-way, since it holds a part of Budget; 0 is [DefaultPauseTimeout]
	IdleTimeout     time.Duration // ends a connection without bytes or calls; 0 is never
	Close           bool          // close reader and writer at the end
	Client          any           // who calls, for admission; nil is the connection itself
	Logger          *slog.Logger  // nil discards
}

func (o Options) withDefaults() Options {
	orInt := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	orTime := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	orInt(&o.MaxMessageBytes, DefaultMaxMessageBytes)
	orInt(&o.MaxInFlight, DefaultMaxInFlight)
	orTime(&o.CloseTimeout, DefaultCloseTimeout)
	orTime(&o.WriteTimeout, DefaultWriteTimeout)
	orTime(&o.PauseTimeout, DefaultPauseTimeout)
	if o.Budget == nil {
		o.Budget = NewBudget(0)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// call is a request whose answer has not been written.
type call struct {
	id        json.RawMessage
	key       jsonrpc.ID
	method    string
	held      int64 // bytes of the budget
	session   *session
	cancelled bool   // by the client: it gets no answer
	detach    func() // drops detached arguments; may be nil
}

// Conn is one stream.
type Conn struct {
	srv  *mcp.Server
	r    io.Reader
	w    io.Writer
	o    Options
	out  *writer
	args *Attachments
	ctx  context.Context // values for handlers

	first   bool         // no line was read yet
	lastUse atomic.Int64 // Unix nanoseconds of the last byte
	partial atomic.Int64 // bytes of a line that lacks its end

	smu      sync.Mutex
	sessions [eras]*session
	closed   bool // no session is opened any more

	mu       sync.Mutex
	calls    map[jsonrpc.ID]*call
	pending  int // calls whose answer is not written
	stopping bool
	ended    bool

	changed chan struct{} // pending became 0
	stop    chan struct{} // closed by Shutdown
	abort   chan struct{} // closed when Shutdown's context ends
	done    chan struct{} // closed when Run has returned
	started atomic.Bool
}

// NewConn returns a connection of srv, which must have been given to
// [Prepare], over r and w. Where they have SetReadDeadline and
// SetWriteDeadline those are used, and cleared at the end. They are closed
// only with o.Close.
func NewConn(srv *mcp.Server, r io.Reader, w io.Writer, o Options) *Conn {
	o = o.withDefaults()
	return &Conn{
		srv: srv, r: r, w: w, o: o, first: true,
		out:     newWriter(w, o.WriteTimeout),
		args:    NewAttachments(),
		calls:   make(map[jsonrpc.ID]*call),
		changed: make(chan struct{}, 1),
		stop:    make(chan struct{}),
		abort:   make(chan struct{}),
		done:    make(chan struct{}),
	}
}

// errTwice is what a second Run answers.
var errTwice = errors.New("wire: Run was called twice on one connection")

// Run serves until the input ends, ctx ends, the client is gone or Shutdown is
// called, and joins what it started. After the end of the input, answers in
// flight are still written for CloseTimeout; then, and at once when ctx ends,
// their calls are cancelled.
//
// A Read that blocks is ended by SetReadDeadline, or by Close with o.Close.
// With a plain reader that has neither, such as standard input that is not
// pollable, Run still returns in time, but one goroutine stays in Read until
// the reader yields; what it then reads is discarded.
//
// # Errors
//
// nil after the end of the input, Shutdown, IdleTimeout or PauseTimeout; the
// cause of ctx; the stream's error. An error also tells of handlers that did
// not return within a second of being cancelled: they are left behind.
func (c *Conn) Run(ctx context.Context) error {
	if !c.started.CompareAndSwap(false, true) {
		return errTwice
	}
	defer close(c.done)
	client := c.o.Client
	if client == nil {
		client = c
	}
	c.ctx = c.args.Bind(admission.WithClient(ctx, client))
	c.touch()
	read := make(chan error, 1)
	go func() { read <- c.readLines() }()
	reading, err := c.serve(ctx, read)
	return errors.Join(err, c.finish(reading))
}

// Shutdown refuses new requests with [CodeStopping], waits for the answers in
// flight and ends the connection. When ctx ends first, the calls are
// cancelled, and its cause is returned. On a connection that was never run it
// makes Run return at once.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.mu.Lock()
	if !c.stopping {
		c.stopping = true
		close(c.stop)
	}
	c.mu.Unlock()
	if !c.started.Load() {
		return nil
	}
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
	}
	c.mu.Lock()
	if !c.ended {
		c.ended = true
		close(c.abort)
	}
	c.mu.Unlock()
	<-c.done // bounded by cancelGrace
	return context.Cause(ctx)
}

func (c *Conn) touch() { c.lastUse.Store(time.Now().UnixNano()) }

// readLines is the reader's goroutine.
func (c *Conn) readLines() error {
	lines := newLineReader(c.r, c.o.MaxMessageBytes, c.o.Budget, c.touch, &c.partial)
	for {
		line, id, err := lines.next()
		if c.hasEnded() {
			c.o.Budget.Release(int64(len(line)))
			return io.EOF // nobody serves what came too late
		}
		switch {
		case errors.Is(err, errTooLong):
			err = c.refuse(id, rpcError(jsonrpc.CodeInvalidRequest,
				fmt.Sprintf("invalid request: the message is longer than MaxMessageBytes (%d bytes); the connection goes on", c.o.MaxMessageBytes)))
		case errors.Is(err, errNoRoom):
			err = c.refuse(id, rpcError(CodeBusy,
				fmt.Sprintf("the server is busy: messages in flight fill MaxBytesInFlight (%d bytes); retry later", c.o.Budget.Max())))
		case err == nil:
			err = c.line(line)
		}
		if err != nil {
			return err
		}
	}
}

func (c *Conn) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

func (c *Conn) refuse(id json.RawMessage, e *jsonrpc.Error) error {
	return c.out.frame(ErrorFrame(id, e))
}

// line handles one line; the budget holds its bytes.
func (c *Conn) line(line []byte) error {
	held := int64(len(line))
	if c.first {
		c.first = false
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")) // a byte order mark that some shells put in front
	}
	if len(bytes.TrimLeft(line[:min(len(line), 64)], " \t\r")) == 0 && len(bytes.TrimSpace(line)) == 0 {
		c.o.Budget.Release(held)
		return nil
	}
	m, bad := Parse(line)
	if bad == nil && m.IsCall() {
		return c.call(m, held)
	}
	c.o.Budget.Release(held)
	switch {
	case bad != nil && bad.Code == jsonrpc.CodeInvalidParams && m.IsNotification():
		return nil // a well-formed notification is never answered
	case bad != nil:
		return c.refuse(m.ID, bad)
	case m.IsNotification():
		return c.notification(m)
	}
	return c.response(m)
}

// call admits a request and hands it to its session.
func (c *Conn) call(m *Message, held int64) error {
	k := &call{id: m.ID, key: m.Key, method: m.Method, held: held}
	if refusal := c.admit(k); refusal != nil {
		c.o.Budget.Release(held)
		return c.refuse(m.ID, refusal)
	}
	session, err := c.session(m)
	if err != nil {
		c.take(k.key)
		c.release(k)
		return c.refuse(m.ID, rpcError(jsonrpc.CodeInternalError, "internal error: "+err.Error()))
	}
	params, arguments := m.Detach()
	req := &jsonrpc.Request{ID: m.Key, Method: m.Method, Params: params}
	detach := func() {}
	if arguments != nil {
		header := http.Header{}
		detach = c.args.Put(&Attachment{Arguments: arguments}, header)
		req.Extra = &mcp.RequestExtra{Header: header}
	}
	c.mu.Lock()
	k.session, k.detach = session, detach
	c.mu.Unlock()
	session.deliver(req)
	return nil
}

// admit enters a call into the table, or says why not.
func (c *Conn) admit(k *call) *jsonrpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stopping || c.ended:
		return rpcError(CodeStopping, "server is stopping")
	case c.calls[k.key] != nil:
		return rpcError(jsonrpc.CodeInvalidRequest, fmt.Sprintf("invalid request: id %s is already in flight; use another", k.id))
	case c.pending >= c.o.MaxInFlight:
		return rpcError(CodeBusy, fmt.Sprintf("the server is busy: MaxInFlight (%d) calls of this connection are unanswered; retry later", c.o.MaxInFlight))
	}
	c.calls[k.key] = k
	c.pending++
	return nil
}

// take removes a call from the table: its id may come again from now on.
func (c *Conn) take(key jsonrpc.ID) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[key]
	delete(c.calls, key)
	return k
}

// release ends a call for good.
func (c *Conn) release(k *call) {
	c.o.Budget.Release(k.held)
	if k.detach != nil {
		k.detach()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending--; c.pending == 0 {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// answer writes the SDK's answer under the id's own spelling.
func (c *Conn) answer(r *jsonrpc.Response) error {
	k := c.take(r.ID)
	if k == nil {
		return nil
	}
	defer c.release(k)
	c.mu.Lock()
	cancelled, stopping := k.cancelled, c.stopping || c.ended
	c.mu.Unlock()
	if cancelled {
		return nil
	}
	if r.Error != nil {
		e := callError(k.method, r.Error)
		if stopping && errors.Is(r.Error, context.Canceled) {
			e = rpcError(CodeStopping, "server is stopping: the call was cancelled")
		}
		return c.refuse(k.id, e)
	}
	result := r.Result
	if bytes.IndexByte(result, '\n') >= 0 {
		var one bytes.Buffer
		if err := json.Compact(&one, result); err != nil {
			return c.refuse(k.id, rpcError(jsonrpc.CodeInternalError, "internal error: the result is not JSON"))
		}
		result = one.Bytes()
	}
	size := int64(len(result))
	c.o.Budget.Acquire(size)
	defer c.o.Budget.Release(size)
	defer c.touch()
	return c.out.frame([]byte(`{"jsonrpc":"2.0","id":`), k.id, []byte(`,"result":`), result, []byte("}"))
}

// maxNotificationBytes bounds what may queue in the SDK without an answer to
// wait for.
const maxNotificationBytes = 64 << 10

func (c *Conn) notification(m *Message) error {
	if m.Method == "notifications/cancelled" {
		c.cancelled(m.Cancels)
		return nil
	}
	if len(m.Params) > maxNotificationBytes {
		c.o.Logger.Warn("a notification was dropped", "method", m.Method, "bytes", len(m.Params), "limit", maxNotificationBytes)
		return nil
	}
	if s := c.opened(handshake); s != nil {
		s.deliver(&jsonrpc.Request{Method: m.Method, Params: bytes.Clone(m.Params)})
	}
	return nil
}

// cancelled obeys a client's wish to have no answer. An initialize request
// cannot be cancelled.
func (c *Conn) cancelled(id json.RawMessage) {
	if id == nil {
		return
	}
	key, err := IDKey(id)
	if err != nil {
		return
	}
	c.mu.Lock()
	k := c.calls[key]
	if k == nil || k.method == "initialize" || k.cancelled {
		c.mu.Unlock()
		return
	}
	k.cancelled = true
	s := k.session
	c.mu.Unlock()
	s.cancel(key)
}

// response hands on the client's answer to a request of the server.
func (c *Conn) response(m *Message) error {
	r := &jsonrpc.Response{ID: m.Key, Result: bytes.Clone(m.result)}
	if m.err != nil {
		e := &jsonrpc.Error{}
		if json.Unmarshal(m.err, e) != nil {
			e.Message = "the client answered with a malformed error"
		}
		r.Error = e
	}
	for _, e := range []era{handshake, bare} {
		if s := c.opened(e); s != nil {
			s.deliver(r)
			break
		}
	}
	return nil
}
