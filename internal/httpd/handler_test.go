package httpd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/httpd"
	"github.com/visions-mcp/visions/internal/wire"
)

const patience = 10 * time.Second

// site is a handler on a real loopback socket.
type site struct {
	t         *testing.T
	h         *httpd.Handler
	url       string
	started   chan struct{}
	cancelled chan struct{}
	release   chan struct{}
	clients   chan any
	client    *http.Client
}

func serve(t *testing.T, c httpd.Config) *site {
	t.Helper()
	before := runtime.NumGoroutine()
	s := &site{t: t, started: make(chan struct{}, 100), cancelled: make(chan struct{}, 100), release: make(chan struct{}), clients: make(chan any, 100), client: &http.Client{Transport: &http.Transport{}, Timeout: patience}}
	srv := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{
		Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}, Prompts: &mcp.PromptCapabilities{}}})
	wire.Prepare(srv, nil)
	add := func(name string, h mcp.ToolHandler) {
		srv.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	text := func(s string) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}, nil
	}
	add("size", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.clients <- admission.Client(ctx)
		return text(fmt.Sprint(len(r.Params.Arguments)))
	})
	add("wait", func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if t := r.Params.GetProgressToken(); t != nil {
			r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: t, Progress: 1})
		}
		s.started <- struct{}{}
		select {
		case <-ctx.Done():
			s.cancelled <- struct{}{}
			return nil, ctx.Err()
		case <-s.release:
			return text("done")
		}
	})
	add("panics", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { panic("boom") })
	add("fails", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, errors.New("it failed")
	})
	h, err := httpd.New(srv, c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.h, s.url = h, "http://"+l.Addr().String()
	server := httpd.Server(h)
	var wg sync.WaitGroup
	wg.Go(func() { server.Serve(l) })
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := h.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		s.client.CloseIdleConnections()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("server: %v", err)
		}
		wg.Wait()
		for deadline := time.Now().Add(patience / 2); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
			runtime.Gosched()
		}
		if n := runtime.NumGoroutine(); n > before {
			buf := make([]byte, 1<<20)
			t.Errorf("%d goroutines before, %d after:\n%s", before, n, buf[:runtime.Stack(buf, true)])
		}
	})
	return s
}

// do sends a request; headers are "Name: value".
func (s *site) do(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			req.Host = value
		}
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// ask sends a request and returns the status and the whole body.
func (s *site) ask(method, path, body string, headers ...string) (int, string, http.Header) {
	s.t.Helper()
	resp := s.do(method, path, body, headers...)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b), resp.Header
}

const (
	form   = "Content-Type: application/x-www-form-urlencoded" // what curl -d sends
	meta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	modern = "Mcp-Protocol-Version: 2026-07-28"
)

