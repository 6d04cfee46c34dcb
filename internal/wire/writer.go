package wire

import (
	"io"
	"sync"
	"time"
)

const (
	joinBytes  = 64 << 10 // frames up to this size go out in one write
	writeBytes = 1 << 20  // longer ones in writes of this size, each with its own deadline
)

type writeDeadliner interface{ SetWriteDeadline(time.Time) error }

// writer puts whole frames on the stream, one at a time.
type writer struct {
	mu       sync.Mutex
	w        io.Writer
	deadline writeDeadliner // nil where the stream has none
	timeout  time.Duration
	buf      []byte
	err      error
	failed   chan struct{} // closed with the first error
}

func newWriter(w io.Writer, timeout time.Duration) *writer {
	d, _ := w.(writeDeadliner)
	return &writer{w: w, deadline: d, timeout: timeout, failed: make(chan struct{})}
}

// frame writes the parts and a line end. After an error nothing is written
// any more: half a frame may be on the stream.
func (o *writer) frame(parts ...[]byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := 1
	for _, p := range parts {
		size += len(p)
	}
	if size > joinBytes {
		for _, p := range parts {
			o.write(p)
		}
		o.write([]byte{'\n'})
		return o.err
	}
	o.buf = o.buf[:0]
	for _, p := range parts {
		o.buf = append(o.buf, p...)
	}
	o.buf = append(o.buf, '\n')
	o.write(o.buf)
	return o.err
}

func (o *writer) write(b []byte) {
	for len(b) > 0 && o.err == nil {
		n := min(len(b), writeBytes)
		if o.deadline != nil && o.deadline.SetWriteDeadline(time.Now().Add(o.timeout)) != nil {
			o.deadline = nil
		}
		if _, o.err = o.w.Write(b[:n]); o.err != nil {
			close(o.failed)
		}
		b = b[n:]
	}
}

// failure returns the error that stopped the writer.
func (o *writer) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// give returns the stream to its owner without a deadline of ours.
func (o *writer) give() {
	if d, ok := o.w.(writeDeadliner); ok && o.mu.TryLock() {
		d.SetWriteDeadline(time.Time{}) //nolint:errcheck // a stream without deadlines has none to clear
		o.mu.Unlock()
	}
}
