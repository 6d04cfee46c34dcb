package httpd

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/visions-mcp/visions/internal/wire"
)

// errCancelled is the cause of calls that a client cancelled.
var errCancelled = errors.New("the client cancelled the call")

// inFlight knows the calls of clients without a session, so that a
// notifications/cancelled, which comes in a request of its own, finds its call.
type inFlight struct {
	mu    sync.Mutex
	calls map[caller]map[*context.CancelCauseFunc]struct{}
}

// caller is all that two requests of a client without a session share. Two
// clients can be alike in it: see cancel.
type caller struct {
	id              jsonrpc.ID
	host, userAgent string
}

func callerOf(r *http.Request, id jsonrpc.ID) caller {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return caller{id, host, r.UserAgent()}
}

// add enters a call until remove is called.
func (f *inFlight) add(c caller, cancel context.CancelCauseFunc) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = make(map[caller]map[*context.CancelCauseFunc]struct{})
	}
	if f.calls[c] == nil {
		f.calls[c] = make(map[*context.CancelCauseFunc]struct{})
	}
	key := &cancel
	f.calls[c][key] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if delete(f.calls[c], key); len(f.calls[c]) == 0 {
			delete(f.calls, c)
		}
	}
}

// cancel ends the call of c when there is exactly one: of two it cannot tell
// which is meant, and ending somebody else's call is worse than ending none.
func (f *inFlight) cancel(c caller) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls[c]) != 1 {
		return
	}
	for cancel := range f.calls[c] {
		(*cancel)(errCancelled)
	}
}

// cancelled serves notifications/cancelled of a client without a session.
func (h *Handler) cancelled(w http.ResponseWriter, r *http.Request, m *wire.Message) {
	if id, err := wire.IDKey(m.Cancels); err == nil {
		h.calls.cancel(callerOf(r, id))
	}
	w.WriteHeader(http.StatusAccepted)
}