func TestEndpoint(t *testing.T) {
	s := serve(t, httpd.Config{MaxMessageBytes: 1 << 20})
	for _, tt := range []struct {
		name, body string
		headers    []string
		status     int
		want       []string
	}{
		{"initialize without params", `{"jsonrpc":"2.0","method":"initialize","id":1}`, []string{form}, 200, []string{`"id":1`, `"protocolVersion":"2025-11-25"`}},
		{"initialize", `{"jsonrpc":"2.0","method":"initialize","id":1,"params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, nil, 200, []string{`"protocolVersion":"2024-11-05"`}},
		{"tools/list", `{"jsonrpc":"2.0","method":"tools/list","id":2}`, []string{form}, 200, []string{`"id":2`, `"size"`}},
		{"tools/call", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"size","arguments":{}},"id":"x"}`, []string{"Accept: application/json"}, 200, []string{`"id":"x"`, `"2"`}},
		{"resources/list", `{"jsonrpc":"2.0","method":"resources/list","id":3}`, nil, 200, []string{`"resources":[]`}},
		{"prompts/list", `{"jsonrpc":"2.0","method":"prompts/list","id":3}`, nil, 200, []string{`"prompts":[]`}},
		{"notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, nil},
		{"parse error", `{"jsonrpc":"2.0","id":7,`, nil, 400, []string{`"id":7`, `-32700`}},
		{"empty", ``, nil, 400, []string{`"id":null`, `-32700`}},
		{"not a request", `{"foo":1}`, nil, 400, []string{`-32600`}},
		{"batch", `[{"jsonrpc":"2.0","method":"ping","id":1}]`, nil, 400, []string{`-32600`, "batch"}},
		{"fractional id", `{"jsonrpc":"2.0","method":"ping","id":1.5}`, nil, 400, []string{`"id":1.5`, `-32600`}},
		{"huge id", `{"jsonrpc":"2.0","method":"ping","id":9007199254740993}`, nil, 400, []string{`"id":9007199254740993`, `-32600`}},
		{"unknown method", `{"jsonrpc":"2.0","method":"no/such","id":4}`, nil, 200, []string{`"id":4`, `-32601`}},
		{"unknown tool", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"nope"},"id":5}`, nil, 200, []string{`"id":5`, `-32602`}},
		{"missing params", `{"jsonrpc":"2.0","method":"tools/call","id":5}`, nil, 200, []string{`"id":5`, `-32602`}},
		{"panic", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"panics"},"id":6}`, nil, 200, []string{`"id":6`, `-32603`}},
		{"plain error", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"fails"},"id":6}`, nil, 200, []string{`-32603,"message":"it failed"`}},
		{"bad initialize", `{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1},"id":6}`, nil, 200, []string{`-32602`}},
		{"modern", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"size",` + meta + `},"id":7}`, []string{modern, "Mcp-Method: tools/call", "Mcp-Name: size"}, 200, []string{`"resultType":"complete"`}},
		{"modern discover", `{"jsonrpc":"2.0","method":"server/discover","params":{` + meta + `},"id":7}`, []string{modern, "Mcp-Method: server/discover"}, 200, []string{`2026-07-28`}},
		{"modern, header missing", `{"jsonrpc":"2.0","method":"tools/list","params":{` + meta + `},"id":8}`, nil, 400, []string{`"id":8`, `-32020`}},
		{"modern, unknown method", `{"jsonrpc":"2.0","method":"no/such","params":{` + meta + `},"id":9}`, []string{modern, "Mcp-Method: no/such"}, 404, []string{`"id":9`, `-32601`}},
		{"old version header", `{"jsonrpc":"2.0","method":"tools/list","id":10}`, []string{"Mcp-Protocol-Version: 1999-01-01"}, 400, []string{`"id":10`, `-32600`, "Unsupported protocol version"}},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 1<<20) + `"}`, nil, 413, []string{`"id":1`, "MaxMessageBytes (1048576 bytes)"}},
		{"other type", `{}`, []string{"Content-Type: text/html"}, 415, []string{"application/json"}},
		{"large arguments", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"size","arguments":{"a":"` + strings.Repeat("x", 1<<19) + `"}},"id":11}`, nil, 200, []string{fmt.Sprint(1<<19 + 8)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body, head := s.ask("POST", "/mcp", tt.body, tt.headers...)
			if status != tt.status {
				t.Errorf("status %d, want %d: %s", status, tt.status, body)
			}
			for _, want := range tt.want {
				if !strings.Contains(body, want) {
					t.Errorf("body %.500s lacks %s", body, want)
				}
			}
			if body != "" && (head.Get("Content-Type") != "application/json" || !json.Valid([]byte(body))) {
				t.Errorf("not JSON: %s %.300s", head.Get("Content-Type"), body)
			}
		})
	}
}

func TestEveryRouteIsGuarded(t *testing.T) {
	s := serve(t, httpd.Config{SSE: true, Token: "secret", AllowedHosts: []string{"box.example"}, AllowedOrigins: []string{"https://app.example"},
		Extra: map[string]http.Handler{"/upload": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") })}})
	for _, path := range []string{"/mcp", "/sse", "/messages", "/upload", "/health", "/nowhere"} {
		for header, want := range map[string]string{"Host: evil.example": "AllowedHosts", "Origin: http://evil.example": "AllowedOrigins", "Origin: null": "AllowedOrigins"} {
			status, body, _ := s.ask("GET", path, "", header, "Authorization: Bearer secret")
			if status != 403 || !strings.Contains(body, want) {
				t.Errorf("%s with %s: %d %s", path, header, status, body)
			}
		}
		status, _, head := s.ask("GET", path, "")
		if path == "/health" {
			if status != 200 {
				t.Errorf("/health without a token: %d", status)
			}
		} else if status != 401 || head.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a token: %d %v", path, status, head)
		}
	}
	status, body, head := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"ping","id":1}`, "Host: box.example", "Origin: https://app.example", "Authorization: Bearer secret")
	if status != 200 || head.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("allowed: %d %s %v", status, body, head)
	}
	status, _, head = s.ask("OPTIONS", "/mcp", "", "Origin: https://app.example", "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization")
	if status != 204 || head.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("preflight: %d %v", status, head)
	}
	if status, body, _ := s.ask("GET", "/upload", "", "Authorization: Bearer secret"); status != 200 || body != "{}" {
		t.Errorf("extra route: %d %s", status, body)
	}
}

