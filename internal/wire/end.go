package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// hangupEvery is how often a half-closed stream is asked whether its other
// half still has a reader.
const hangupEvery = 50 * time.Millisecond

// serve waits for the end. It returns read while the reader may still run, nil
// after it has ended.
func (c *Conn) serve(ctx context.Context, read chan error) (chan error, error) {
	var limit, hangup, idle <-chan time.Time
	if c.o.IdleTimeout > 0 {
		t := time.NewTicker(max(c.o.IdleTimeout/8, time.Millisecond))
		defer t.Stop()
		idle = t.C
	}
	pause := time.NewTicker(max(c.o.PauseTimeout/8, time.Millisecond))
	defer pause.Stop()
	stop, stopping := c.stop, false
	for {
		if (read == nil || stopping) && c.unanswered() == 0 {
			return read, c.out.failure()
		}
		select {
		case err := <-read:
			read = nil
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			limit = time.After(c.o.CloseTimeout)
			t := time.NewTicker(hangupEvery)
			defer t.Stop()
			hangup = t.C
			c.cancelSubscriptions()
		case <-stop:
			stop, stopping = nil, true
			c.cancelSubscriptions()
		case <-c.changed:
		case <-hangup:
			if peerGone(c.w) {
				return nil, nil
			}
		case <-idle:
			if c.unanswered() == 0 && c.silence() >= c.o.IdleTimeout {
				c.o.Logger.Info("an idle connection was ended", "IdleTimeout", c.o.IdleTimeout)
				return read, nil
			}
		case <-pause.C:
			if held := c.partial.Load(); held > pauseBytes && c.silence() >= c.o.PauseTimeout {
				c.o.Logger.Warn("a connection was ended: its message stopped half-way", "bytes", held, "PauseTimeout", c.o.PauseTimeout)
				return read, c.refuse(nil, rpcError(jsonrpc.CodeInvalidRequest,
					fmt.Sprintf("invalid request: the message stopped after %d bytes for PauseTimeout (%v); the connection ends", held, c.o.PauseTimeout)))
			}
		case <-limit:
			return nil, nil
		case <-ctx.Done():
			return read, context.Cause(ctx)
		case <-c.out.failed:
			return read, c.out.failure()
		case <-c.abort:
			return read, nil
		}
	}
}

// silence is how long no byte has come or gone.
func (c *Conn) silence() time.Duration { return time.Since(time.Unix(0, c.lastUse.Load())) }

func (c *Conn) unanswered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pending
}

// cancelSubscriptions ends the calls that last until they are cancelled.
func (c *Conn) cancelSubscriptions() {
	c.cancelCalls(func(k *call) bool { return k.method == "subscriptions/listen" })
}

func (c *Conn) cancelCalls(which func(*call) bool) {
	c.mu.Lock()
	var hit []*call
	for _, k := range c.calls {
		if k.session != nil && which(k) {
			hit = append(hit, k)
		}
	}
	c.mu.Unlock()
	for _, k := range hit {
		k.session.cancel(k.key)
	}
}

// finish cancels what is left, ends the sessions and joins the reader.
func (c *Conn) finish(read chan error) error {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	joined := c.stopReading(read)
	grace, cancel := context.WithTimeout(context.Background(), cancelGrace)
	defer cancel()
	c.cancelCalls(func(*call) bool { return true })
	for c.unanswered() > 0 && c.out.failure() == nil {
		select {
		case <-c.changed:
			continue
		case <-c.out.failed:
		case <-grace.Done():
		}
		break
	}
	err := c.endSessions(grace)
	for _, k := range c.leftovers() {
		c.release(k)
	}
	if c.o.Close {
		closeStream(c.w)
	} else {
		c.out.give()
	}
	if !joined && c.o.Close {
		<-read
	}
	return err
}

// leftovers empties the table of calls: those that no handler answered.
func (c *Conn) leftovers() []*call {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := slices.Collect(maps.Values(c.calls))
	clear(c.calls)
	return left
}

// stopReading ends the reader's Read and reports whether the reader is gone.
func (c *Conn) stopReading(read chan error) bool {
	if read == nil {
		return true
	}
	d, ok := c.r.(interface{ SetReadDeadline(time.Time) error })
	if ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		<-read
		d.SetReadDeadline(time.Time{}) //nolint:errcheck // it could be set, so it can be cleared
		return true
	}
	if c.o.Close && closeStream(c.r) {
		<-read
		return true
	}
	return false
}

// closeStream closes s where it can be closed.
func closeStream(s any) bool {
	closer, ok := s.(io.Closer)
	return ok && closer.Close() == nil
}

// endSessions closes the SDK's sessions and waits for their handlers.
func (c *Conn) endSessions(grace context.Context) error {
	c.smu.Lock()
	defer c.smu.Unlock()
	c.closed = true
	ended := make(chan struct{}, eras)
	open := 0
	for _, s := range c.sessions {
		if s == nil {
			continue
		}
		open++
		s.Close() //nolint:errcheck // it returns nil
		go func() {
			s.sdk.Close() //nolint:errcheck // the stream's error is known already
			ended <- struct{}{}
		}()
	}
	for range open {
		select {
		case <-ended:
		case <-grace.Done():
			return fmt.Errorf("wire: %d calls did not return within %v of being cancelled and were left behind", c.unanswered(), cancelGrace)
		}
	}
	return nil
}
