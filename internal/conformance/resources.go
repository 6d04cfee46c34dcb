package conformance

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds the fixed resources and a template.
func addResources(srv *mcp.Server) {
	read := func(c mcp.ResourceContents) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			c.URI = req.Params.URI
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&c}}, nil
		}
	}
	for _, r := range []struct {
		uri, name string
		contents  mcp.ResourceContents
	}{
		{"test://static-text", "static text", mcp.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."}},
		{"test://static-binary", "static binary", mcp.ResourceContents{MIMEType: "image/png", Blob: redDot()}},
		{"test://watched-resource", "watched", mcp.ResourceContents{MIMEType: "text/plain", Text: "Nothing has changed."}},
	} {
		srv.AddResource(&mcp.Resource{URI: r.uri, Name: r.name, Description: "A " + r.name + " resource.", MIMEType: r.contents.MIMEType}, read(r.contents))
	}
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", Description: "A resource by its id.", MIMEType: "application/json"},
		func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			text, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
			if err != nil {
				return nil, err
			}
			return read(mcp.ResourceContents{MIMEType: "application/json", Text: string(text)})(ctx, req)
		})
}
