package visions

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/tools"
)

// patience is how long a test waits for what should come at once.
const patience = 20 * time.Second

// held is a host's tool whose calls end when the test lets them.
type held struct {
	started chan any      // a call began; its client
	release chan struct{} // closed: every call ends
	ended   chan error    // a call was cancelled, with its cause
}

func newHeld() *held {
	return &held{make(chan any, 100), make(chan struct{}), make(chan error, 100)}
}

func (h *held) tools() []tools.Tool {
	empty := json.RawMessage(`{"type":"object","properties":{}}`)
	return []tools.Tool{
		{Name: "hold", Description: "Ends when the test lets it.", Input: empty, Handle: func(ctx context.Context, c *tools.Call) (*tools.Result, error) {
			h.started <- nil
			select {
			case <-h.release:
				return &tools.Result{Value: map[string]any{"held": true}}, nil
			case <-ctx.Done():
				h.ended <- context.Cause(ctx)
				return nil, context.Cause(ctx)
			}
		}},
		{Name: "panics", Description: "Panics.", Input: empty, Handle: func(context.Context, *tools.Call) (*tools.Result, error) { panic("boom") }},
		{Name: "size", Description: "Tells the length of a text.", Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
			Handle: func(_ context.Context, c *tools.Call) (*tools.Result, error) {
				var a struct {
					Text string `json:"text"`
				}
				if err := c.Bind(&a); err != nil {
					return nil, err
				}
				return &tools.Result{Value: map[string]any{"length": len(a.Text)}}, nil
			}},
	}
}

// overEach runs f with a client on every transport, each on a server of its own.
func overEach(t *testing.T, c Config, sc ServerConfig, opts *mcp.ClientOptions, f func(t *testing.T, srv *Server, client *mcp.ClientSession)) {
	for _, transport := range []Transport{Stdio, Unix, HTTP} {
		t.Run(transport.String(), func(t *testing.T) {
			eng := newEngine(t, c)
			srv, err := Init(eng, sc)
			if err != nil {
				t.Fatal(err)
			}
			connect, err := starters(t, srv)[transport]()
			if err != nil {
				t.Fatal(err)
			}
			f(t, srv, dialClient(t, connect(), opts))
		})
	}
}

func dialClient(t *testing.T, transport mcp.Transport, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, opts).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func serves(srv *Server, transport Transport) bool {
	select {
	case <-srv.Done(transport):
		return false
	default:
		return true
	}
}

// ask calls a tool and returns its answer's text, or the protocol's error.
func ask(t *testing.T, client *mcp.ClientSession, name string, args any) (text string, isError bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	res, err := client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %s", what, patience)
		panic("unreachable")
	}
}

func TestAFullQueueRefusesAtOnce(t *testing.T) {
	h := newHeld()
	overEach(t, Config{Tools: h.tools()}, ServerConfig{QueueDepth: 2}, nil, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		h.release = make(chan struct{})
		var wait sync.WaitGroup
		for range 2 {
			wait.Go(func() {
				if text, failed := ask(t, client, "hold", nil); failed {
					t.Errorf("a call inside the queue: %s", text)
				}
			})
		}
		for range 2 {
			within(t, h.started, "the start of a held call")
		}
		text, failed := ask(t, client, "size", map[string]any{"text": "x"})
		var e struct {
			Code      string
			Retryable bool
			Message   string
		}
		if err := json.Unmarshal([]byte(text), &e); err != nil || !failed || e.Code != "QUEUE_FULL" || !e.Retryable || !strings.Contains(e.Message, "QueueDepth 2") || !strings.Contains(e.Message, "0 of them waiting") {
			t.Errorf("the third call was answered %s", text)
		}
		close(h.release)
		wait.Wait()
		if text, failed := ask(t, client, "size", map[string]any{"text": "abc"}); failed || text != `{"length":3}` {
			t.Errorf("after the queue emptied: %s", text)
		}
	})
}

func TestStopAnswersWhatIsInFlight(t *testing.T) {
	h := newHeld()
	overEach(t, Config{Tools: h.tools()}, ServerConfig{}, nil, func(t *testing.T, srv *Server, client *mcp.ClientSession) {
		h.release = make(chan struct{})
		answer := make(chan string, 1)
		go func() {
			text, _ := ask(t, client, "hold", nil)
			answer <- text
		}()
		within(t, h.started, "the start of the call")
		stopped := make(chan error, 1)
		go func() { stopped <- srv.Stop(t.Context()) }()
		for failed := false; !failed; { // until new calls are refused
			_, failed = ask(t, client, "size", map[string]any{"text": "x"})
		}
		close(h.release)
		if text := within(t, answer, "the answer"); text != `{"held":true}` {
			t.Errorf("the call in flight was answered %s", text)
		}
		if err := within(t, stopped, "the end of Stop"); err != nil {
			t.Errorf("Stop: %v", err)
		}
	})
}

