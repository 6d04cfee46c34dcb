package visions

import (
	"context"
	"time"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/tools"
)

// CallInfo is what [OnCall] is told of a call.
type CallInfo struct {
	Tool   string
	Client any // the client's key: equal for calls of one client, nil for the host's own
}

// OnCall is a host's hook around calls. It may refuse one by an error, which the
// client sees; an [*Error] keeps its code. The returned function, which may be
// nil, is called when the call has ended, with its error.
//
// Both are given 5 seconds: a hook that takes longer refuses its call, or is
// left behind, and the server goes on.
type OnCall func(ctx context.Context, call CallInfo) (done func(err error), err error)

// hookTime is how long a hook may take.
const hookTime = 5 * time.Second

// before runs the hook. The returned function is never nil.
func (e *Engine) before(ctx context.Context, tool string) (func(error), error) {
	if e.onCall == nil {
		return func(error) {}, nil
	}
	var done func(error)
	err := e.hook(ctx, tool, func(ctx context.Context) (err error) {
		done, err = e.onCall(ctx, CallInfo{Tool: tool, Client: admission.Client(ctx)})
		return err
	})
	if err != nil {
		return nil, err
	}
	return func(result error) {
		if done == nil {
			return
		}
		err := e.hook(context.WithoutCancel(ctx), tool, func(context.Context) error { done(result); return nil })
		if err != nil {
			e.log.Error("the OnCall hook failed after a call", "tool", tool, "error", err)
		}
	}, nil
}

// hook runs f with a time limit, in its own goroutine because a host's function
// cannot be made to return.
func (e *Engine) hook(ctx context.Context, tool string, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				e.log.Error("the OnCall hook panicked", "tool", tool, "panic", p)
				result <- tools.Errorf(tools.Internal, "%s: the host's hook failed", tool)
			}
		}()
		result <- f(ctx)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return tools.Errorf(tools.Internal, "%s: the host's hook did not return within %s", tool, hookTime)
	}
}
