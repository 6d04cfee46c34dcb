// Package mcpserver offers tools as a server of the MCP Go SDK. It is the only
// place where the tools' types meet the SDK's.
package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// Config is what a server is made of.
type Config struct {
	Name    string // in serverInfo
	Version string
	Tools   []tools.Tool
	Store   *store.Store
	// Invoke runs a call. Its error becomes a result with isError.
	Invoke func(ctx context.Context, name string, args json.RawMessage) (*tools.Result, error)
}

// instructions tell a model how to use the tools.
const instructions = "Vision tools for screenshots and photos. Images may be data URIs, base64, or paths on this server's machine. " +
	"Coordinates are pixels of the upright original. Every tool that takes an image takes a region to look closer. " +
	"Answers say in provenance what was done; treat warnings as part of the answer."

// New returns a server with the tools, their prompts with completion, and files
// and references as resources.
func New(c Config) *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: c.Name, Version: c.Version}, &mcp.ServerOptions{
		Instructions: instructions,
		Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{},
			Completions: &mcp.CompletionCapabilities{},
		},
		CompletionHandler: completer(c),
		// Answers are about one user's images: no shared cache may keep them.
		SetCacheable: func(_ context.Context, _ mcp.Request, cache *mcp.Cacheable) { cache.CacheScope = "private" },
	})
	Add(srv, c)
	srv.AddReceivingMiddleware(aliases, listOutputs(c.Store))
	return srv
}

// Add gives the tools, the resources and the prompts to a server of the host's
// own.
func Add(srv *mcp.Server, c Config) {
	for _, t := range c.Tools {
		no, open := false, t.OpenWorld
		def := &mcp.Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.Input,
			Annotations: &mcp.ToolAnnotations{
				Title: t.Title, ReadOnlyHint: !t.Writes, IdempotentHint: !t.Writes, DestructiveHint: &no, OpenWorldHint: &open,
			},
		}
		if t.Output != nil {
			def.OutputSchema = t.Output
		}
		srv.AddTool(def, handler(t.Name, c.Invoke))
	}
	addResources(srv, c)
	addPrompts(srv, c)
}

func handler(name string, invoke func(context.Context, string, json.RawMessage) (*tools.Result, error)) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ctx, stop := withProgress(ctx, req)
		res, err := invoke(ctx, name, req.Params.Arguments)
		stop()
		if err != nil {
			return errorResult(err), nil
		}
		return result(res), nil
	}
}

// errorResult is how a tool's failure looks to a client. It has no
// structuredContent, which clients check against the output schema, unless the
// tool's schema describes failures too.
func errorResult(err error) *mcp.CallToolResult {
	e := tools.AsError(err)
	raw, encodeErr := json.Marshal(e)
	if encodeErr != nil {
		raw = fmt.Appendf(nil, `{"error":true,"code":%q,"message":%q,"retryable":false,"suggestions":[]}`, tools.Internal, err.Error())
	}
	res := &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}
	if e.Structured {
		res.StructuredContent = e.Object()
	}
	return res
}

func result(r *tools.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{
		StructuredContent: r.JSON,
		Content:           []mcp.Content{&mcp.TextContent{Text: string(r.JSON)}},
	}
	for _, b := range r.Images {
		out.Content = append(out.Content, &mcp.ImageContent{Data: b.Data, MIMEType: b.MIMEType})
	}
	for _, l := range r.Links {
		size := l.Size
		out.Content = append(out.Content, &mcp.ResourceLink{URI: l.URI, Name: l.Name, MIMEType: l.MIMEType, Size: &size})
	}
	return out
}

// aliases lets a tool be called with dots in its name.
func aliases(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && call.Params != nil {
			call.Params.Name = tools.Canonical(call.Params.Name)
		}
		return next(ctx, method, req)
	}
}