func TestDisconnectCancels(t *testing.T) {
	for name, tt := range map[string]struct {
		c       httpd.Config
		body    string
		headers []string
	}{
		"older": {body: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"},"id":1}`},
		"modern": {body: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait",` + meta + `},"id":1}`,
			headers: []string{modern, "Mcp-Method: tools/call", "Mcp-Name: wait"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, tt.c)
			ctx, cancel := context.WithCancel(context.Background())
			req, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/mcp", strings.NewReader(tt.body))
			for _, h := range tt.headers {
				name, value, _ := strings.Cut(h, ": ")
				req.Header.Set(name, value)
			}
			go func() {
				<-s.started
				cancel()
			}()
			if resp, err := s.client.Do(req); err == nil {
				resp.Body.Close()
				t.Error("the call was answered")
			}
			select {
			case <-s.cancelled:
			case <-time.After(patience):
				t.Fatal("the handler was not cancelled")
			}
		})
	}
}

// A client without a session says in a request of its own which call it gives
// up. A second client that is alike and uses the same id is not hit.
func TestCancelledWithoutSession(t *testing.T) {
	s := serve(t, httpd.Config{})
	call := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"},"id":"a"}`
	cancel := func(agent string) {
		t.Helper()
		if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`, "User-Agent: "+agent); status != 202 {
			t.Errorf("cancelled: %d %s", status, body)
		}
	}
	answered := make(chan string, 2)
	ask := func(agent string) {
		_, body, _ := s.ask("POST", "/mcp", call, "User-Agent: "+agent)
		answered <- body
	}
	go ask("one")
	<-s.started
	cancel("another")
	cancel("one")
	<-s.cancelled
	if body := <-answered; !strings.Contains(body, `"id":"a"`) || !strings.Contains(body, "error") {
		t.Errorf("the cancelled call was answered %s", body)
	}
	go ask("one")
	go ask("one")
	<-s.started
	<-s.started
	cancel("one")
	close(s.release)
	for range 2 {
		if body := <-answered; !strings.Contains(body, "done") {
			t.Errorf("one of two alike was answered %s", body)
		}
	}
}

func TestDisconnectCancelsInSessions(t *testing.T) {
	s := serve(t, httpd.Config{Stateful: true, SSE: true})
	_, _, head := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"initialize","id":1}`, "Accept: text/event-stream")
	call := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"},"id":2}`

	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "POST", s.url+"/mcp", strings.NewReader(call))
	req.Header.Set("Mcp-Session-Id", head.Get("Mcp-Session-Id"))
	go func() {
		<-s.started
		cancel()
	}()
	if resp, err := s.client.Do(req); err == nil {
		resp.Body.Close()
		t.Error("the call was answered")
	}
	<-s.cancelled

	stream := s.do("GET", "/sse", "", "Accept: text/event-stream")
	in := bufio.NewReader(stream.Body)
	in.ReadString('\n')
	url, err := in.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimSpace(strings.TrimPrefix(url, "data: "))
	if status, body, _ := s.ask("POST", path, call); status != 202 {
		t.Errorf("message: %d %s", status, body)
	}
	<-s.started
	stream.Body.Close()
	<-s.cancelled
	for status := 0; status != 404; { // until the server has noticed
		status, _, _ = s.ask("POST", path, call)
	}
}