func TestStopReturnsWithItsContext(t *testing.T) {
	h := newHeld()
	overEach(t, Config{Tools: h.tools()}, ServerConfig{}, nil, func(t *testing.T, srv *Server, client *mcp.ClientSession) {
		go ask(t, client, "hold", nil)
		within(t, h.started, "the start of the call")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		if err := srv.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Stop: %v, want its context's end", err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("Stop took %s with 50 ms given", took)
		}
		within(t, h.ended, "the cancellation of the call")
	})
}

func TestAPanicIsAnAnswer(t *testing.T) {
	overEach(t, Config{Tools: newHeld().tools()}, ServerConfig{}, nil, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		text, failed := ask(t, client, "panics", nil)
		if !failed || !strings.Contains(text, `"INTERNAL"`) || strings.Contains(text, "boom") {
			t.Errorf("a panic was answered %s", text)
		}
		if text, failed := ask(t, client, "size", map[string]any{"text": "abc"}); failed {
			t.Errorf("after the panic: %s", text)
		}
	})
}

func TestLargeArgumentsArrive(t *testing.T) {
	overEach(t, Config{Tools: newHeld().tools()}, ServerConfig{}, nil, func(t *testing.T, srv *Server, client *mcp.ClientSession) {
		text, failed := ask(t, client, "size", map[string]any{"text": strings.Repeat("x", 20<<20)})
		if failed || text != `{"length":20971520}` {
			t.Errorf("20 MiB were answered %s", text)
		}
		text, _ = ask(t, client, "size", map[string]any{"text": strings.Repeat("x", 33<<20)})
		if !strings.Contains(text, "MaxMessageBytes") && !strings.Contains(text, "Too Large") {
			t.Errorf("33 MiB were answered %.300s", text)
		}
		if serves(srv, HTTP) {
			return // status 413 ends this client, not the server
		}
		if text, failed := ask(t, client, "size", map[string]any{"text": "abc"}); failed {
			t.Errorf("after a message over the limit: %s", text)
		}
	})
}

func TestCancelReachesTheTool(t *testing.T) {
	h := newHeld()
	overEach(t, Config{Tools: h.tools()}, ServerConfig{QueueDepth: 1}, nil, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			within(t, h.started, "the start of the call")
			cancel()
		}()
		if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "hold"}); !errors.Is(err, context.Canceled) {
			t.Errorf("the cancelled call: %v", err)
		}
		within(t, h.ended, "the cancellation")
		for { // the place is free as soon as the call has left
			text, failed := ask(t, client, "size", map[string]any{"text": "abc"})
			if !failed {
				break
			}
			if !strings.Contains(text, "QUEUE_FULL") {
				t.Fatalf("after the cancellation: %s", text)
			}
		}
	})
}

