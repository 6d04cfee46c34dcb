package main

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os/exec"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/visions-mcp/visions"
)

func TestToolsOverAnotherServer(t *testing.T) {
	eng, err := visions.New(visions.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	c, err := client.NewInProcessClient(newServer(eng))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "test"}}}); err != nil {
		t.Fatal(err)
	}
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil || len(list.Tools) != len(eng.Tools()) {
		t.Fatalf("%+v, %v", list, err)
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	img := "data:image/png;base64," + base64.StdEncoding.EncodeToString(buf.Bytes())
	call := func(args map[string]any) *mcp.CallToolResult {
		t.Helper()
		res, err := c.CallTool(t.Context(), mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "preprocess_and_crop", Arguments: args}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	if res := call(map[string]any{"image_source": img, "rotate": 90}); res.IsError || len(res.Content) != 3 {
		t.Errorf("%+v", res)
	}
	res := call(map[string]any{"image_source": img, "rotate": 45})
	if text := res.Content[0].(mcp.TextContent).Text; !res.IsError || !strings.Contains(text, `"code":"INVALID_ARGUMENT"`) {
		t.Errorf("a bad angle: %s", text)
	}
}

func TestTheLibraryKnowsNothingOfIt(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/visions-mcp/visions", "github.com/visions-mcp/visions/cmd/visions").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "modelcontextprotocol/go-sdk") || strings.Contains(string(out), "mark3labs") {
		t.Errorf("the library's packages are\n%s", out)
	}
}
