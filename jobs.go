package visions

import (
	"fmt"

	"github.com/visions-mcp/visions/internal/job"
	"github.com/visions-mcp/visions/tools"
)

// JobEvent is a change of a job: its state, phase and place in the queue, and
// the text that came since the last event.
type JobEvent = job.Event

// JobWatcher is a bounded stream of a job's events, in order. Nothing waits for
// it: one that is too slow loses events, which a gap in Seq shows, but never the
// last one.
type JobWatcher = job.Watcher

// Watch begins to watch the job of an id, or all jobs when it is empty. A job's
// events begin with its state now and end with its final state. Close the
// watcher when done.
//
// # Errors
//
// [ErrClosed] after Close; an [*Error] of code JOB_UNKNOWN, JOB_EXPIRED or
// JOB_RESTARTED.
func (e *Engine) Watch(id string) (*JobWatcher, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: the Engine is nil", ErrInvalid)
	}
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	w, err := e.env.Jobs.Watch(id)
	if err != nil {
		return nil, tools.AsError(err)
	}
	return w, nil
}
