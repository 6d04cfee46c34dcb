package httpd

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions knows the ids this handler has given out.
type sessions struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (s *sessions) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil {
		s.ids = make(map[string]bool)
	}
	s.ids[id] = true
}

// open returns the SDK sessions that are still open, and forgets the others.
func (s *sessions) open(srv *mcp.Server) []*mcp.ServerSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	alive := make(map[string]bool, len(s.ids))
	var list []*mcp.ServerSession
	for session := range srv.Sessions() {
		if id := session.ID(); s.ids[id] {
			alive[id] = true
			list = append(list, session)
		}
	}
	s.ids = alive
	return list
}

// room reports whether one more session fits.
func (s *sessions) room(srv *mcp.Server, max int) bool {
	s.mu.Lock()
	few := len(s.ids) < max
	s.mu.Unlock()
	return few || len(s.open(srv)) < max
}

// closeSessions ends all sessions. Their handlers have returned or been
// cancelled; one that ignores that is left behind when ctx ends.
func (h *Handler) closeSessions(ctx context.Context) {
	open := h.sessions.open(h.srv)
	done := make(chan struct{}, len(open))
	for _, session := range open {
		go func() {
			session.Close() //nolint:errcheck // its transport cannot fail to close
			done <- struct{}{}
		}()
	}
	for range open {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}
