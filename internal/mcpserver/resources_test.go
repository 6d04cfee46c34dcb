package mcpserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

func TestOutputsAreResources(t *testing.T) {
	now := time.Now()
	files := openStore(t, func() time.Time { return now })
	client := connect(t, files, nil, nil)
	ref, err := files.Put(store.Outputs, "jpg", []byte("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	uri := tools.OutputURI(ref)
	list, err := client.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 2 || list.Resources[1].URI != uri || list.Resources[1].MIMEType != "image/jpeg" || list.Resources[1].Size != 5 {
		t.Fatalf("%+v, %v", list, err)
	}
	if list.CacheScope != "private" {
		t.Errorf("the list may be cached by %q", list.CacheScope)
	}
	got, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil || len(got.Contents) != 1 || string(got.Contents[0].Blob) != "bytes" || got.Contents[0].MIMEType != "image/jpeg" {
		t.Fatalf("%+v, %v", got, err)
	}
	read := func(uri string) *jsonrpc.Error {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		var e *jsonrpc.Error
		if !errors.As(err, &e) {
			t.Fatalf("%s: %v", uri, err)
		}
		return e
	}
	for _, bad := range []string{"visions://outputs/none.png", "visions://outputs/../uploads/x", "visions://outputs/"} {
		if e := read(bad); e.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %+v", bad, e)
		}
	}
	now = now.Add(time.Hour)
	if e := read(uri); !strings.Contains(e.Message, "expired") {
		t.Errorf("an hour later: %+v", e)
	}
}

// TestProgress checks that a client with a token hears at once, at each change
// of phase, and every few seconds, with rising numbers and never after the
// answer.

// Whoever knows an upload's id reads it; nobody is told of it.
func TestUploadsAreReadByTheirId(t *testing.T) {
	files := openStore(t, nil)
	client := connect(t, files, nil, nil)
	ref, err := files.Put(store.Uploads, "png", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "visions://uploads/" + ref.ID})
	if err != nil || string(got.Contents[0].Blob) != "secret" || got.CacheScope != "private" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "visions://outputs/" + ref.ID}); err == nil {
		t.Error("an upload was read as an output")
	}
	list, err := client.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Resources {
		if strings.Contains(r.URI, ref.ID) {
			t.Errorf("%s is listed", r.URI)
		}
	}
}

func TestLargeFilesAreNoResources(t *testing.T) {
	files := openStore(t, nil)
	client := connect(t, files, nil, nil)
	ref, err := files.Put(store.Outputs, "png", make([]byte, maxResource+1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: tools.OutputURI(ref)})
	if err == nil || !strings.Contains(err.Error(), "20971520") || !strings.Contains(err.Error(), "/files/"+ref.ID) {
		t.Errorf("no word of the limit and the way out: %v", err)
	}
}

func TestReferencePages(t *testing.T) {
	srv := New(Config{Store: openStore(t, nil), Tools: tools.Builtin()})
	client := join(t, srv, nil)
	read := func(uri string) string {
		t.Helper()
		got, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(got.Contents) != 1 || got.Contents[0].MIMEType != "text/markdown" {
			t.Fatalf("%s: %+v, %v", uri, got, err)
		}
		return got.Contents[0].Text
	}
	index := read("docs://tools")
	for _, tool := range tools.Builtin() {
		if !strings.Contains(index, "docs://tools/"+tool.Name) {
			t.Errorf("the index leaves %s out", tool.Name)
		}
		if page := read("docs://tools/" + tool.Name); !strings.Contains(page, tool.Description) {
			t.Errorf("the page of %s does not describe it", tool.Name)
		}
	}
	page := read("docs://tools/preprocess_and_crop")
	for _, want := range []string{"| `image_source` | string | required |", "| `rotate` | integer |", "One of png, jpeg.", "From 1 to 5.", `"enlarge"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	if _, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "docs://tools/none"}); err == nil {
		t.Error("a tool that is none has a page")
	}
	templates, err := client.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 3 {
		t.Errorf("%+v, %v", templates, err)
	}
}