func TestProgressStream(t *testing.T) {
	s := serve(t, httpd.Config{KeepAlive: 5 * time.Millisecond})
	resp := s.do("POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait","_meta":{"progressToken":"p"}},"id":1}`, "Accept: application/json, text/event-stream")
	defer resp.Body.Close()
	if resp.Header.Get("X-Accel-Buffering") != "no" || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("headers %v", resp.Header)
	}
	in := bufio.NewReader(resp.Body)
	until := func(want string) {
		t.Helper()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatalf("before %q: %v", want, err)
			}
			if strings.Contains(line, want) {
				return
			}
		}
	}
	until(`"notifications/progress"`)
	until(": keep-alive")
	close(s.release)
	until(`"done"`)
}

func TestShutdown(t *testing.T) {
	s := serve(t, httpd.Config{})
	answer := make(chan string, 1)
	go func() {
		_, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"},"id":1}`)
		answer <- body
	}()
	<-s.started
	stopped := make(chan error, 1)
	go func() { stopped <- s.h.Shutdown(context.Background()) }()
	for {
		status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"ping","id":2}`)
		if status == 503 {
			if !strings.Contains(body, "server is stopping") || !strings.Contains(body, "1002") {
				t.Errorf("refusal %s", body)
			}
			break
		}
	}
	close(s.release)
	if body := <-answer; !strings.Contains(body, `"done"`) {
		t.Errorf("in flight: %s", body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdownContextCancels(t *testing.T) {
	s := serve(t, httpd.Config{})
	answer := make(chan string, 1)
	go func() {
		_, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"wait"},"id":1}`)
		answer <- body
	}()
	<-s.started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.h.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	<-s.cancelled
	<-answer
}

func TestStateful(t *testing.T) {
	s := serve(t, httpd.Config{Stateful: true, MaxSessions: 2})
	both := "Accept: application/json, text/event-stream"
	json := "Content-Type: application/json"
	var ids []string
	for range 2 {
		status, body, head := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"initialize","id":1}`, both, json)
		if status != 200 || head.Get("Mcp-Session-Id") == "" {
			t.Fatalf("initialize: %d %s %v", status, body, head)
		}
		ids = append(ids, "Mcp-Session-Id: "+head.Get("Mcp-Session-Id"))
	}
	if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"initialize","id":1}`, both); status != 503 || !strings.Contains(body, "MaxSessions (2)") {
		t.Errorf("third session: %d %s", status, body)
	}
	if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"size","arguments":{"a":"`+strings.Repeat("x", 1<<16)+`"}},"id":2}`, both, ids[0]); status != 200 || !strings.Contains(body, fmt.Sprint(1<<16+8)) {
		t.Errorf("call: %d %s", status, body)
	}
	if who := fmt.Sprint(<-s.clients); "Mcp-Session-Id: "+who != ids[0] {
		t.Errorf("client %v, want %v", who, ids[0])
	}
	if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"ping","id":3}`, both, "Mcp-Session-Id: gone"); status != 404 || !strings.Contains(body, `"id":3`) {
		t.Errorf("unknown session: %d %s", status, body)
	}
	if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/list","id":4}`); status != 200 || !strings.Contains(body, `"size"`) {
		t.Errorf("bare: %d %s", status, body)
	}
	if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"tools/list","params":{`+meta+`},"id":7}`, modern, "Mcp-Method: tools/list"); status != 200 || !strings.Contains(body, "resultType") {
		t.Errorf("modern: %d %s", status, body)
	}
	stream := s.do("GET", "/mcp", "", "Accept: text/event-stream", ids[0]) // Shutdown, at cleanup, must end it
	t.Cleanup(func() { stream.Body.Close() })
	if line, err := bufio.NewReader(stream.Body).ReadString('\n'); err != nil || line != ": ok\n" {
		t.Errorf("event stream: %q, %v", line, err)
	}
	if status, body, _ := s.ask("DELETE", "/mcp", "", ids[1]); status != 204 {
		t.Errorf("delete: %d %s", status, body)
	}
	if status, body, _ := s.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"initialize","id":1}`, both); status != 200 {
		t.Errorf("after a delete: %d %s", status, body)
	}
}

