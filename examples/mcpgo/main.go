// Command mcpgo is a host whose MCP server is made with mark3labs/mcp-go: the
// Engine's tools are added to it by their schemas and [visions.Engine.Call].
// The library itself knows nothing of that module.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/visions-mcp/visions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	eng, err := visions.New(visions.Config{})
	if err != nil {
		return err
	}
	defer eng.Close()
	return server.NewStdioServer(newServer(eng)).Listen(ctx, os.Stdin, os.Stdout)
}

// newServer returns a server of mcp-go with the Engine's tools.
func newServer(eng *visions.Engine) *server.MCPServer {
	srv := server.NewMCPServer("my-host", "1.0", server.WithToolCapabilities(false), server.WithRecovery())
	for _, t := range eng.Tools() {
		no, writes, open := false, t.Writes, t.OpenWorld
		reads := !writes
		srv.AddTool(mcp.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, RawInputSchema: t.Input, RawOutputSchema: t.Output,
			Annotations: mcp.ToolAnnotation{Title: t.Title, ReadOnlyHint: &reads, IdempotentHint: &reads, DestructiveHint: &no, OpenWorldHint: &open},
		}, func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := eng.Call(ctx, req.Params.Name, req.GetArguments())
			if err != nil {
				return failure(err)
			}
			return answer(res), nil
		})
	}
	return srv
}

// answer is a tool's result as mcp-go has it.
func answer(r *visions.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{StructuredContent: r.JSON, Content: []mcp.Content{mcp.NewTextContent(string(r.JSON))}}
	for _, b := range r.Images {
		out.Content = append(out.Content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(b.Data), b.MIMEType))
	}
	for _, l := range r.Links {
		out.Content = append(out.Content, mcp.NewResourceLink(l.URI, l.Name, "", l.MIMEType))
	}
	return out
}

// failure is a tool's error as the model should see it: code, message, and what
// to do.
func failure(err error) (*mcp.CallToolResult, error) {
	text, encodeErr := json.Marshal(err)
	if encodeErr != nil {
		return nil, err
	}
	return mcp.NewToolResultError(string(text)), nil
}
