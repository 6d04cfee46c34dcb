package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// era is how a client speaks. A connection has an SDK session for each era
// that its client has used, since an SDK session keeps to the first.
type era int

const (
	bare      era = iota // requests without any handshake
	handshake            // initialize came
	modern               // each request names its version
	eras
)

// session is one SDK session, fed by its connection's reader.
type session struct {
	c    *Conn
	in   chan jsonrpc.Message
	gone chan struct{}
	once sync.Once
	sdk  *mcp.ServerSession
}

// session returns the session that serves a call, opening it at first use.
func (c *Conn) session(m *Message) (*session, error) {
	c.smu.Lock()
	defer c.smu.Unlock()
	e := bare
	switch {
	case m.Modern():
		e = modern
	case m.Method == "initialize" || c.sessions[handshake] != nil:
		e = handshake
	}
	if c.closed {
		return nil, errors.New("the connection has ended")
	}
	if c.sessions[e] == nil {
		s, err := c.open(e)
		if err != nil {
			return nil, err
		}
		c.sessions[e] = s
	}
	return c.sessions[e], nil
}

// opened returns the session of an era, nil where there is none.
func (c *Conn) opened(e era) *session {
	c.smu.Lock()
	defer c.smu.Unlock()
	return c.sessions[e]
}

// open starts the SDK session of an era.
func (c *Conn) open(e era) (*session, error) {
	s := &session{c: c, in: make(chan jsonrpc.Message), gone: make(chan struct{})}
	opts := &mcp.ServerSessionOptions{}
	if e == bare {
		opts.State = &mcp.ServerSessionState{
			InitializeParams:  &mcp.InitializeParams{ProtocolVersion: "2025-03-26", Capabilities: &mcp.ClientCapabilities{}},
			InitializedParams: &mcp.InitializedParams{},
		}
	}
	sdk, err := c.srv.Connect(c.ctx, s, opts)
	if err != nil {
		return nil, err
	}
	s.sdk = sdk
	return s, nil
}

// Connect implements [mcp.Transport].
func (s *session) Connect(context.Context) (mcp.Connection, error) { return s, nil }

// SessionID implements [mcp.Connection]: a stream is no session.
func (s *session) SessionID() string { return "" }

// Read implements [mcp.Connection].
func (s *session) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-s.in:
		return m, nil
	case <-s.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// deliver hands a message to the SDK; it is dropped when the session is over.
func (s *session) deliver(m jsonrpc.Message) {
	select {
	case s.in <- m:
	case <-s.gone:
	}
}

// Write implements [mcp.Connection].
func (s *session) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		return s.c.answer(r)
	}
	frame, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return s.c.out.frame(frame)
}

// Close implements [mcp.Connection]. The stream is the connection's and stays.
func (s *session) Close() error {
	s.once.Do(func() { close(s.gone) })
	return nil
}

// cancel makes the SDK cancel a call's handler.
func (s *session) cancel(id jsonrpc.ID) {
	params, err := json.Marshal(map[string]any{"requestId": id.Raw()})
	if err == nil {
		s.deliver(&jsonrpc.Request{Method: "notifications/cancelled", Params: params})
	}
}

// callError gives an error the code that fits it: the SDK sends none where its
// own checks fail without one.
func callError(method string, err error) *jsonrpc.Error {
	var coded *jsonrpc.Error
	out := rpcError(0, err.Error())
	if errors.As(err, &coded) {
		out.Code, out.Data = coded.Code, coded.Data
	}
	return FitCode(method, out)
}

// FitCode corrects the code of an error that the SDK made for a call of
// method: 0, and -32600 for missing params, become what JSON-RPC says.
func FitCode(method string, e *jsonrpc.Error) *jsonrpc.Error {
	uncoded := e.Code == 0 || e.Code == jsonrpc.CodeInternalError
	switch {
	case uncoded && (strings.HasPrefix(e.Message, `duplicate "initialize"`) || strings.Contains(e.Message, "is invalid during session initialization")):
		e.Code = jsonrpc.CodeInvalidRequest
	case uncoded && method == "initialize",
		e.Code == jsonrpc.CodeInvalidRequest && strings.Contains(e.Message, `missing required "params"`):
		e.Code = jsonrpc.CodeInvalidParams
	case e.Code == 0:
		e.Code = jsonrpc.CodeInternalError
	}
	return e
}
