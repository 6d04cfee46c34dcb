package ocr

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Defaults of [Config].
const (
	DefaultIdle    = 60 * time.Second
	DefaultTimeout = 30 * time.Second
	DefaultRecycle = 1000
	mostWorkers    = 4
)

// Config of a [Recognizer].
type Config struct {
	Engine  Engine
	Workers int           // clients at once; 0 is one a processor, 4 at most
	Idle    time.Duration // after which an unused client is closed; 0 is 60 s
	Recycle int           // pages after which a client is replaced; 0 is 1000
	Timeout time.Duration // for one picture; 0 is 30 s
}

// Recognizer reads pictures with a pool of clients, made when they are needed
// and closed when they are not. It is safe for concurrent use.
type Recognizer struct {
	c     Config
	slots chan struct{}

	mu     sync.Mutex
	idle   []*pooled // unused clients, the latest last
	timer  *time.Timer
	closed bool
	busy   sync.WaitGroup
}

// pooled is a client with what the pool must know.
type pooled struct {
	Client
	languages string
	pages     int
	since     time.Time // unused since
}

// New returns a Recognizer. It starts nothing.
func New(c Config) *Recognizer {
	if c.Engine == nil {
		c.Engine = First()
	}
	if c.Workers <= 0 {
		c.Workers = min(runtime.GOMAXPROCS(0), mostWorkers)
	}
	if c.Idle <= 0 {
		c.Idle = DefaultIdle
	}
	if c.Recycle <= 0 {
		c.Recycle = DefaultRecycle
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	return &Recognizer{c: c, slots: make(chan struct{}, c.Workers)}
}

// Info looks for the engine. The error wraps [ErrUnavailable] and says what to
// install.
func (r *Recognizer) Info(ctx context.Context) (Info, error) { return r.c.Engine.Info(ctx) }

// Close waits for the pictures that are being read and closes the clients. A
// second Close returns nil.
func (r *Recognizer) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	r.mu.Unlock()
	r.busy.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer != nil {
		r.timer.Stop()
	}
	var errs []error
	for _, c := range r.idle {
		errs = append(errs, c.Close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// enter takes a place among the workers.
func (r *Recognizer) enter(ctx context.Context) (leave func(), err error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil, ErrClosed
	}
	r.busy.Add(1)
	r.mu.Unlock()
	select {
	case r.slots <- struct{}{}:
		return func() { <-r.slots; r.busy.Done() }, nil
	case <-ctx.Done():
		r.busy.Done()
		return nil, context.Cause(ctx)
	}
}

// read reads one page with a client of the pool. A client that failed is not
// used again.
func (r *Recognizer) read(ctx context.Context, languages []string, page prepared, seg Segmentation, whitelist string) ([]Word, error) {
	c, err := r.client(ctx, languages)
	if err != nil {
		return nil, err
	}
	words, err := c.Read(ctx, page.gray, PageOptions{Segmentation: seg, Whitelist: whitelist})
	c.pages++
	if err != nil || c.pages >= r.c.Recycle {
		return words, errors.Join(err, c.Close())
	}
	r.keep(c)
	return words, nil
}

// client takes an unused client of the languages, or makes one.
func (r *Recognizer) client(ctx context.Context, languages []string) (*pooled, error) {
	key := LanguageArgument(languages)
	r.mu.Lock()
	for i := len(r.idle) - 1; i >= 0; i-- {
		if c := r.idle[i]; c.languages == key {
			r.idle = append(r.idle[:i], r.idle[i+1:]...)
			r.mu.Unlock()
			return c, nil
		}
	}
	var old *pooled
	if len(r.idle) > 0 && len(r.idle)+1 > r.c.Workers { // of other languages
		old, r.idle = r.idle[0], r.idle[1:]
	}
	r.mu.Unlock()
	if old != nil {
		if err := old.Close(); err != nil {
			return nil, err
		}
	}
	c, err := r.c.Engine.NewClient(ctx, languages)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", key, err)
	}
	return &pooled{Client: c, languages: key}, nil
}

func (r *Recognizer) keep(c *pooled) {
	c.since = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, c)
	if r.timer == nil {
		r.timer = time.AfterFunc(r.c.Idle, r.sweep)
	}
}

// sweep closes the clients that have not been used for long.
func (r *Recognizer) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = nil
	if r.closed {
		return
	}
	n := 0
	for n < len(r.idle) && time.Since(r.idle[n].since) >= r.c.Idle {
		r.idle[n].Close() //nolint:errcheck // it is not used any more
		n++
	}
	r.idle = r.idle[n:]
	if len(r.idle) > 0 {
		r.timer = time.AfterFunc(r.c.Idle-time.Since(r.idle[0].since), r.sweep)
	}
}
