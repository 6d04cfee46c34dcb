package httpd

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/visions-mcp/visions/internal/wire"
)

const (
	writePiece = 1 << 20  // bytes written under one deadline
	errorBytes = 64 << 10 // answers up to this size are looked at for an error
)

// reply stands between an SDK handler and the client: it turns plain text
// errors into JSON-RPC ones, corrects codes, keeps event streams alive and
// gives every write a deadline.
type reply struct {
	w      http.ResponseWriter
	rc     *http.ResponseController
	h      *Handler
	m      *wire.Message
	legacy bool

	head http.Header // the SDK's, copied when the answer begins: a keep-alive may begin it meanwhile

	mu      sync.Mutex
	stream  bool
	started bool
	inEvent bool // a part of an event has been written
	late    bool // an error status came after the stream had begun
	status  int  // of a plain text error being gathered
	text    []byte
	err     error
	stop    chan struct{}
	joined  chan struct{}
}

// reply wraps w for one request. finish must be called.
func (h *Handler) reply(w http.ResponseWriter, m *wire.Message, stream bool) *reply {
	o := &reply{w: w, rc: http.NewResponseController(w), h: h, m: m, head: http.Header{}, stream: stream, legacy: !m.Modern()}
	if stream {
		o.stop, o.joined = make(chan struct{}), make(chan struct{})
		go o.keepAlive()
	}
	return o
}

// Header implements [http.ResponseWriter].
func (o *reply) Header() http.Header { return o.head }

// Unwrap gives [http.ResponseController] the rest.
func (o *reply) Unwrap() http.ResponseWriter { return o.w }

// FlushError implements what [http.ResponseController] looks for.
func (o *reply) FlushError() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status != 0 {
		return nil
	}
	return o.rc.Flush()
}

// WriteHeader implements [http.ResponseWriter].
func (o *reply) WriteHeader(status int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case status >= 400 && o.started:
		o.late = true
	case status >= 400 && strings.HasPrefix(o.head.Get("Content-Type"), "text/plain"):
		o.status = status
	default:
		o.begin(status, o.head)
	}
}

func (o *reply) begin(status int, head http.Header) {
	if o.started {
		return
	}
	o.started = true
	maps.Copy(o.w.Header(), head)
	if strings.HasPrefix(head.Get("Content-Type"), "text/event-stream") {
		o.w.Header().Set("X-Accel-Buffering", "no") // asks proxies not to hold events back
	}
	o.w.WriteHeader(status)
}

// Write implements [http.ResponseWriter]. The SDK writes a whole answer or
// event at once.
func (o *reply) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status != 0 {
		o.text = append(o.text, p...)
		return len(p), nil
	}
	out := o.corrected(p)
	if o.late {
		out = bytes.Join([][]byte{[]byte("event: message\ndata: "), out, []byte("\n\n")}, nil)
		o.late = false
	}
	o.begin(http.StatusOK, o.head)
	o.send(out)
	return len(p), o.err
}

func (o *reply) send(b []byte) {
	size := int64(len(b))
	o.h.c.Budget.Acquire(size)
	defer o.h.c.Budget.Release(size)
	for len(b) > 0 && o.err == nil {
		n := min(len(b), writePiece)
		o.rc.SetWriteDeadline(time.Now().Add(o.h.c.WriteTimeout)) //nolint:errcheck // a writer without deadlines has none
		_, o.err = o.w.Write(b[:n])
		b = b[n:]
	}
}

// corrected gives an error answer the code that fits and the id as the client
// spelled it.
func (o *reply) corrected(p []byte) []byte {
	if len(p) > errorBytes || !bytes.Contains(p, []byte(`"error":{"code":`)) {
		return p
	}
	from, to := bytes.IndexByte(p, '{'), bytes.LastIndexByte(p, '}')
	var answer struct {
		ID     json.RawMessage `json:"id"`
		Error  *jsonrpc.Error  `json:"error"`
		Method string          `json:"method"`
	}
	if from < 0 || to < from || json.Unmarshal(p[from:to+1], &answer) != nil || answer.Error == nil || answer.Method != "" {
		return p
	}
	frame := wire.ErrorFrame(o.m.ID, wire.FitCode(o.m.Method, answer.Error))
	return bytes.Join([][]byte{p[:from], frame, p[to+1:]}, nil)
}

// keepAlive puts a comment on a silent stream now and then, so that proxies
// and clients do not take it for dead.
func (o *reply) keepAlive() {
	defer close(o.joined)
	t := time.NewTicker(o.h.c.KeepAlive)
	defer t.Stop()
	for {
		select {
		case <-o.stop:
			return
		case <-t.C:
			o.comment()
		}
	}
}

func (o *reply) comment() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status != 0 || o.err != nil || o.inEvent {
		return
	}
	o.begin(http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"}})
	o.send([]byte(": keep-alive\n\n"))
	o.rc.Flush() //nolint:errcheck // the next write tells
}

// event writes a part of an event; the part that ends in a line end is its
// last.
func (o *reply) event(p []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.inEvent {
		o.send([]byte("event: message\ndata: "))
	}
	o.inEvent = !bytes.HasSuffix(p, []byte("\n"))
	o.send(p)
	if !o.inEvent {
		o.send([]byte("\n"))
		o.rc.Flush() //nolint:errcheck // the next write tells
	}
	return o.err
}

// finish writes a gathered error and joins the keep-alive.
func (o *reply) finish() {
	if o.stream {
		close(o.stop)
		<-o.joined
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.status != 0 {
		status, e := o.plainError()
		o.head.Set("Content-Type", "application/json")
		o.begin(status, o.head)
		o.send(wire.ErrorFrame(o.m.ID, e))
	}
	o.rc.SetWriteDeadline(time.Time{}) //nolint:errcheck // see send
}

// plainError reads what the SDK said in plain text. A call of the older eras
// whose method or params are wrong gets an ordinary answer.
func (o *reply) plainError() (int, *jsonrpc.Error) {
	text := strings.TrimSpace(string(o.text))
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: text}
	if strings.HasPrefix(text, "JSON RPC not handled") {
		e = &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + o.m.Method}
	}
	wire.FitCode(o.m.Method, e)
	if o.legacy && o.m.IsCall() && (e.Code == jsonrpc.CodeMethodNotFound || e.Code == jsonrpc.CodeInvalidParams) {
		return http.StatusOK, e
	}
	return o.status, e
}
