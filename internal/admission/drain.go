package admission

import (
	"context"
	"slices"
)

// segment is a piece of pixel work handed to the host's goroutine.
type segment struct {
	fn       func()
	taken    bool // guarded by Queue.mu: a Drain is running it
	done     chan struct{}
	panicked any
}

// Drain starts at most MaxDrain waiting calls, round robin over clients, and
// runs on the calling goroutine the pixel work of every started call that has
// some. It returns once all started calls have left or wait for something
// other than pixels, or when ctx ends. It does not wait for the model. The
// count is of calls started.
//
// # Errors
//
// [ErrNotHostDriven].
func (q *Queue) Drain(ctx context.Context) (int, error) {
	if !q.hostDriven {
		return 0, ErrNotHostDriven
	}
	defer context.AfterFunc(ctx, q.wake)()
	q.mu.Lock()
	defer q.mu.Unlock()
	n := q.startWaiting()
	q.work(ctx, func() bool { return q.busy == 0 })
	return n, nil
}

// Finish drains until no call is inside or ctx ends, waiting for calls that
// wait for a model. It is Drain's counterpart for a server that stops.
func (q *Queue) Finish(ctx context.Context) {
	defer context.AfterFunc(ctx, q.wake)()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.startWaiting() > 0 {
		q.work(ctx, func() bool { return q.busy == 0 })
	}
	q.work(ctx, func() bool { return len(q.calls) == 0 })
}

// startWaiting starts at most maxDrain calls and returns how many.
func (q *Queue) startWaiting() (n int) {
	for ; n < q.maxDrain; n++ {
		c, ok := q.waiting.pop(q.maxDrain)
		if !ok {
			break
		}
		c.started = true
		q.started++
		q.busy++
		close(c.start)
	}
	return n
}

// work runs pixel work as it comes, until there is none and done says so.
func (q *Queue) work(ctx context.Context, done func() bool) {
	for ctx.Err() == nil {
		if len(q.ready) > 0 {
			s := q.ready[0]
			q.ready = q.ready[1:]
			s.taken = true
			q.mu.Unlock()
			s.run()
			q.mu.Lock()
			continue
		}
		if done() {
			return
		}
		q.changed.Wait()
	}
}

// run does the work and keeps a panic for the goroutine that asked for it.
func (s *segment) run() {
	defer close(s.done)
	defer func() { s.panicked = recover() }()
	s.fn()
}

// onHost hands fn to the next Drain and waits until it has run.
func (q *Queue) onHost(ctx context.Context, fn func()) error {
	s := &segment{fn: fn, done: make(chan struct{})}
	q.mu.Lock()
	q.ready = append(q.ready, s)
	q.changed.Broadcast()
	q.mu.Unlock()
	select {
	case <-s.done:
	case <-ctx.Done():
		if q.abandon(s) {
			return context.Cause(ctx)
		}
		<-s.done
	}
	if s.panicked != nil {
		panic(s.panicked)
	}
	return nil
}

// abandon takes back work that no Drain has begun.
func (q *Queue) abandon(s *segment) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s.taken {
		return false
	}
	q.ready = slices.DeleteFunc(q.ready, func(x *segment) bool { return x == s })
	q.changed.Broadcast()
	return true
}
