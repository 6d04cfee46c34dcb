package main

import (
	"context"
	"image"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestTheHostsToolAndOurs(t *testing.T) {
	here, there := mcp.NewInMemoryTransports()
	var log strings.Builder
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { ended <- run(ctx, there, slog.New(slog.NewTextHandler(&log, nil))) }()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	for _, want := range []string{"what_time", "measure_image", "check_vision_health"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	prompts, err := client.ListPrompts(t.Context(), nil)
	if err != nil || len(prompts.Prompts) == 0 {
		t.Errorf("no prompts: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	f.Close()
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "preprocess_and_crop", Arguments: map[string]any{"image_source": path, "rotate": 90}})
	if err != nil || res.IsError || len(res.Content) != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	link := res.Content[2].(*mcp.ResourceLink)
	if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI}); err != nil {
		t.Error(err)
	}
	if res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "what_time"}); err != nil || res.IsError {
		t.Errorf("%+v, %v", res, err)
	}
	client.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := strings.Count(log.String(), "method=tools/call"); got != 2 {
		t.Errorf("the host's middleware saw %d calls, not 2:\n%s", got, log.String())
	}
}
