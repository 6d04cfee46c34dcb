package admission

import (
	"context"
	"fmt"
	"sync"
)

// Gate is a fair counting semaphore: at most places holders at once, waiters
// served round robin over clients and first come first served within one.
type Gate struct {
	mu         sync.Mutex
	name       string
	places     int
	maxWaiting int
	held       int
	waiting    fair[*waiter]
}

type waiter struct{ granted chan struct{} }

// NewGate returns a gate with that many places (at least one). At most
// maxWaiting callers may wait; 0 means without limit. The name appears in
// errors.
func NewGate(name string, places, maxWaiting int) *Gate {
	return &Gate{name: name, places: max(1, places), maxWaiting: maxWaiting}
}

// GateFullError says that a gate has no room for another waiter.
type GateFullError struct {
	Gate       string
	Held       int // callers inside
	MaxWaiting int // the limit that was hit
}

func (e *GateFullError) Error() string {
	return fmt.Sprintf("the %s is full: %d running and %d waiting (limit %d waiting)", e.Gate, e.Held, e.MaxWaiting, e.MaxWaiting)
}

// Acquire waits for a place. burst is how many places in a row client may take
// while others wait. A nil error must be followed by one Release.
//
// # Errors
//
// [*GateFullError] at once when too many wait; the cause of ctx when it ends
// first, and then no place is held.
func (g *Gate) Acquire(ctx context.Context, client any, burst int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	g.mu.Lock()
	if g.held < g.places && g.waiting.len() == 0 {
		g.held++
		g.mu.Unlock()
		return nil
	}
	if g.maxWaiting > 0 && g.waiting.len() >= g.maxWaiting {
		err := &GateFullError{Gate: g.name, Held: g.held, MaxWaiting: g.maxWaiting}
		g.mu.Unlock()
		return err
	}
	key := lane{client, max(1, burst)}
	w := &waiter{granted: make(chan struct{})}
	g.waiting.push(key, w)
	g.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.waiting.remove(key, w) {
		g.pass() // granted at the same moment: hand the place on
	}
	return context.Cause(ctx)
}

// lane is a client's key in a gate, with the burst it may take.
type lane struct {
	client any
	burst  int
}

// Release gives a place back.
func (g *Gate) Release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass()
}

func (g *Gate) pass() {
	burst := 1
	if len(g.waiting.turn) > 0 {
		burst = g.waiting.turn[0].(lane).burst
	}
	if w, ok := g.waiting.pop(burst); ok {
		close(w.granted)
		return
	}
	g.held--
}

// Places returns how many may hold the gate at once.
func (g *Gate) Places() int { return g.places }

// Load returns how many hold a place and how many wait for one.
func (g *Gate) Load() (held, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held, g.waiting.len()
}
