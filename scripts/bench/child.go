package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions"
	"github.com/visions-mcp/visions/tools"
)

// serveRole is a child's main: a server on a socket until standard input ends.
// Both roles offer echo, which returns its text, and size, which returns the
// length of its text.
func serveRole(ctx context.Context, role, socket string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	switch role {
	case "engine":
		go func() { served <- serveEngine(ctx, socket) }()
	case "sdk":
		go func() { served <- serveSDK(ctx, socket) }()
	default:
		return fmt.Errorf("there is no role %q", role)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, os.Stdin)
	}()
	select {
	case err := <-served:
		return err
	case <-ended:
		return nil
	}
}

type text struct {
	Text string `json:"text"`
}

func serveEngine(ctx context.Context, socket string) error {
	echo := tools.Tool{
		Name: "echo", Group: "bench", Input: tools.Object([]string{"text"}, tools.Property{Name: "text", Schema: tools.Schema{Type: "string"}}).JSON(),
		Handle: func(_ context.Context, c *tools.Call) (*tools.Result, error) {
			var in text
			err := c.Bind(&in)
			return &tools.Result{Value: in}, err
		},
	}
	eng, err := visions.New(visions.Config{Tools: []tools.Tool{echo}})
	if err != nil {
		return err
	}
	defer eng.Close()
	srv, err := visions.Init(eng, visions.ServerConfig{})
	if err != nil {
		return err
	}
	if err := srv.StartUnix(ctx, &visions.UnixConfig{Path: socket}); err != nil {
		return err
	}
	<-srv.Done(visions.Unix)
	return nil
}

func serveSDK(ctx context.Context, socket string) error {
	srv := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, text, error) {
		return nil, in, nil
	})
	mcp.AddTool(srv, &mcp.Tool{Name: "size"}, func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, any, error) {
		return nil, map[string]int{"size": len(in.Text)}, nil
	})
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go srv.Run(ctx, &mcp.IOTransport{Reader: c, Writer: c, MaxLineLength: -1})
	}
}

// child is a running server.
type child struct {
	cmd    *exec.Cmd
	in     io.Closer
	socket string
}

// startWait bounds how long a child may take to listen.
const startWait = 10 * time.Second

// start runs a server command and waits until its socket answers.
func start(ctx context.Context, socket, name string, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr = io.Discard
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, in: in, socket: socket}
	for until := time.Now().Add(startWait); ; time.Sleep(time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			return c, nil
		}
		if time.Now().After(until) {
			c.stop()
			return nil, fmt.Errorf("%s does not listen: %w", name, err)
		}
	}
}

func (c *child) stop() {
	c.in.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
	os.Remove(c.socket)
}

// call is a tools/call line.
func call(tool string, arguments any) ([]byte, error) {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	return append(line, '\n'), err
}
