package job

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Table holds the jobs. It is safe for concurrent use.
type Table struct {
	c       Config
	journal *journal // nil keeps jobs in memory only
	blobs   *blobs   // images of a table with a journal
	lock    io.Closer

	mu       sync.Mutex
	ids      issuer
	jobs     map[string]*entry
	keys     map[string]*entry
	clients  map[any]int // jobs that have not ended, by client
	open     int         // jobs that have not ended
	lanes    lanes
	running  int
	ended    []*entry // in the order in which they ended
	watchers map[*Watcher]struct{}
	stats    Stats
	expiry   *time.Timer
	closed   bool
	working  sync.WaitGroup // goroutines of the table
}

// entry is one job.
type entry struct {
	req    Request
	digest [sha256.Size]byte
	size   int64 // bytes of arguments and images
	status Status
	text   strings.Builder // of the answer so far

	stored chan struct{} // closed when the job is findable, or was refused
	refuse error         // why it was refused, set before stored is closed
	images []blobRef     // in the folder, of a table with a journal
	cancel context.CancelCauseFunc
	retry  *time.Timer
	ending bool // its end is being written
	doomed bool // cancelled while running

	result json.RawMessage
	done   chan struct{} // closed at the end
}

// New makes a table. With Config.Dir it takes over the jobs that an earlier
// process left there and begins to run those that had not ended.
//
// # Errors
//
// A missing Run or a negative setting; a folder that is not private, is in use
// by another process or cannot be read.
func New(c Config) (*Table, error) {
	if err := c.fill(); err != nil {
		return nil, err
	}
	t := &Table{
		c: c, ids: newIssuer(time.Now()), jobs: map[string]*entry{}, keys: map[string]*entry{},
		clients: map[any]int{}, watchers: map[*Watcher]struct{}{},
	}
	if c.Dir == "" {
		return t, nil
	}
	if err := t.recover(); err != nil {
		return nil, fmt.Errorf("job: the folder %s: %w", c.Dir, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expire()
	t.dispatch()
	return t, nil
}

// Start adds a job and returns when it can be found, and is on disk when the
// table has a journal. The status is that of a job already there when the key
// names it.
//
// # Errors
//
// [*FullError], [ErrConflict], [ErrClosed], what the journal says, or the cause
// of ctx when it ends while an equal job is being written.
func (t *Table) Start(ctx context.Context, r Request) (Status, error) {
	e := &entry{req: r, size: r.size(), digest: r.digest(), stored: make(chan struct{}), done: make(chan struct{})}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return Status{}, ErrClosed
	}
	if other := t.keys[r.Key]; r.Key != "" && other != nil {
		t.mu.Unlock()
		return t.same(ctx, other, e)
	}
	if err := t.room(e); err != nil {
		t.stats.Rejected++
		t.mu.Unlock()
		return Status{}, err
	}
	now := time.Now()
	e.status = Status{ID: t.ids.next(), Key: r.Key, Tool: r.Tool, State: Queued, Created: now, Updated: now}
	t.claim(e)
	t.working.Add(1)
	t.mu.Unlock()
	defer t.working.Done()

	err := t.write(e)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer close(e.stored)
	if err == nil && t.closed && t.journal == nil {
		err = ErrClosed
	}
	if err != nil {
		e.refuse = err
		t.unclaim(e)
		delete(t.keys, e.status.Key)
		return Status{}, err
	}
	t.jobs[e.status.ID] = e
	t.stats.Started++
	if t.closed { // the next table on the folder has it
		t.unclaim(e)
		t.settle(e, Cancelled, nil, cancelled("the server stopped"), now)
		close(e.done)
		return t.status(e), nil
	}
	t.lanes.push(e)
	t.publish(e, 0)
	t.dispatch()
	return t.status(e), nil
}

// same waits until the job that has the key is stored, and compares.
func (t *Table) same(ctx context.Context, other, e *entry) (Status, error) {
	if other.digest != e.digest {
		return Status{}, fmt.Errorf("%w: %q", ErrConflict, e.req.Key)
	}
	select {
	case <-other.stored:
	case <-ctx.Done():
		return Status{}, context.Cause(ctx)
	}
	if other.refuse != nil {
		return Status{}, other.refuse
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status(other), nil
}

// room says why there is no room for a job. The table is locked.
func (t *Table) room(e *entry) error {
	full := func(limit string, have, most int64) error {
		return &FullError{Limit: limit, Have: have, Max: most, Waiting: t.lanes.n}
	}
	switch client := e.req.Client; {
	case t.open >= t.c.Depth:
		return full("the number of jobs", int64(t.open), int64(t.c.Depth))
	case client != nil && t.clients[client] >= t.c.PerClient:
		return full("the number of jobs of one client", int64(t.clients[client]), int64(t.c.PerClient))
	case t.stats.InputBytes+e.size > t.c.MaxInputBytes:
		return full("the number of bytes in unfinished jobs", t.stats.InputBytes, t.c.MaxInputBytes)
	}
	return nil
}

// claim takes the places of a job that has not ended.
func (t *Table) claim(e *entry) {
	t.open++
	t.stats.InputBytes += e.size
	if e.req.Client != nil {
		t.clients[e.req.Client]++
	}
	if e.status.Key != "" {
		t.keys[e.status.Key] = e
	}
}

func (t *Table) unclaim(e *entry) {
	t.open--
	t.stats.InputBytes -= e.size
	if client := e.req.Client; client != nil {
		if t.clients[client]--; t.clients[client] == 0 {
			delete(t.clients, client)
		}
	}
}

// digest identifies what a request asks for.
func (r *Request) digest() [sha256.Size]byte {
	h := sha256.New()
	part := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	part([]byte(r.Tool))
	part(r.Args)
	for _, b := range r.Images {
		part(b)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// find returns a job that has been stored. The table is locked.
func (t *Table) find(id string) (*entry, error) {
	if e := t.jobs[id]; e != nil {
		return e, nil
	}
	return nil, t.ids.explain(id)
}

// status is a job's status now. The table is locked.
func (t *Table) status(e *entry) Status {
	s := e.status
	if s.State == Queued {
		s.Position = t.lanes.ahead(e)
	}
	return s
}

// Status returns what is known of a job.
//
// # Errors
//
// [ErrUnknown], [ErrExpired], [ErrRestarted].
func (t *Table) Status(id string) (Status, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.find(id)
	if err != nil {
		return Status{}, err
	}
	return t.status(e), nil
}

// Lookup returns the id of the job that was started with a key.
//
// # Errors
//
// [ErrUnknown].
func (t *Table) Lookup(key string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.keys[key]; e != nil && t.jobs[e.status.ID] == e {
		return e.status.ID, nil
	}
	return "", ErrUnknown
}

// Result returns what a completed job answered. It can be read again until it
// expires.
//
// # Errors
//
// Those of [Table.Status]; [ErrNotDone] before the end; the job's [*Failure].
func (t *Table) Result(id string) (json.RawMessage, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, err := t.find(id)
	switch {
	case err != nil:
		return nil, err
	case e.status.Failure != nil:
		return nil, e.status.Failure
	case !e.status.State.Final():
		return nil, ErrNotDone
	}
	return e.result, nil
}

// Wait waits until a job has ended and returns its status; when ctx ends first,
// the job goes on.
//
// # Errors
//
// Those of [Table.Status], and the cause of ctx.
func (t *Table) Wait(ctx context.Context, id string) (Status, error) {
	t.mu.Lock()
	e, err := t.find(id)
	t.mu.Unlock()
	if err != nil {
		return Status{}, err
	}
	select {
	case <-e.done:
	case <-ctx.Done():
		return Status{}, context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status(e), nil
}

// Do starts a job and waits for its result. When ctx ends first the job is
// cancelled, and Do returns after its work has let go.
//
// # Errors
//
// Those of [Table.Start], the job's [*Failure], or the cause of ctx.
func (t *Table) Do(ctx context.Context, r Request) (json.RawMessage, error) {
	s, err := t.Start(ctx, r)
	if err != nil {
		return nil, err
	}
	if _, err := t.Wait(ctx, s.ID); err != nil {
		if _, cancelErr := t.Cancel(s.ID); cancelErr == nil {
			_, waitErr := t.Wait(context.WithoutCancel(ctx), s.ID)
			err = errors.Join(err, waitErr)
		}
		return nil, err
	}
	return t.Result(s.ID)
}

// Stats returns the counts.
func (t *Table) Stats() Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.stats
	s.Depth, s.Waiting, s.Running, s.Retained = t.c.Depth, t.open-t.running, t.running, len(t.ended)
	return s
}
