// Command ownserver is a host that has an MCP server of its own, made with the
// official Go SDK: it keeps its tool and its middleware, and takes the Engine's
// tools, resources and prompts in beside them.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &mcp.StdioTransport{}, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, transport mcp.Transport, log *slog.Logger) error {
	eng, err := visions.New(visions.Config{Toolset: []string{"image", "measure", "ocr"}, Logger: log})
	if err != nil {
		return err
	}
	defer eng.Close()
	srv := mcp.NewServer(&mcp.Implementation{Name: "my-host", Version: "1.0"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "what_time", Description: "Tells the time."}, whatTime)
	if err := eng.AddTo(srv); err != nil {
		return err
	}
	srv.AddReceivingMiddleware(timed(log)) // sees the Engine's calls too
	return srv.Run(ctx, transport)
}

type clock struct {
	Time string `json:"time"`
}

func whatTime(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, clock, error) {
	return nil, clock{time.Now().Format(time.RFC3339)}, nil
}

// timed logs how long each request took.
func timed(log *slog.Logger) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			start := time.Now()
			res, err := next(ctx, method, req)
			log.Info("answered", "method", method, "after", time.Since(start).Round(time.Millisecond), "failed", err != nil)
			return res, err
		}
	}
}
