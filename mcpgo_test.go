package visions

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/visions-mcp/visions/internal/tinyvision"
)

// The client of mark3labs/mcp-go over every transport, in both eras.
func TestMCPGoClient(t *testing.T) {
	server := modelServer(t)
	eng := newEngine(t, Config{Models: server.backend(t)})
	srv, err := Init(eng, ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	if err := srv.StartUnix(t.Context(), &UnixConfig{Path: socket}); err != nil {
		t.Fatal(err)
	}
	web := HTTPConfig{}
	if err := srv.StartHTTP(t.Context(), &web); err != nil {
		t.Fatal(err)
	}
	binary := buildBinary(t)
	for name, open := range map[string]func() (transport.Interface, error){
		"stdio": func() (transport.Interface, error) {
			return transport.NewStdio(binary, append(os.Environ(), "OLLAMA_HOST="+server.url), "serve"), nil
		},
		"unix": func() (transport.Interface, error) {
			conn, err := net.Dial("unix", socket)
			return transport.NewIO(conn, conn, io.NopCloser(strings.NewReader(""))), err
		},
		"http": func() (transport.Interface, error) {
			return transport.NewStreamableHTTP(fmt.Sprintf("http://127.0.0.1:%d/mcp", web.Port))
		},
	} {
		for era, options := range map[string][]client.ClientOption{"": nil, ", 2025-11-25": {client.WithProtocolVersion("2025-11-25")}} {
			t.Run(name+era, func(t *testing.T) {
				tr, err := open()
				if err != nil {
					t.Fatal(err)
				}
				useMCPGo(t, client.NewClient(tr, options...), server, eng)
			})
		}
	}
}

func useMCPGo(t *testing.T, c *client.Client, server *counted, eng *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	answering := make(chan struct{}, 1000)
	c.OnNotification(func(n mcpgo.JSONRPCNotification) {
		if said, _ := n.Params.AdditionalFields["message"].(string); n.Method == "notifications/progress" && strings.Contains(said, "answering") {
			answering <- struct{}{}
		}
	})
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(ctx, mcpgo.InitializeRequest{Params: mcpgo.InitializeParams{ClientInfo: mcpgo.Implementation{Name: "test"}}}); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(ctx, mcpgo.ListToolsRequest{})
	if err != nil || len(list.Tools) != len(eng.Tools()) {
		t.Fatalf("%d tools are listed, not %d: %v", len(list.Tools), len(eng.Tools()), err)
	}
	img := dataURI(t, twoColours())
	call := func(ctx context.Context, tool string, args map[string]any, meta *mcpgo.Meta) (*mcpgo.CallToolResult, error) {
		return c.CallTool(ctx, mcpgo.CallToolRequest{Params: mcpgo.CallToolParams{Name: tool, Arguments: args, Meta: meta}})
	}
	region := map[string]int{"left": 1, "top": 2, "width": 20, "height": 10}
	res, err := call(ctx, "preprocess_and_crop", map[string]any{"image_source": img, "region": region}, nil)
	if err != nil || res.IsError || len(res.Content) != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	picture, ok := res.Content[1].(mcpgo.ImageContent)
	if data, err := base64.StdEncoding.DecodeString(picture.Data); !ok || err != nil || picture.MIMEType != "image/png" || !strings.HasPrefix(string(data), "\x89PNG") {
		t.Errorf("the picture: %T, %v", res.Content[1], err)
	}
	region["width"] = 9999
	res, err = call(ctx, "preprocess_and_crop", map[string]any{"image_source": img, "region": region}, nil)
	if err != nil || !res.IsError || !strings.Contains(res.Content[0].(mcpgo.TextContent).Text, "400x200") {
		t.Errorf("a region outside: %+v, %v", res, err)
	}

	cancelled, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := call(cancelled, "analyze_image", map[string]any{"image_source": img, "model": tinyvision.Vision, "prompt": "LOOP", "num_predict": 8000}, &mcpgo.Meta{ProgressToken: "p"})
		ended <- err
	}()
	within(t, answering, "the model's first words")
	stop()
	server.released(t)
	if err := <-ended; err == nil {
		t.Error("the cancelled call was answered")
	}
	res, err = call(ctx, "analyze_image", map[string]any{"image_source": img, "model": tinyvision.Vision, "region": map[string]int{"left": 210, "top": 10, "width": 150, "height": 150}}, nil)
	if err != nil || res.IsError || !strings.Contains(res.Content[0].(mcpgo.TextContent).Text, "blue") {
		t.Errorf("after the cancel: %+v, %v", res, err)
	}
}
