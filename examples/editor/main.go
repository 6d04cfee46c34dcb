// Command editor does with a settings file what an editor does: it starts each
// MCP server in it, or connects to it, lists the tools and hangs up. stdio.json,
// http.json and daemon.json beside it are settings to copy.
//
//	go run ./examples/editor examples/editor/stdio.json
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// settings are the part of an editor's configuration that names MCP servers.
type settings struct {
	Servers map[string]server `json:"mcpServers"`
}

type server struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: editor SETTINGS.json")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s settings
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		if err := s.Servers[name].list(ctx, name, out); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// list connects to a server and prints its tools.
func (s server) list(ctx context.Context, name string, out io.Writer) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "example-editor", Version: "1"}, nil)
	session, err := client.Connect(ctx, s.transport(ctx), nil)
	if err != nil {
		return err
	}
	defer session.Close()
	tools, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	info := session.InitializeResult().ServerInfo
	fmt.Fprintf(out, "%s is %s %s with %d tools\n", name, info.Name, info.Version, len(tools.Tools))
	for _, t := range tools.Tools {
		fmt.Fprintf(out, "  %-32s %s\n", t.Name, t.Title)
	}
	return nil
}

// transport starts the server's command, or is its URL. Values may name
// variables of the environment.
func (s server) transport(ctx context.Context) mcp.Transport {
	if s.URL != "" {
		return &mcp.StreamableClientTransport{Endpoint: os.ExpandEnv(s.URL), HTTPClient: &http.Client{Transport: headers(s.Headers)}}
	}
	cmd := exec.CommandContext(ctx, s.Command, s.Args...)
	cmd.Env = os.Environ()
	for k, v := range s.Env {
		cmd.Env = append(cmd.Env, k+"="+os.ExpandEnv(v))
	}
	cmd.Stderr = os.Stderr
	return &mcp.CommandTransport{Command: cmd}
}

// headers adds what the settings say to each request.
type headers map[string]string

// RoundTrip implements [http.RoundTripper].
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for k, v := range h {
		r.Header.Set(k, os.ExpandEnv(v))
	}
	return http.DefaultTransport.RoundTrip(r)
}
