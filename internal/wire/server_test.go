package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/wire"
)

// tools is a server whose tools do what tests need.
type tools struct {
	*mcp.Server
	started   chan string // names of "wait" calls that run
	cancelled chan error  // causes of "wait" calls that were cancelled
	release   chan struct{}
	clients   chan any // who called "who"
}

func newTools() *tools {
	s := &tools{
		Server:    mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}}),
		started:   make(chan string, 100),
		cancelled: make(chan error, 100),
		release:   make(chan struct{}),
		clients:   make(chan any, 100),
	}
	wire.Prepare(s.Server, nil)
	s.add("echo", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var a struct{ Text string }
		if err := json.Unmarshal(r.Params.Arguments, &a); err != nil {
			return nil, err
		}
		return text(a.Text), nil
	})
	s.add("size", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text(fmt.Sprint(len(r.Params.Arguments))), nil
	})
	s.add("wait", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.started <- string(r.Params.Arguments)
		select {
		case <-ctx.Done():
			s.cancelled <- context.Cause(ctx)
			return nil, ctx.Err()
		case <-s.release:
			return text("done"), nil
		}
	})
	s.add("big", func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if t := r.Params.GetProgressToken(); t != nil {
			for i := range 3 {
				if err := r.Session.NotifyProgress(context.Background(), &mcp.ProgressNotificationParams{ProgressToken: t, Progress: float64(i + 1)}); err != nil {
					return nil, err
				}
			}
		}
		return text(strings.Repeat("x", 256<<10)), nil
	})
	s.add("who", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.clients <- admission.Client(ctx)
		return text("ok"), nil
	})
	s.add("panics", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })
	s.add("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("it failed")
	})
	return s
}

func (s *tools) add(name string, h mcp.ToolHandler) {
	s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// settled fails the test when goroutines remain that were not there before.
func settled(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		deadline := time.Now().Add(5 * time.Second)
		for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
			runtime.Gosched()
		}
		if n := runtime.NumGoroutine(); n > before {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d after:\n%s", before, n, buf[:runtime.Stack(buf, true)])
		}
	})
}
