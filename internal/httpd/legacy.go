package httpd

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/visions-mcp/visions/internal/wire"
)

// legacyStream is a client of the transport of 2024-11-05: it posts messages
// to one URL and reads answers from an event stream. The two make a stream of
// lines, which [wire.Conn] serves.
type legacyStream struct {
	mu sync.Mutex // one message at a time
	in *io.PipeWriter
}

// legacySSE opens a client's event stream.
func (h *Handler) legacySSE(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.CodeInvalidRequest, "method not allowed: this endpoint answers GET with an event stream; post messages to the URL it names")
		return
	}
	pr, pw := io.Pipe()
	id := rand.Text()
	if !h.addStream(id, &legacyStream{in: pw}) {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, nil, wire.CodeBusy, fmt.Sprintf("the server is busy: MaxSessions (%d) streams are open; retry later", h.c.MaxSessions))
		return
	}
	defer h.dropStream(id)
	out := h.reply(w, &wire.Message{}, true)
	defer out.finish()
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("Cache-Control", "no-cache, no-transform")
	fmt.Fprintf(out, "event: endpoint\ndata: %s?sessionid=%s\n\n", h.c.MessagesPath, id)
	out.FlushError() //nolint:errcheck // the next write tells
	conn := wire.NewConn(h.srv, pr, eventWriter{out}, wire.Options{
		MaxMessageBytes: h.c.MaxMessageBytes, Budget: h.c.Budget, Client: sessionKey(id), Logger: h.log, Close: true,
	})
	defer context.AfterFunc(h.streamsCtx, func() { conn.Shutdown(h.killCtx) })() //nolint:errcheck // Run tells
	if err := conn.Run(r.Context()); err != nil && r.Context().Err() == nil {
		h.log.Info("an event stream ended", "error", err)
	}
	pr.Close() //nolint:errcheck // it returns nil
}

// eventWriter puts each frame on the event stream.
type eventWriter struct{ out *reply }

// Write takes one frame, or a part of a long one. A part ends where the frame
// does when it ends in a line end, the only one it can have.
func (e eventWriter) Write(p []byte) (int, error) {
	return len(p), e.out.event(p)
}

func (h *Handler) addStream(id string, s *legacyStream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.streams) >= h.c.MaxSessions {
		return false
	}
	h.streams[id] = s
	return true
}

func (h *Handler) dropStream(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, id)
}

// legacyMessage takes a client's message; its answer goes to the event stream.
func (h *Handler) legacyMessage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, nil, jsonrpc.CodeInvalidRequest, "method not allowed: post messages here")
		return
	}
	h.mu.Lock()
	s := h.streams[r.URL.Query().Get("sessionid")]
	h.mu.Unlock()
	if s == nil {
		refuse(w, http.StatusNotFound, nil, jsonrpc.CodeInvalidRequest, "session not found: open the event stream first and post to the URL it names")
		return
	}
	body, ok := h.body(w, r)
	defer h.c.Budget.Release(int64(cap(body)))
	if !ok {
		return
	}
	// White space is the only place where JSON has line ends.
	line := append(bytes.ReplaceAll(body, []byte("\n"), []byte(" ")), '\n')
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.in.Write(line); err != nil {
		refuse(w, http.StatusNotFound, nil, jsonrpc.CodeInvalidRequest, "session not found: its event stream has ended")
		return
	}
	w.WriteHeader(http.StatusAccepted)
}
