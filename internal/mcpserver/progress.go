package mcpserver

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/tools"
)

// progressEvery is how often a client that asked for progress hears of a call,
// well under the 60 s after which clients give up.
const progressEvery = 5 * time.Second

// withProgress reports a call's progress to a client that sent a progress
// token: from now on, at every change of phase and every few seconds. stop must
// be called before the answer; it waits for the last notification.
func withProgress(ctx context.Context, req *mcp.CallToolRequest) (_ context.Context, stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return ctx, func() {}
	}
	p := &progress{start: time.Now(), phase: "queued", changed: make(chan struct{}, 1), stop: make(chan struct{})}
	var wait sync.WaitGroup
	wait.Go(func() { p.run(ctx, req.Session, token) })
	var once sync.Once
	return tools.WithProgress(ctx, p.report), func() {
		once.Do(func() { close(p.stop) })
		wait.Wait()
	}
}

type progress struct {
	start   time.Time
	changed chan struct{} // the phase is another
	stop    chan struct{}

	mu          sync.Mutex
	phase       string
	done, total float64
}

func (p *progress) report(phase string, done, total float64) {
	p.mu.Lock()
	other := phase != p.phase
	p.phase, p.done, p.total = phase, done, total
	p.mu.Unlock()
	if other {
		select {
		case p.changed <- struct{}{}:
		default:
		}
	}
}

// run sends notifications. Progress counts seconds: it rises whatever the call
// is doing.
func (p *progress) run(ctx context.Context, session *mcp.ServerSession, token any) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	last := 0.0
	for {
		last = max(last+0.001, time.Since(p.start).Seconds())
		err := session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: last, Message: p.words()})
		if err != nil {
			return
		}
		select {
		case <-p.stop:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.changed:
		}
	}
}

func (p *progress) words() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.total > 0:
		return fmt.Sprintf("%s (%g of %g)", p.phase, p.done, p.total)
	case p.done > 0:
		return fmt.Sprintf("%s (%g)", p.phase, p.done)
	}
	return p.phase
}