func TestProgressFromAdmissionOn(t *testing.T) {
	h := newHeld()
	heard := make(chan *mcp.ProgressNotificationParams, 100)
	opts := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params }}
	overEach(t, Config{Tools: h.tools()}, ServerConfig{HostDriven: true}, opts, func(t *testing.T, srv *Server, client *mcp.ClientSession) {
		h.release = make(chan struct{})
		params := &mcp.CallToolParams{Name: "hold"}
		params.SetProgressToken("p")
		done := make(chan error, 1)
		go func() {
			_, err := client.CallTool(t.Context(), params)
			done <- err
		}()
		// Nothing has started: the host has not drained.
		if p := within(t, heard, "progress"); p.ProgressToken != "p" || !strings.HasPrefix(p.Message, "queued") {
			t.Errorf("the first progress is %+v", p)
		}
		close(h.release)
		for len(done) == 0 {
			if _, err := srv.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			runtime.Gosched()
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestDrainStartsAtMostMaxDrain(t *testing.T) {
	h := newHeld()
	close(h.release)
	overEach(t, Config{Tools: h.tools()}, ServerConfig{HostDriven: true, MaxDrain: 2}, nil, func(t *testing.T, srv *Server, client *mcp.ClientSession) {
		if n, err := srv.Drain(t.Context()); n != 0 || err != nil {
			t.Errorf("an idle Drain started %d calls (%v)", n, err)
		}
		const calls = 5
		var wait sync.WaitGroup
		for range calls {
			wait.Go(func() {
				if text, failed := ask(t, client, "hold", nil); failed {
					t.Errorf("a drained call: %s", text)
				}
			})
		}
		for inside := 0; inside < calls; {
			inside, _ = srv.queue.Load()
			runtime.Gosched()
		}
		if len(h.started) > 0 {
			t.Error("a call started before Drain")
		}
		var got []int
		for sum := 0; sum < calls; {
			n, err := srv.Drain(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, sum = append(got, n), sum+n
		}
		if len(got) != 3 || got[0] != 2 || got[1] != 2 || got[2] != 1 {
			t.Errorf("the rounds started %v calls, want 2 2 1", got)
		}
		wait.Wait()
		for len(h.started) > 0 {
			<-h.started
		}
	})
}

func TestHooksAroundCalls(t *testing.T) {
	var mu sync.Mutex
	var log []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, s)
	}
	eng := newEngine(t, Config{Tools: newHeld().tools(), OnCall: func(_ context.Context, c CallInfo) (func(error), error) {
		switch c.Tool {
		case "check_vision_health":
			return nil, &Error{Code: tools.PathDenied, Message: "not today"}
		case "panics":
			panic("the hook itself")
		}
		note("before " + c.Tool)
		return func(err error) {
			if err != nil {
				note("failed")
			} else {
				note("after " + c.Tool)
			}
		}, nil
	}})
	if _, err := eng.Call(t.Context(), "size", Args{"text": "abc"}); err != nil {
		t.Error(err)
	}
	if _, err := eng.Call(t.Context(), "size", Args{}); err == nil {
		t.Error("a call without its argument succeeded")
	}
	var e *Error
	if _, err := eng.Call(t.Context(), "check_vision_health", nil); !errors.As(err, &e) || e.Code != tools.PathDenied || e.Message != "not today" {
		t.Errorf("a refused call: %v", err)
	}
	if _, err := eng.Call(t.Context(), "panics", nil); !errors.As(err, &e) || e.Code != tools.Internal {
		t.Errorf("a hook that panics: %v", err)
	}
	if got, want := strings.Join(log, ", "), "before size, after size, before size, failed"; got != want {
		t.Errorf("the hook saw %s, want %s", got, want)
	}
}

func TestTheToolsOnAHostsOwnServer(t *testing.T) {
	eng := newEngine(t, Config{})
	srv := mcp.NewServer(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "own"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	if err := eng.AddTo(srv); err != nil {
		t.Fatal(err)
	}
	if err := eng.AddTo(nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("AddTo(nil): %v", err)
	}
	a, b := mcp.NewInMemoryTransports()
	go srv.Run(t.Context(), a)
	client := dialClient(t, b, nil)
	list, err := client.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 1+len(eng.Tools()) {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	res, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "preprocess_and_crop", Arguments: map[string]any{"image_source": pngOf(t, 40, 30), "rotate": 90}})
	if err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	link := res.Content[len(res.Content)-1].(*mcp.ResourceLink)
	read, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
	if err != nil || len(read.Contents) != 1 || int64(len(read.Contents[0].Blob)) != *link.Size {
		t.Errorf("reading %s: %v", link.URI, err)
	}
}

// pngOf is a data URI of a picture.
func pngOf(t *testing.T, w, h int) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		m.Pix[i] = byte(i | 3)
	}
	return dataURI(t, m)
}

func TestServersAndEnginesDoNotMeet(t *testing.T) {
	h := newHeld()
	one := newEngine(t, Config{Tools: h.tools()})
	two := newEngine(t, Config{})
	a, err := Init(one, ServerConfig{QueueDepth: 1, Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Init(one, ServerConfig{QueueDepth: 1, Name: "b"})
	if err != nil {
		t.Fatal(err)
	}
	startA, err := starters(t, a)[Unix]()
	if err != nil {
		t.Fatal(err)
	}
	startB, err := starters(t, b)[Unix]()
	if err != nil {
		t.Fatal(err)
	}
	clientA, clientB := dialClient(t, startA(), nil), dialClient(t, startB(), nil)
	answer := make(chan string, 1)
	go func() {
		text, _ := ask(t, clientA, "hold", nil)
		answer <- text
	}()
	within(t, h.started, "the held call")
	// The queue of a is full; b does not mind, and stopping b does not touch a.
	if text, failed := ask(t, clientB, "size", map[string]any{"text": "x"}); failed {
		t.Errorf("the other handle: %s", text)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	close(h.release)
	if text := within(t, answer, "the answer"); text != `{"held":true}` {
		t.Errorf("after the other handle's end: %s", text)
	}
	// A file of one Engine is unknown to the other.
	res, err := one.Call(t.Context(), "preprocess_and_crop", Args{"image_source": pngOf(t, 30, 20)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.ReadOutput(res.Links[0].URI); err != nil {
		t.Errorf("its own file: %v", err)
	}
	var e *Error
	if _, err := two.ReadOutput(res.Links[0].URI); !errors.As(err, &e) || e.Code != tools.NotFound {
		t.Errorf("a file of the other Engine: %v", err)
	}
}

func TestImagesOfTheHost(t *testing.T) {
	eng := newEngine(t, Config{})
	m := image.NewRGBA(image.Rect(0, 0, 60, 40))
	m.Set(10, 10, color.White)
	path := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(path, encodePNG(t, m), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, arg := range map[string]any{"image.Image": m, "bytes": encodePNG(t, m), "path": path, "data URI": dataURI(t, m), "file URI": "file://" + path} {
		res, err := eng.Call(t.Context(), "preprocess_and_crop", Args{"image_source": arg, "region": map[string]any{"left": 5, "top": 5, "width": 20, "height": 10}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(string(res.JSON), `"width":20,"height":10`) || len(res.Images) != 1 {
			t.Errorf("%s: %s", name, res.JSON)
		}
	}
}
