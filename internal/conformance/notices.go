//lint:file-ignore SA1019 the suite tests what the protocol has deprecated, as long as it works

package conformance

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pause lies between two notifications of one call.
const pause = 50 * time.Millisecond

// wait returns early when ctx ends.
func wait(ctx context.Context) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// addNotices adds the tools that send notifications.
func addNotices(srv *mcp.Server) {
	add(srv, "test_tool_with_logging", "Logs three messages.", logThrice)
	add(srv, "test_logging_tool", "Logs a message where the request allows it.", logThrice)
	add(srv, "test_tool_with_progress", "Reports progress of 0, 50 and 100.", progress)
	add(srv, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add(srv, "test_fleeting_tool", "Comes and goes.", fixed())
		srv.RemoveTools("test_fleeting_tool")
		return say("changed"), nil
	})
	add(srv, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		srv.AddPrompt(&mcp.Prompt{Name: "test_fleeting_prompt", Description: "Comes and goes."}, simplePrompt)
		srv.RemovePrompts("test_fleeting_prompt")
		return say("changed"), nil
	})
	add(srv, "test_reconnection", "Closes the event stream before it answers.", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if extra := req.Extra; extra != nil && extra.CloseSSEStream != nil {
			extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: pause})
		}
		return say("Reconnection test completed."), wait(ctx)
	})
}

func logThrice(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for i, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			if err := wait(ctx); err != nil {
				return nil, err
			}
		}
		if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}); err != nil {
			return nil, err
		}
	}
	return say("logged"), nil
}

func progress(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for i, done := range []float64{0, 50, 100} {
		if i > 0 {
			if err := wait(ctx); err != nil {
				return nil, err
			}
		}
		if token == nil {
			continue
		}
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
			return nil, err
		}
	}
	return say("done"), nil
}
