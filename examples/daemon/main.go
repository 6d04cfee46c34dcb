// Command daemon serves vision tools on a Unix socket until it is interrupted,
// as a program that others on this machine share. It asks itself over the
// socket once, the way its clients will.
//
//	go run ./examples/daemon /tmp/visions.sock
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	path := filepath.Join(os.TempDir(), fmt.Sprintf("visions-%d.sock", os.Getuid()))
	if len(os.Args) > 1 {
		path = os.Args[1]
	}
	if err := run(ctx, path, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until ctx ends, then answers what is in flight for two seconds.
func run(ctx context.Context, path string, out io.Writer) error {
	eng, err := visions.New(visions.Config{})
	if err != nil {
		return err
	}
	defer eng.Close()
	srv, err := visions.Init(eng, visions.ServerConfig{Name: "example-daemon", QueueDepth: 32})
	if err != nil {
		return err
	}
	background := context.WithoutCancel(ctx) // Stop ends it, not the interrupt
	if err := srv.StartUnix(background, &visions.UnixConfig{Path: path, IdleTimeout: time.Hour}); err != nil {
		return err
	}
	fmt.Fprintln(out, "listening on", path)
	if err := ask(ctx, path, out); err != nil {
		return err
	}
	<-ctx.Done()
	bounded, cancel := context.WithTimeout(background, 2*time.Second)
	defer cancel()
	return srv.Stop(bounded)
}

// ask is a client: MCP over a socket is JSON lines, as over stdio.
func ask(ctx context.Context, path string, out io.Writer) error {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "example-client", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "check_vision_health"})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a client sees %d tools; health: %.80s...\n", len(list.Tools), res.Content[0].(*mcp.TextContent).Text)
	return nil
}
