package httpd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/wire"
)

const (
	sessionHeader = "Mcp-Session-Id"
	readPiece     = 1 << 20 // bytes by which a body of unknown length grows
	overrun       = 4       // times MaxMessageBytes that are read and dropped of a body that is too long
)

// endpoint serves the streamable HTTP transport.
func (h *Handler) endpoint(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get(sessionHeader)
	if r.Method != http.MethodPost {
		h.withoutBody(w, r, session)
		return
	}
	if !jsonLike(r.Header.Get("Content-Type")) {
		refuse(w, http.StatusUnsupportedMediaType, nil, jsonrpc.CodeInvalidRequest, "the body must be JSON: send Content-Type: application/json")
		return
	}
	body, ok := h.body(w, r)
	defer h.c.Budget.Release(int64(cap(body)))
	if !ok {
		return
	}
	m, bad := wire.Parse(body)
	if bad == nil && m.ID != nil && m.ID[0] != '"' {
		if _, text := m.Key.Raw().(string); text {
			bad = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("invalid request: id %s is beyond 2^53, which HTTP clients and servers round", m.ID)}
		}
	}
	if bad != nil {
		refuse(w, http.StatusBadRequest, m.ID, bad.Code, bad.Message)
		return
	}
	h.post(w, r, m, body, session)
}

// withoutBody serves GET and DELETE, which only sessions have.
func (h *Handler) withoutBody(w http.ResponseWriter, r *http.Request, session string) {
	if h.state == nil || r.Method != http.MethodGet && r.Method != http.MethodDelete {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.CodeInvalidRequest, "method not allowed: this endpoint answers POST")
		return
	}
	out := h.reply(w, &wire.Message{}, r.Method == http.MethodGet)
	defer out.finish()
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r = r.WithContext(admission.WithClient(r.Context(), sessionKey(session)))
	}
	h.state.ServeHTTP(out, r)
}

// sessionKey names a client by its session.
type sessionKey string

// post hands a message to the SDK handler that fits it.
func (h *Handler) post(w http.ResponseWriter, r *http.Request, m *wire.Message, body []byte, session string) {
	accept := r.Header.Get("Accept")
	listen := m.Method == "subscriptions/listen"
	stream := listen || m.IsCall() && strings.Contains(accept, "text/event-stream") && (m.Progress || !strings.Contains(accept, "json") && !strings.Contains(accept, "*/*"))
	modern := m.Modern() || r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28"
	var client any = clientOf(r)
	to := h.plain
	if stream {
		to = h.event
	}
	if h.state != nil && !modern && (session != "" || m.Method == "initialize") {
		to = h.state
		stream = m.IsCall()
		if session != "" {
			client = sessionKey(session)
		} else if !h.sessions.room(h.srv, h.c.MaxSessions) {
			w.Header().Set("Retry-After", "10")
			refuse(w, http.StatusServiceUnavailable, m.ID, wire.CodeBusy, fmt.Sprintf("the server is busy: MaxSessions (%d) sessions are open; retry later", h.c.MaxSessions))
			return
		}
	}
	ctx := admission.WithClient(h.args.Bind(r.Context()), client)
	if listen {
		var end context.CancelFunc
		ctx, end = context.WithCancel(ctx)
		defer end()
		defer context.AfterFunc(h.streamsCtx, end)()
	}
	call, cancel := context.WithCancelCause(ctx) // the handler's: its end is answered, that of ctx is not
	defer cancel(nil)
	switch {
	case to == h.state: // the session's own cancellation reaches its calls
	case m.Method == "notifications/cancelled":
		h.cancelled(w, r, m)
		return
	case m.IsCall():
		defer h.calls.add(callerOf(r, m.Key), cancel)()
	}
	a := &wire.Attachment{Context: call, Client: client}
	body, a.Arguments = encode(r, m, body)
	r = r.Clone(ctx)
	defer h.args.Put(a, r.Header)()
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := h.reply(w, m, stream)
	defer out.finish()
	to.ServeHTTP(out, r)
	if id := out.Header().Get(sessionHeader); id != "" && session == "" {
		h.sessions.add(id)
	}
}

