package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// connect joins the SDK's client to a server with one tool, which answers with
// invoke.
func connect(t *testing.T, files *store.Store, invoke func(context.Context, string, json.RawMessage) (*tools.Result, error), o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	input := tools.Object(nil, tools.Text("say", "Anything.")).JSON()
	return join(t, New(Config{Name: "host", Version: "1.2", Store: files, Invoke: invoke, Tools: []tools.Tool{
		{Name: "say_it", Title: "Say it", Description: "Says it.", Input: input, Output: tools.Schema{Type: "object", Open: true}.JSON()},
		{Name: "keep_it", Description: "Keeps it.", Input: input, Writes: true, OpenWorld: true},
	}}), o)
}

// join joins the SDK's client to a server.
func join(t *testing.T, srv *mcp.Server, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	session, err := srv.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, o).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		session.Wait() //nolint:errcheck // it ends with the client
	})
	return client
}

func openStore(t *testing.T, now func() time.Time) *store.Store {
	t.Helper()
	files, err := store.Open(store.Config{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	return files
}

func TestListTellsTheTruthAboutTools(t *testing.T) {
	client := connect(t, openStore(t, nil), nil, nil)
	if info := client.InitializeResult(); info.ServerInfo.Name != "host" || info.ServerInfo.Version != "1.2" || info.Instructions == "" {
		t.Errorf("the server says it is %+v", info.ServerInfo)
	}
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 2 || list.Tools[0].Name != "keep_it" && list.Tools[0].Name != "say_it" {
		t.Fatalf("tools %+v", list.Tools)
	}
	for _, tool := range list.Tools {
		writes := tool.Name == "keep_it"
		a := tool.Annotations
		if a.ReadOnlyHint == writes || a.IdempotentHint == writes || *a.OpenWorldHint != writes || *a.DestructiveHint {
			t.Errorf("%s: annotations %+v", tool.Name, a)
		}
		if (tool.OutputSchema != nil) == writes {
			t.Errorf("%s: output schema %v", tool.Name, tool.OutputSchema)
		}
	}
}

func TestResultsAndErrors(t *testing.T) {
	answer := &tools.Result{
		JSON:   json.RawMessage(`{"said":"hello <b>"}`),
		Images: []tools.ImageBlock{{Data: []byte("pixels"), MIMEType: "image/jpeg"}},
		Links:  []tools.Link{{URI: "visions://outputs/abc.png", Name: "abc.png", MIMEType: "image/png", Size: 7}},
	}
	var called string
	client := connect(t, openStore(t, nil), func(_ context.Context, name string, args json.RawMessage) (*tools.Result, error) {
		called = name + " " + string(args)
		if strings.Contains(called, "fail") {
			return nil, tools.Errorf(tools.ImageCorrupt, "the file is broken").Suggest("send another")
		}
		if strings.Contains(called, "odd") {
			return nil, errors.New("something else")
		}
		return answer, nil
	}, nil)
	call := func(name, say string) *mcp.CallToolResult {
		t.Helper()
		res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"say": say}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := call("say.it", "hello")
	if called != `say_it {"say":"hello"}` {
		t.Errorf("a name with dots reached %q", called)
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil || res.IsError || len(res.Content) != 3 {
		t.Fatalf("%+v, %v", res, err)
	}
	var text, same any
	if json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &text) != nil || json.Unmarshal(structured, &same) != nil || text.(map[string]any)["said"] != same.(map[string]any)["said"] {
		t.Errorf("the text %v is not the structured content %s", res.Content[0], structured)
	}
	if m := res.Content[1].(*mcp.ImageContent); m.MIMEType != "image/jpeg" || string(m.Data) != "pixels" {
		t.Errorf("the picture is %+v", m)
	}
	if l := res.Content[2].(*mcp.ResourceLink); l.URI != "visions://outputs/abc.png" || *l.Size != 7 || l.MIMEType != "image/png" {
		t.Errorf("the link is %+v", l)
	}
	for say, code := range map[string]tools.Code{"fail": tools.ImageCorrupt, "odd": tools.Internal} {
		res := call("say_it", say)
		var e struct {
			Error       bool
			Code        tools.Code
			Message     string
			Suggestions []string
		}
		if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &e); err != nil {
			t.Fatal(err)
		}
		if !res.IsError || res.StructuredContent != nil || !e.Error || e.Code != code || e.Message == "" || e.Suggestions == nil {
			t.Errorf("%s: %+v, %+v", say, res, e)
		}
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type note struct {
			at       time.Duration
			progress float64
			message  string
		}
		var notes []note
		start := time.Now()
		heard := make(chan struct{}, 100)
		client := connect(t, openStore(t, nil), func(ctx context.Context, _ string, _ json.RawMessage) (*tools.Result, error) {
			time.Sleep(12 * time.Second) // synthetic time
			tools.Report(ctx, "asking the model", 3, 0)
			synctest.Wait()
			tools.Report(ctx, "drawing", 1, 4)
			synctest.Wait()
			return &tools.Result{JSON: json.RawMessage(`{}`)}, nil
		}, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			notes = append(notes, note{time.Since(start), r.Params.Progress, r.Params.Message})
			heard <- struct{}{}
		}})
		p := &mcp.CallToolParams{Name: "say_it"}
		p.SetProgressToken("mine")
		if _, err := client.CallTool(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []struct {
			at      time.Duration
			message string
		}{{0, "queued"}, {5 * time.Second, "queued"}, {10 * time.Second, "queued"}, {12 * time.Second, "asking the model (3)"}, {12 * time.Second, "drawing (1 of 4)"}}
		if len(notes) != len(want) {
			t.Fatalf("notes %+v", notes)
		}
		for i, w := range want {
			if n := notes[i]; n.at.Round(time.Second) != w.at || n.message != w.message || i > 0 && n.progress <= notes[i-1].progress {
				t.Errorf("note %d is %+v, want %+v and a higher number", i, n, w)
			}
		}
		client.Close()
		synctest.Wait()
	})
}
