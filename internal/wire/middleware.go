package wire

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/admission"
)

// Prepare makes srv fit for the edges: it must be called once for a server,
// before its first [NewConn] or HTTP handler. It adds the receiving middleware
// that puts detached arguments back, ties a handler to the HTTP request it
// serves, answers a panic with code -32603 instead of ending the process, and
// gives that code to errors without one. Panics go to log with their stack; a
// nil log discards them.
func Prepare(srv *mcp.Server, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	srv.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
			defer func() {
				if p := recover(); p != nil {
					log.ErrorContext(ctx, "a handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
					res, err = nil, rpcError(jsonrpc.CodeInternalError, "internal error: the handler of "+method+" panicked; the server goes on")
				}
			}()
			ctx, done := attached(ctx, req)
			defer done()
			res, err = next(ctx, method, req)
			return res, withCode(err)
		}
	})
}

// uncoded gives a JSON-RPC code to an error that has none and keeps the rest.
type uncoded struct{ error }

func (e uncoded) Unwrap() []error {
	return []error{e.error, &jsonrpc.Error{Code: jsonrpc.CodeInternalError}}
}

func withCode(err error) error {
	var coded *jsonrpc.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	return uncoded{err}
}

// attachmentHeader carries an attachment's name to the handler. An edge must
// set or delete it on everything that comes from a client.
const attachmentHeader = "Visions-Attachment"

// Attachment is what an edge hands to the handler of one request beside the
// request's JSON.
type Attachment struct {
	Context   context.Context // its end cancels the handler; may be nil
	Client    any             // for admission; nil keeps the connection's
	Arguments json.RawMessage // detached arguments of a tool call; may be nil
}

// Attachments holds the attachments of requests in flight.
type Attachments struct {
	mu   sync.Mutex
	next uint64
	byID map[string]*Attachment
}

// NewAttachments returns an empty table.
func NewAttachments() *Attachments {
	return &Attachments{byID: make(map[string]*Attachment)}
}

type attachmentsKey struct{}

// Bind returns a context for [mcp.Server.Connect] (or an HTTP request that
// leads there) whose handlers find the table's attachments.
func (t *Attachments) Bind(ctx context.Context) context.Context {
	return context.WithValue(ctx, attachmentsKey{}, t)
}

// Put adds an attachment and names it in header, which must become the
// request's [mcp.RequestExtra] header. remove must be called when the request
// is over.
func (t *Attachments) Put(a *Attachment, header map[string][]string) (remove func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	id := strconv.FormatUint(t.next, 10)
	t.byID[id] = a
	header[attachmentHeader] = []string{id}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.byID, id)
	}
}

func (t *Attachments) get(id string) *Attachment {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// attached applies the request's attachment. done must be called after the
// handler.
func attached(ctx context.Context, req mcp.Request) (_ context.Context, done func()) {
	extra := req.GetExtra()
	table, _ := ctx.Value(attachmentsKey{}).(*Attachments)
	if extra == nil || table == nil || len(extra.Header[attachmentHeader]) == 0 {
		return ctx, func() {}
	}
	a := table.get(extra.Header[attachmentHeader][0])
	if a == nil {
		return ctx, func() {}
	}
	if p, ok := req.GetParams().(*mcp.CallToolParamsRaw); ok && a.Arguments != nil {
		p.Arguments = a.Arguments
	}
	if a.Client != nil {
		ctx = admission.WithClient(ctx, a.Client)
	}
	if a.Context == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.Context, func() { cancel(context.Cause(a.Context)) })
	return ctx, func() { stop(); cancel(nil) }
}
