// Package admission decides which calls may enter a server and in which order
// they work: a bounded queue per server, fair gates for pixels and for the
// model, and the host-driven mode in which the host's own goroutine does the
// pixel work. It knows nothing of transports, tools or images.
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// ErrStopping refuses calls that arrive while the queue is being stopped.
var ErrStopping = errors.New("the server is stopping and takes no new calls")

// ErrNotHostDriven is what Drain answers on a queue that starts calls itself.
var ErrNotHostDriven = errors.New("the queue is not host-driven: calls start by themselves")

// FullError says that a call was refused because the queue holds as many as it
// may.
type FullError struct {
	Depth   int // calls that may be inside, waiting and running together
	Waiting int // of those inside, how many wait for their turn
}

func (e *FullError) Error() string {
	return fmt.Sprintf("the queue is full: %d calls inside (QueueDepth %d), %d of them waiting", e.Depth, e.Depth, e.Waiting)
}

// Queue is the admission of one server: at most Depth calls inside, served
// round robin over clients with at most MaxDrain starts in a row.
type Queue struct {
	depth, maxDrain int
	gate            *Gate
	hostDriven      bool

	mu       sync.Mutex
	changed  sync.Cond // a call left, parked, or has pixel work for the host
	stopping bool
	calls    map[*Call]struct{}
	started  int
	waiting  fair[*Call] // host-driven: calls not started yet
	ready    []*segment  // host-driven: pixel work for the host's goroutine
	busy     int         // host-driven: started calls that Drain waits for
}

// Config sizes a [Queue].
type Config struct {
	Depth      int   // calls inside at once
	MaxDrain   int   // starts in a row of one client, and starts of one Drain
	Gate       *Gate // places for pixel work
	HostDriven bool  // nothing starts until Drain
}

// NewQueue returns an open queue.
func NewQueue(c Config) *Queue {
	q := &Queue{depth: c.Depth, maxDrain: c.MaxDrain, gate: c.Gate, hostDriven: c.HostDriven, calls: make(map[*Call]struct{})}
	q.changed.L = &q.mu
	return q
}

// Enter admits a call of the client named by ctx (see [WithClient]). The
// returned context carries the call, ends with ctx, and is cancelled by
// [Queue.CancelAll]. A nil error must be followed by one [Call.Leave].
//
// # Errors
//
// [*FullError] at once when the queue is full, [ErrStopping] after Refuse.
func (q *Queue) Enter(ctx context.Context) (context.Context, *Call, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopping {
		return nil, nil, ErrStopping
	}
	if len(q.calls) >= q.depth {
		return nil, nil, &FullError{Depth: q.depth, Waiting: len(q.calls) - q.started}
	}
	c := &Call{q: q, client: Client(ctx), start: make(chan struct{})}
	ctx, c.cancel = context.WithCancelCause(context.WithValue(ctx, callKey{}, c))
	q.calls[c] = struct{}{}
	if q.hostDriven {
		q.waiting.push(c.client, c)
	} else {
		close(c.start)
	}
	return ctx, c, nil
}

// Refuse makes Enter answer [ErrStopping] until Accept.
func (q *Queue) Refuse() { q.setStopping(true) }

// Accept undoes Refuse.
func (q *Queue) Accept() { q.setStopping(false) }

func (q *Queue) setStopping(on bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopping = on
}

// CancelAll ends the context of every call inside with cause.
func (q *Queue) CancelAll(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := range q.calls {
		c.cancel(cause)
	}
}

// Load returns how many calls are inside and how many of them wait for their
// turn: for a Drain, or before their first pixel work for a place.
func (q *Queue) Load() (inside, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.calls), len(q.calls) - q.started
}

// HostDriven reports whether calls start only by Drain.
func (q *Queue) HostDriven() bool { return q.hostDriven }

// Call is one admitted call.
type Call struct {
	q       *Queue
	client  any
	cancel  context.CancelCauseFunc
	start   chan struct{} // closed when the call may begin
	started bool          // guarded by q.mu: it does not wait for its turn
	waited  bool          // guarded by q.mu: it has asked for its first place
	parked  bool          // guarded by q.mu: Drain does not wait for it
}

type callKey struct{}

// FromContext returns the call that ctx belongs to, nil when there is none.
func FromContext(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Start waits until the call may begin: at once, or in host-driven mode when a
// Drain picks it. It returns the cause of ctx when that ends first.
func (c *Call) Start(ctx context.Context) error {
	select {
	case <-c.start:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !c.q.hostDriven {
		c.setStarted(true)
	}
	return nil
}

// Pixels runs fn as pixel work: on this goroutine once the gate has a place,
// or in host-driven mode on the goroutine of the host's Drain. A panic of fn
// comes out of Pixels, not of Drain. When ctx ends before fn began, fn does not
// run and the cause is returned.
func (c *Call) Pixels(ctx context.Context, fn func()) error {
	if c.q.hostDriven {
		return c.q.onHost(ctx, fn)
	}
	c.setStarted(false)
	err := c.q.gate.Acquire(ctx, c.client, c.q.maxDrain)
	c.setStarted(true)
	if err != nil {
		return err
	}
	defer c.q.gate.Release()
	fn()
	return nil
}

// setStarted counts the call as started or, until its first pixel work, as
// waiting for its turn. In host-driven mode Drain does this.
func (c *Call) setStarted(on bool) {
	c.q.mu.Lock()
	defer c.q.mu.Unlock()
	if !on && c.waited || on == c.started {
		return
	}
	c.started = on
	if on {
		c.q.started++
	} else {
		c.q.started--
		c.waited = true
	}
}

// Park runs fn, which waits for something that is not pixel work: the model,
// a file, memory. A host-driven Drain does not wait for a parked call.
func (c *Call) Park(fn func()) {
	c.setParked(true)
	defer c.setParked(false)
	fn()
}

func (c *Call) setParked(on bool) {
	q := c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.hostDriven || !c.started || c.parked == on {
		return
	}
	c.parked = on
	if on {
		q.busy--
	} else {
		q.busy++
	}
	q.changed.Broadcast()
}

// Ahead returns how many calls may start before this one; 0 once it started.
func (c *Call) Ahead() int {
	c.q.mu.Lock()
	defer c.q.mu.Unlock()
	if c.started {
		return 0
	}
	if c.q.hostDriven {
		return c.q.waiting.ahead(c.client, c)
	}
	return max(0, len(c.q.calls)-c.q.started-1)
}

// Leave takes the call out of the queue. It must be called once.
func (c *Call) Leave() {
	q := c.q
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.calls, c)
	q.waiting.remove(c.client, c)
	if c.started {
		q.started--
		if q.hostDriven && !c.parked {
			q.busy--
		}
	}
	c.cancel(context.Canceled)
	q.changed.Broadcast()
}

// Wait returns when no call is inside, or with the cause of ctx.
func (q *Queue) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, q.wake)()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.calls) > 0 {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		q.changed.Wait()
	}
	return nil
}

func (q *Queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}
