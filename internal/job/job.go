// Package job runs work that outlives the call that asked for it: a bounded
// table of jobs with their states, results that can be read until they expire,
// and a stream of events. It knows nothing of images or models: [Config.Run]
// does the work.
//
// A job is queued, then running, then one of completed, failed and cancelled,
// in which it stays. A failure that another try may cure makes a running job
// queued again. Jobs of different clients start in turn.
package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// State is where a job is in its life.
type State string

// The states. The last three are final.
const (
	Queued    State = "queued"
	Running   State = "running"
	Completed State = "completed"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether a job in this state has ended.
func (s State) Final() bool { return s == Completed || s == Failed || s == Cancelled }

// Errors of the table.
var (
	// ErrUnknown says that no such job was ever started here.
	ErrUnknown = errors.New("there is no such job")
	// ErrExpired says that the job was here, and its result has been dropped.
	ErrExpired = errors.New("the job has expired")
	// ErrRestarted says that the job belonged to an earlier process.
	ErrRestarted = errors.New("the job was lost when the server restarted")
	// ErrNotDone says that the job has no result yet.
	ErrNotDone = errors.New("the job has not ended")
	// ErrConflict says that a key is taken by a job with other arguments.
	ErrConflict = errors.New("the request id belongs to a job with other arguments")
	// ErrCancelled is the cause of a cancelled job's context.
	ErrCancelled = errors.New("the job was cancelled")
	// ErrClosed says that the table takes no more jobs; it is also the cause of
	// the context of jobs that Close stopped.
	ErrClosed = errors.New("the job table is closed")
)

// FullError says that there is no room for another job.
type FullError struct {
	Limit   string // name of the limit that was hit
	Have    int64  // how much of it is taken, the refused job not counted
	Max     int64
	Waiting int // jobs that wait to be run
}

// Error names the limit and its value.
func (e *FullError) Error() string {
	return fmt.Sprintf("no room for another job: %s is %d and %d are taken (%d jobs wait)", e.Limit, e.Max, e.Have, e.Waiting)
}

// Failure is why a job failed. Run returns one for a failure with a code of its
// own; any other error becomes one of code INTERNAL.
type Failure struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Body    json.RawMessage `json:"body,omitempty"` // the failure as clients of the work see it, may be empty
	Retry   bool            `json:"-"`              // another try can help
}

// Error says the code and the message.
func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Codes of failures that are the table's own.
const (
	CodeInternal  = "INTERNAL"  // Run gave none
	CodeCancelled = "CANCELLED" // by Cancel, or by the end of the server
)

// Defaults of [Config].
const (
	DefaultDepth          = 64
	DefaultWorkers        = 2
	DefaultRetries        = 2
	DefaultBackoff        = time.Second
	DefaultTTL            = 15 * time.Minute
	DefaultMaxResults     = 1024
	DefaultMaxResultBytes = 256 << 20
	DefaultMaxInputBytes  = 256 << 20
)

// maxBackoff bounds the pause before another try.
const maxBackoff = 30 * time.Second

// Config makes a [Table]. Run is required; every other zero is a default.
type Config struct {
	// Run does a job's work and returns its result. Its context ends when the
	// job is cancelled or the table closes.
	Run func(ctx context.Context, t *Task) (json.RawMessage, error)

	Depth     int // jobs waiting and running; 0 is 64
	PerClient int // of them those of one client; 0 is a quarter of Depth. Jobs without a client have no such limit
	Workers   int // jobs running at once; 0 is 2

	Retries int           // tries after the first; 0 is 2, negative is none
	Backoff time.Duration // before the second try, doubled for each further, up to 30 s, with up to a quarter more or less by chance; 0 is 1 s

	TTL            time.Duration // how long an ended job can be read; 0 is 15 minutes
	MaxResults     int           // ended jobs kept, oldest dropped first; 0 is 1024
	MaxResultBytes int64         // of their results together; 0 is 256 MiB
	MaxInputBytes  int64         // arguments and images of jobs that have not ended; 0 is 256 MiB

	Dir    string       // folder of the journal; "" keeps jobs in memory only
	Logger *slog.Logger // nil discards
}

