package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// maxResource bounds a file that resources/read serves, in bytes before base64:
// with it the message stays within the 32 MiB that a peer like this one takes.
const maxResource = 20 << 20

const (
	outputsTemplate = "visions://outputs/{id}"
	uploadsTemplate = "visions://uploads/{id}"
	docsTemplate    = "docs://tools/{name}"
	docsURI         = "docs://tools"
	markdown        = "text/markdown"
)

// addResources adds the files that tools made and that clients uploaded, and a
// reference page for each tool. Uploads are read by those who know their id and
// listed for nobody: several clients may share this server.
func addResources(srv *mcp.Server, c Config) {
	srv.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "outputs", Title: "Output files", URITemplate: outputsTemplate,
		Description: "Pictures that tools made, kept for a while. The address also works as an image argument.",
	}, readFile(c.Store, store.Outputs))
	srv.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "uploads", Title: "Uploaded images", URITemplate: uploadsTemplate,
		Description: "What was uploaded as upload://ID, kept for a while.",
	}, readFile(c.Store, store.Uploads))
	srv.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "tool", Title: "Reference of a tool", URITemplate: docsTemplate, MIMEType: markdown,
		Description: "What a tool does, its arguments and its schemas.",
	}, readReference(c.Tools))
	srv.AddResource(&mcp.Resource{
		Name: "tools", Title: "The tools", URI: docsURI, MIMEType: markdown,
		Description: "One line for each tool; docs://tools/NAME has the rest.",
	}, readIndex(c.Tools))
}

// listOutputs adds the files of the output store to resources/list.
func listOutputs(s *store.Store) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			list, ok := res.(*mcp.ListResourcesResult)
			if err != nil || !ok {
				return res, err
			}
			for _, ref := range s.List(store.Outputs) {
				list.Resources = append(list.Resources, &mcp.Resource{
					URI: tools.OutputURI(ref), Name: ref.ID, MIMEType: tools.MIMEType(ref.ID), Size: ref.Size,
				})
			}
			return list, nil
		}
	}
}

func readFile(s *store.Store, kind store.Kind) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		data, ref, err := s.Get(kind, strings.TrimPrefix(uri, "visions://"+string(kind)+"/"))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return nil, mcp.ResourceNotFoundError(uri)
		case errors.Is(err, store.ErrExpired):
			return nil, refused("%v", err)
		case err != nil:
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
		case ref.Size > maxResource:
			return nil, refused("%s has %d bytes, more than the %d that a resource may have here; fetch it by GET /files/%s over HTTP, or read the path that the tool answered", uri, ref.Size, maxResource, ref.ID)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: tools.MIMEType(ref.ID), Blob: data}}}, nil
	}
}

func readReference(list []tools.Tool) mcp.ResourceHandler {
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := req.Params.URI
		name := tools.Canonical(strings.TrimPrefix(uri, docsURI+"/"))
		i := slices.IndexFunc(list, func(t tools.Tool) bool { return t.Name == name })
		if i < 0 {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		return text(uri, list[i].Reference()), nil
	}
}

func readIndex(list []tools.Tool) mcp.ResourceHandler {
	var b strings.Builder
	b.WriteString("# Tools\n\n")
	for _, t := range list {
		fmt.Fprintf(&b, "- [%s](%s/%s): %s\n", t.Name, docsURI, t.Name, t.Description)
	}
	return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return text(req.Params.URI, b.String()), nil
	}
}

func text(uri, s string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: markdown, Text: s}}}
}

// refused is the protocol's error for a request that cannot be met as it is.
func refused(format string, args ...any) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
