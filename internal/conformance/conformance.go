//lint:file-ignore SA1019 the suite tests what the protocol has deprecated, as long as it works

// Package conformance is a server with the fixtures that the official
// conformance suite asks for: tools, resources and prompts of fixed names and
// answers. It shows that our edges carry all of the protocol, and is imported
// by tests only.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/wire"
)

// New returns the server, ready for our edges.
func New() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "conformance", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler:  complete,
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		Capabilities:       &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}},
	})
	addContent(srv)
	addNotices(srv)
	addQuestions(srv)
	addInputRequired(srv)
	addSchemas(srv)
	addResources(srv)
	addPrompts(srv)
	wire.Prepare(srv, nil)
	return srv
}

// noArguments is the schema of a tool without arguments.
var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// add adds a tool without arguments.
func add(srv *mcp.Server, name, description string, h mcp.ToolHandler) {
	srv.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: noArguments}, h)
}

// fixed answers every call with the same content.
func fixed(content ...mcp.Content) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: content}, nil
	}
}

func say(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Argument.Value + "is"}, Total: 1}}, nil
}