func (c *Config) fill() error {
	if c.Run == nil {
		return errors.New("job: Config.Run is missing")
	}
	for _, v := range []struct {
		name  string
		value *int
		def   int
	}{
		{"Depth", &c.Depth, DefaultDepth}, {"Workers", &c.Workers, DefaultWorkers},
		{"MaxResults", &c.MaxResults, DefaultMaxResults}, {"PerClient", &c.PerClient, 0},
	} {
		if *v.value < 0 {
			return fmt.Errorf("job: Config.%s is negative", v.name)
		}
		if *v.value == 0 {
			*v.value = v.def
		}
	}
	if c.PerClient == 0 {
		c.PerClient = max(1, c.Depth/4)
	}
	if c.TTL < 0 || c.Backoff < 0 || c.MaxResultBytes < 0 || c.MaxInputBytes < 0 {
		return errors.New("job: a time or size in Config is negative")
	}
	if c.Retries == 0 {
		c.Retries = DefaultRetries
	}
	c.Retries = max(0, c.Retries)
	if c.Backoff == 0 {
		c.Backoff = DefaultBackoff
	}
	if c.TTL == 0 {
		c.TTL = DefaultTTL
	}
	if c.MaxResultBytes == 0 {
		c.MaxResultBytes = DefaultMaxResultBytes
	}
	if c.MaxInputBytes == 0 {
		c.MaxInputBytes = DefaultMaxInputBytes
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Request is a job to be done.
type Request struct {
	// Client is whose job it is, for fairness: any comparable value. It is not
	// kept in the journal.
	Client any
	// Key is the caller's own name for the job, "" for none. A second request
	// with the key and the same tool, arguments and images is the same job.
	Key    string
	Tool   string          // what to do, for Run
	Args   json.RawMessage // its arguments, compared byte by byte
	Images [][]byte        // encoded images, kept out of the journal's records
}

func (r *Request) size() int64 {
	n := int64(len(r.Args))
	for _, b := range r.Images {
		n += int64(len(b))
	}
	return n
}

// Status is what is known of a job.
type Status struct {
	ID       string
	Key      string
	Tool     string
	State    State
	Phase    string // what a running job does, in Run's words; "retrying" while a queued one waits for another try
	Attempt  int    // tries begun
	Position int    // jobs that start before this one; 0 when it is next or not queued
	Seq      uint64 // of the job's last event
	Created  time.Time
	Updated  time.Time
	Expires  time.Time // when an ended job is dropped, zero before
	Failure  *Failure  // of a failed or cancelled job
}

// PhaseRetrying is the phase of a queued job that waits for another try.
const PhaseRetrying = "retrying"

// Stats are counts of the table.
type Stats struct {
	Depth    int
	Waiting  int // queued jobs
	Running  int
	Retained int // ended jobs that can still be read

	InputBytes  int64 // held for jobs that have not ended
	ResultBytes int64 // held for jobs that have

	// Since the table was made.
	Started, Completed, Failed, Cancelled, Retried, Rejected uint64
	DroppedEvents                                            uint64 // events that slow watchers lost
}

// Task is a job as [Config.Run] sees it.
type Task struct {
	ID      string
	Tool    string
	Args    json.RawMessage
	Client  any // nil for a job taken over from an earlier process
	Attempt int // 1 at the first try

	table *Table
	entry *entry
}

// Phase says what the job does now.
func (k *Task) Phase(name string) { k.table.phase(k.entry, k.Attempt, name) }

// Delta adds a piece of the answer to the job's events, as it comes.
func (k *Task) Delta(text string) { k.table.delta(k.entry, k.Attempt, text) }

// Images returns the job's images.
//
// # Errors
//
// Those of reading them from the folder of a journal.
func (k *Task) Images() ([][]byte, error) { return k.table.images(k.entry) }
