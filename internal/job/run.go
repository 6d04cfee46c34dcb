package job

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"time"
)

// dispatch starts jobs while there are workers free. The table is locked.
func (t *Table) dispatch() {
	for !t.closed && t.running < t.c.Workers {
		e := t.lanes.pop()
		if e == nil {
			return
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		e.cancel = cancel
		t.running++
		e.status.State, e.status.Phase = Running, ""
		e.status.Attempt++
		e.status.Updated = time.Now()
		e.text.Reset()
		t.publish(e, 0)
		task := &Task{ID: e.status.ID, Tool: e.req.Tool, Args: e.req.Args, Client: e.req.Client, Attempt: e.status.Attempt, table: t, entry: e}
		t.working.Go(func() { t.run(ctx, task) })
	}
}

// run is the life of one try.
func (t *Table) run(ctx context.Context, k *Task) {
	e := k.entry
	t.noteStart(e.status.ID, k.Attempt)
	result, err := t.call(ctx, k)
	cause := context.Cause(ctx)
	e.cancel(nil)

	t.mu.Lock()
	failure := failureOf(err)
	retry := failure != nil && failure.Retry && cause == nil && k.Attempt <= t.c.Retries
	interrupted := err != nil && errors.Is(cause, ErrClosed) || retry && t.closed
	if retry && !t.closed {
		t.again(e, failure)
		t.mu.Unlock()
		return
	}
	e.ending = true
	t.mu.Unlock()
	switch {
	case err == nil:
		t.end(e, Completed, result, nil, true)
	case interrupted:
		t.noteStart(e.status.ID, k.Attempt-1) // this try does not count
		t.end(e, Cancelled, nil, cancelled("the server stopped"), false)
	case errors.Is(cause, ErrCancelled):
		t.end(e, Cancelled, nil, cancelled("cancelled"), true)
	default:
		t.end(e, Failed, nil, failure, true)
	}
}

// call runs the job's work. A panic fails the job alone.
func (t *Table) call(ctx context.Context, k *Task) (result json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.c.Logger.Error("job panicked", "job", k.ID, "tool", k.Tool, "panic", p, "stack", string(debug.Stack()))
			result, err = nil, &Failure{Code: CodeInternal, Message: "the job failed inside; the server's log says where"}
		}
	}()
	return t.c.Run(ctx, k)
}

func failureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Code: CodeInternal, Message: err.Error()}
}

func cancelled(why string) *Failure { return &Failure{Code: CodeCancelled, Message: why} }

// again queues a job for another try after a pause. The table is locked.
func (t *Table) again(e *entry, f *Failure) {
	t.running--
	t.stats.Retried++
	pause := t.backoff(e.status.Attempt)
	t.c.Logger.Info("job failed, it is tried again", "job", e.status.ID, "attempt", e.status.Attempt, "pause", pause, "error", f)
	e.status.State, e.status.Phase, e.status.Updated = Queued, PhaseRetrying, time.Now()
	t.publish(e, 0)
	e.retry = time.AfterFunc(pause, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if e.retry == nil || t.closed {
			return
		}
		e.retry = nil
		e.status.Phase = ""
		t.lanes.push(e)
		t.dispatch()
	})
	t.dispatch()
}

// backoff is the pause after a try: doubled each time, bounded, and a quarter
// more or less so that jobs that failed together do not come back together.
func (t *Table) backoff(attempt int) time.Duration {
	pause := min(maxBackoff, t.c.Backoff<<min(attempt-1, 16))
	return time.Duration(float64(pause) * (0.75 + rand.Float64()/2))
}

