package job

import (
	"context"
	"slices"
	"sync"
)

// Event is a change of a job.
type Event struct {
	Status
	// First is the number of the first event that this one stands for, Seq of
	// the last: pieces of text that a watcher did not take in time come joined.
	// An event whose First is not one more than the Seq before follows a gap.
	First uint64
	// Delta is the text that came since the last event. It starts anew when
	// Attempt has grown.
	Delta string
	// Snapshot marks the first event of a watched job: its state when the watch
	// began, and in Delta all text so far.
	Snapshot bool

	text string // all text of this try so far; Delta is text[from:]
	from int
}

// maxPending bounds the events that wait for one watcher. A model's tokens join
// in one, so this many are state changes of jobs that nobody looks at.
const maxPending = 64

// Watcher is a bounded stream of events, in order. Nothing waits for a watcher:
// one that is too slow loses the oldest events that are not a job's last.
type Watcher struct {
	table *Table
	id    string // "" watches every job

	mu      sync.Mutex
	pending []Event
	wake    chan struct{} // holds one token when something is pending
	closed  bool
}

// Watch begins to watch a job, or all jobs when id is empty. The events of one
// job begin with a snapshot of its state and end with its final event, after
// which [Watcher.Next] says that there are no more. Close it when done.
//
// # Errors
//
// [ErrUnknown], [ErrExpired], [ErrRestarted]; [ErrClosed] after Close.
func (t *Table) Watch(id string) (*Watcher, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := &Watcher{table: t, id: id, wake: make(chan struct{}, 1)}
	if id != "" {
		e, err := t.find(id)
		if err != nil {
			return nil, err
		}
		w.push(Event{Status: t.status(e), First: 1, Delta: e.text.String(), Snapshot: true, text: e.text.String()})
		if e.status.State.Final() {
			return w, nil
		}
	}
	if t.closed {
		return nil, ErrClosed
	}
	t.watchers[w] = struct{}{}
	return w, nil
}

// Next waits for the next event. ok is false when there will be none: the job's
// final event was taken, the watcher or the table was closed, or ctx ended.
func (w *Watcher) Next(ctx context.Context) (ev Event, ok bool) {
	for {
		w.mu.Lock()
		if len(w.pending) > 0 {
			ev = w.pending[0]
			w.pending = w.pending[1:]
			if w.id != "" && ev.State.Final() {
				w.closed = true
			}
			w.mu.Unlock()
			return ev, true
		}
		closed := w.closed
		w.mu.Unlock()
		if closed {
			return Event{}, false
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return Event{}, false
		}
	}
}

// Close ends the watch; a Next that waits returns. A second Close does nothing.
func (w *Watcher) Close() {
	w.table.mu.Lock()
	delete(w.table.watchers, w)
	w.table.mu.Unlock()
	w.end()
}

// end lets Next give what is pending and nothing more.
func (w *Watcher) end() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// push adds an event and returns how many were dropped for it.
func (w *Watcher) push(ev Event) (dropped uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0
	}
	if n := len(w.pending); n > 0 && ev.Delta != "" && !ev.State.Final() {
		if last := &w.pending[n-1]; last.ID == ev.ID && last.Attempt == ev.Attempt && last.State == ev.State && last.Delta != "" {
			ev.First, ev.Snapshot, ev.from = last.First, last.Snapshot, last.from
			ev.Delta = ev.text[ev.from:]
			*last = ev
			w.signal()
			return 0
		}
	}
	if len(w.pending) >= maxPending {
		oldest := slices.IndexFunc(w.pending, func(e Event) bool { return !e.State.Final() })
		w.pending = slices.Delete(w.pending, max(0, oldest), max(0, oldest)+1)
		dropped = 1
	}
	w.pending = append(w.pending, ev)
	w.signal()
	return dropped
}

// publish tells the watchers of a job's change, of which the last delta bytes of
// its text are part. The table is locked.
func (t *Table) publish(e *entry, delta int) {
	e.status.Seq++
	if len(t.watchers) == 0 {
		return
	}
	text := e.text.String()
	from := len(text) - delta
	ev := Event{Status: t.status(e), First: e.status.Seq, Delta: text[from:], text: text, from: from}
	for w := range t.watchers {
		if w.id != "" && w.id != e.status.ID {
			continue
		}
		t.stats.DroppedEvents += w.push(ev)
	}
}