// encode returns the body for the SDK: the client's own where nothing was
// filled in, else with large arguments set aside. Requests whose arguments
// are repeated in headers keep them, since the SDK compares the two.
func encode(r *http.Request, m *wire.Message, body []byte) (_ []byte, arguments json.RawMessage) {
	params, arguments := m.Detach()
	for name := range r.Header {
		if arguments != nil && strings.HasPrefix(name, "Mcp-Param-") {
			return body, nil
		}
	}
	if arguments == nil && m.Method != "initialize" {
		return body, nil
	}
	head, _ := json.Marshal(m.Method)
	id := ""
	if m.ID != nil {
		id = `,"id":` + string(m.ID)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0"%s,"method":%s,"params":%s}`, id, head, params), arguments
}

// jsonLike accepts JSON, no type, and the form type that curl -d sends. Web
// pages can send the last two across origins without a preflight, but never
// without an Origin header, and that has been checked.
func jsonLike(contentType string) bool {
	if contentType == "" {
		return true
	}
	t, _, err := mime.ParseMediaType(contentType)
	return err == nil && (t == "application/json" || t == "application/x-www-form-urlencoded")
}

// body reads the request's body within MaxMessageBytes and the byte budget,
// which then holds cap(body) bytes. When it cannot, it has answered.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	limit := int64(h.c.MaxMessageBytes)
	slow := &patientReader{r.Body, http.NewResponseController(w)}
	defer slow.done()
	tooLong := func() ([]byte, bool) {
		// Most clients read the answer only after they have sent the body.
		slow.rc.SetReadDeadline(time.Now().Add(bodyPause)) //nolint:errcheck // see Read
		id := wire.DropFindingID(io.MultiReader(bytes.NewReader(body), io.LimitReader(r.Body, overrun*limit)))
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestEntityTooLarge, id, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the body is longer than MaxMessageBytes (%d bytes)", limit))
		return body, false
	}
	if r.ContentLength > limit {
		return tooLong()
	}
	in := http.MaxBytesReader(w, slow, limit)
	size := r.ContentLength
	if size < 0 {
		size = readPiece
	}
	for {
		if !h.c.Budget.TryAcquire(size - int64(cap(body))) {
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			refuse(w, http.StatusServiceUnavailable, nil, wire.CodeBusy, fmt.Sprintf("the server is busy: messages in flight fill MaxBytesInFlight (%d bytes); retry later", h.c.Budget.Max()))
			return body, false
		}
		bigger := make([]byte, len(body), size)
		copy(bigger, body)
		body = bigger
		n, err := io.ReadFull(in, body[len(body):cap(body)])
		body = body[:len(body)+n]
		var long *http.MaxBytesError
		switch {
		case errors.As(err, &long):
			return tooLong()
		case err == io.EOF, err == io.ErrUnexpectedEOF, err == nil && r.ContentLength >= 0:
			return body, true
		case errors.Is(err, os.ErrDeadlineExceeded):
			refuse(w, http.StatusRequestTimeout, nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the body stopped coming for %v", bodyPause))
			return body, false
		case err != nil:
			refuse(w, http.StatusBadRequest, nil, jsonrpc.CodeParseError, "the body could not be read: "+err.Error())
			return body, false
		}
		size = min(2*size, limit+1)
	}
}

// bodyPause is how long a body may stop coming: meanwhile it holds a part of
// the byte budget.
const bodyPause = 10 * time.Second

// patientReader gives each read of a body its own deadline.
type patientReader struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (p *patientReader) Read(b []byte) (int, error) {
	p.rc.SetReadDeadline(time.Now().Add(bodyPause)) //nolint:errcheck // a server without deadlines has none
	return p.ReadCloser.Read(b)
}

// done lifts the deadline: the server goes on reading to notice a client that
// leaves.
func (p *patientReader) done() {
	p.rc.SetReadDeadline(time.Time{}) //nolint:errcheck // see Read
}

// connKey is a TCP connection in a request's context.
type connKey struct{}

// clientOf names the client: its TCP connection where [Server] made the
// server, else its address.
func clientOf(r *http.Request) any {
	if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
		return c
	}
	return r.RemoteAddr
}