func TestSDKClients(t *testing.T) {
	s := serve(t, httpd.Config{SSE: true, Path: "/x/mcp", SSEPath: "/mcp/sse"})
	for name, transport := range map[string]mcp.Transport{
		"streamable": &mcp.StreamableClientTransport{Endpoint: s.url + "/x/mcp", HTTPClient: s.client},
		"sse":        &mcp.SSEClientTransport{Endpoint: s.url + "/mcp/sse", HTTPClient: s.client},
	} {
		t.Run(name, func(t *testing.T) {
			session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "size", Arguments: map[string]any{"text": strings.Repeat("x", 300<<10)}})
			if err != nil || res.Content[0].(*mcp.TextContent).Text != fmt.Sprint(300<<10+11) {
				t.Errorf("%v, %v", res, err)
			}
			<-s.clients
		})
	}
}

func TestDroppedClientsLeaveNothing(t *testing.T) {
	s := serve(t, httpd.Config{SSE: true})
	for range 200 {
		resp := s.do("GET", "/sse", "", "Accept: text/event-stream")
		if line, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil || line != "event: endpoint\n" {
			t.Fatalf("%q, %v", line, err)
		}
		resp.Body.Close()
	}
	// One stays open: Shutdown (at cleanup) must end it.
	resp := s.do("GET", "/sse", "", "Accept: text/event-stream")
	t.Cleanup(func() { resp.Body.Close() })
}

func TestHealth(t *testing.T) {
	s := serve(t, httpd.Config{Health: func() any { return map[string]bool{"model": false} }})
	if status, body, _ := s.ask("GET", "/health", ""); status != 200 || body != "{\"ready\":{\"model\":false},\"status\":\"ok\"}\n" {
		t.Errorf("%d %s", status, body)
	}
}

func TestBadSettings(t *testing.T) {
	srv := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	for name, c := range map[string]httpd.Config{
		"route taken": {Extra: map[string]http.Handler{"/mcp": http.NotFoundHandler()}},
		"bad origin":  {AllowedOrigins: []string{"*"}},
	} {
		if _, err := httpd.New(srv, c); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestBudget(t *testing.T) {
	budget := wire.NewBudget(1 << 20)
	s := serve(t, httpd.Config{Budget: budget})
	body := `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"size","arguments":{"a":"` + strings.Repeat("x", 600<<10) + `"}},"id":1}`
	hold, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(hold, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 700000\r\n\r\n")
	for budget.Used() == 0 {
		runtime.Gosched()
	}
	if status, answer, head := s.ask("POST", "/mcp", body); status != 503 || head.Get("Retry-After") == "" || !strings.Contains(answer, "MaxBytesInFlight (1048576 bytes)") {
		t.Errorf("over the budget: %d %s", status, answer)
	}
	hold.Close()
	for budget.Used() > 0 {
		runtime.Gosched()
	}
	if status, answer, _ := s.ask("POST", "/mcp", body); status != 200 {
		t.Errorf("within the budget: %d %s", status, answer)
	}
}