// end writes a job's end down and makes it known. The caller has set e.ending.
// durable is false for a job that another process is to do.
func (t *Table) end(e *entry, state State, result json.RawMessage, f *Failure, durable bool) {
	now := time.Now()
	if durable {
		t.writeEnd(e, state, result, f, now)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.status.State == Running {
		t.running--
	}
	t.unclaim(e)
	t.settle(e, state, result, f, now)
	t.publish(e, 0)
	switch state {
	case Completed:
		t.stats.Completed++
	case Failed:
		t.stats.Failed++
	case Cancelled:
		t.stats.Cancelled++
	}
	close(e.done)
	t.forgetWatchers(e)
	t.expire()
	t.dispatch()
}

// settle puts a job among those that have ended.
func (t *Table) settle(e *entry, state State, result json.RawMessage, f *Failure, at time.Time) {
	e.status.State, e.status.Phase, e.status.Failure = state, "", f
	e.status.Updated, e.status.Expires = at, at.Add(t.c.TTL)
	e.result = result
	e.req.Args, e.req.Images = nil, nil
	e.text.Reset()
	t.stats.ResultBytes += int64(len(result))
	t.ended = append(t.ended, e)
}

// forgetWatchers lets go of the watchers of a job that has ended: its final
// event is with them.
func (t *Table) forgetWatchers(e *entry) {
	for w := range t.watchers {
		if w.id == e.status.ID {
			delete(t.watchers, w)
		}
	}
}

// expire drops ended jobs that are too old or too many, and sets the timer for
// the next. A closed table drops nothing: jobs that its end cut short count as
// ended, and the next table on the folder needs their records. The table is
// locked.
func (t *Table) expire() {
	if t.closed {
		return
	}
	now := time.Now()
	for len(t.ended) > 0 {
		e := t.ended[0]
		if now.Before(e.status.Expires) && len(t.ended) <= t.c.MaxResults && t.stats.ResultBytes <= t.c.MaxResultBytes {
			break
		}
		t.ended = t.ended[1:]
		t.stats.ResultBytes -= int64(len(e.result))
		delete(t.jobs, e.status.ID)
		if t.keys[e.status.Key] == e {
			delete(t.keys, e.status.Key)
		}
		t.drop(e.status.ID)
	}
	if t.expiry != nil {
		t.expiry.Stop()
		t.expiry = nil
	}
	if len(t.ended) > 0 {
		t.expiry = time.AfterFunc(time.Until(t.ended[0].status.Expires), func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.expire()
		})
	}
}

// Cancel ends a job: at once when it waits, and as soon as its work lets go
// when it runs. Cancelling a job that has ended changes nothing.
//
// # Errors
//
// Those of [Table.Status].
func (t *Table) Cancel(id string) (Status, error) {
	t.mu.Lock()
	e, err := t.find(id)
	if err != nil {
		t.mu.Unlock()
		return Status{}, err
	}
	waiting := !e.ending && e.status.State == Queued
	switch {
	case waiting:
		e.ending = true
		t.withdraw(e)
	case e.status.State == Running && !e.doomed:
		e.doomed = true
		e.status.Phase = "cancelling"
		e.cancel(ErrCancelled)
	}
	if waiting {
		t.working.Add(1)
		t.mu.Unlock()
		t.end(e, Cancelled, nil, cancelled("cancelled"), true)
		t.working.Done()
		t.mu.Lock()
	}
	defer t.mu.Unlock()
	return t.status(e), nil
}

// withdraw takes a queued job from where it waits. The table is locked.
func (t *Table) withdraw(e *entry) {
	if e.retry != nil {
		e.retry.Stop()
		e.retry = nil
	}
	t.lanes.remove(e)
}

// Close takes no more jobs, lets those that run go on until ctx ends, then
// cancels them and waits for their work to let go. Jobs that still wait are
// cancelled in a table without a journal; with one, they and those that were cut
// short are done by the next table on the folder. A second Close returns nil.
//
// # Errors
//
// Those of closing the journal.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	if t.expiry != nil {
		t.expiry.Stop()
	}
	var waiting, running []*entry
	for _, e := range t.jobs {
		switch {
		case e.status.State == Running:
			running = append(running, e)
		case e.status.State == Queued && !e.ending:
			e.ending = true
			t.withdraw(e)
			waiting = append(waiting, e)
		}
	}
	t.mu.Unlock()
	for _, e := range waiting {
		t.end(e, Cancelled, nil, cancelled("the server stopped"), false)
	}
	stop := context.AfterFunc(ctx, func() {
		for _, e := range running {
			e.cancel(ErrClosed)
		}
	})
	t.working.Wait()
	stop()
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.watchers {
		w.end()
		delete(t.watchers, w)
	}
	return t.closeJournal()
}

// phase notes what a running job does now.
func (t *Table) phase(e *entry, attempt int, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.live(e, attempt) || e.status.Phase == name {
		return
	}
	e.status.Phase, e.status.Updated = name, time.Now()
	t.publish(e, 0)
}

// maxText bounds the text of an answer that is kept for watchers, in bytes; a
// longer one goes on without.
const maxText = 4 << 20

func (t *Table) delta(e *entry, attempt int, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" || !t.live(e, attempt) || e.text.Len()+len(text) > maxText {
		return
	}
	e.text.WriteString(text)
	e.status.Updated = time.Now()
	t.publish(e, len(text))
}

// live reports whether a try is the one that runs now.
func (t *Table) live(e *entry, attempt int) bool {
	return e.status.State == Running && e.status.Attempt == attempt && !e.doomed
}
