package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// client calls tools of a visions server over HTTP, and uploads images first,
// so that they neither go through base64 nor need to be on the server's machine.
type client struct {
	base    string // http://127.0.0.1:11402
	token   string // "" for none
	session *mcp.ClientSession
	images  map[string]map[string]bool // by tool, the arguments that are images
}

// dial connects and learns which arguments are images: their schemas say
// x-mcp-file.
func dial(ctx context.Context, base, token string) (*client, error) {
	c := &client{base: strings.TrimSuffix(base, "/"), token: token, images: map[string]map[string]bool{}}
	transport := &mcp.StreamableClientTransport{Endpoint: c.base + "/mcp", HTTPClient: &http.Client{Transport: c}}
	var err error
	if c.session, err = mcp.NewClient(&mcp.Implementation{Name: "example-upload", Version: "1"}, nil).Connect(ctx, transport, nil); err != nil {
		return nil, err
	}
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, c.session.Close())
	}
	for _, tool := range list.Tools {
		c.images[tool.Name] = map[string]bool{}
		schema, _ := tool.InputSchema.(map[string]any)
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			p, _ := p.(map[string]any)
			items, _ := p["items"].(map[string]any)
			c.images[tool.Name][name] = p["x-mcp-file"] == true || items["x-mcp-file"] == true
		}
	}
	return c, nil
}

func (c *client) close() error { return c.session.Close() }

// RoundTrip adds the token to every request.
func (c *client) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// upload sends an image and returns its reference, which lasts 15 minutes.
func (c *client) upload(ctx context.Context, image io.Reader) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/upload", image)
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/octet-stream") // the server looks at the bytes
	resp, err := (&http.Client{Transport: c}).Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var answer struct {
		Ref     string `json:"uploadRef"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("upload: %s: %w", resp.Status, err)
	}
	if answer.Ref == "" {
		return "", fmt.Errorf("upload: %s: %s", answer.Code, answer.Message)
	}
	return answer.Ref, nil
}

// call uploads the image arguments that are bytes, readers or paths of this
// machine, and calls the tool with their references.
func (c *client) call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	sent := map[string]any{}
	for name, v := range args {
		if c.images[tool][name] {
			var err error
			if v, err = c.reference(ctx, v); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		sent[name] = v
	}
	return c.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: sent})
}

// reference uploads what v holds; other strings (URLs, references, data URIs)
// stay as they are.
func (c *client) reference(ctx context.Context, v any) (any, error) {
	switch v := v.(type) {
	case []byte:
		return c.upload(ctx, bytes.NewReader(v))
	case io.Reader:
		return c.upload(ctx, v)
	case string:
		f, err := os.Open(v)
		if err != nil {
			return v, nil // no file of ours: the server will know
		}
		defer f.Close()
		return c.upload(ctx, f)
	case []any:
		refs := make([]any, len(v))
		for i, one := range v {
			var err error
			if refs[i], err = c.reference(ctx, one); err != nil {
				return nil, err
			}
		}
		return refs, nil
	}
	return nil, fmt.Errorf("a %T is no image: give a path, bytes, a reader, a URL or a reference", v)
}
