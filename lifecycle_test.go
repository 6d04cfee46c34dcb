package visions

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/tools"
)

// newServer returns a handle on an Engine of its own that ends with the test.
func newServer(t *testing.T, c ServerConfig) *Server {
	t.Helper()
	eng := newEngine(t, Config{})
	srv, err := Init(eng, c)
	if err != nil {
		t.Fatal(err)
	}
	return srv
}

func newEngine(t *testing.T, c Config) *Engine {
	t.Helper()
	eng, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
	})
	return eng
}

// starters start each transport that is built in. They return what connects a
// client.
func starters(t *testing.T, srv *Server) map[Transport]func() (connect func() mcp.Transport, err error) {
	dir, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return transportStarters(srv, filepath.Join(dir, "s"))
}

func startStdio(srv *Server) (func() mcp.Transport, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	err = srv.StartStdio(context.Background(), &StdioConfig{In: inR, Out: outW})
	if err != nil {
		inR.Close()
		inW.Close()
		outR.Close()
		outW.Close()
		return nil, err
	}
	done := srv.Done(Stdio)
	context.AfterFunc(doneContext{done}, func() { inR.Close(); outW.Close() })
	return func() mcp.Transport { return &mcp.IOTransport{Reader: outR, Writer: inW} }, nil
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	eng := newEngine(t, Config{})
	for name, c := range map[string]ServerConfig{
		"a depth that is no power of two": {QueueDepth: 48}, "a negative depth": {QueueDepth: -2}, "a negative drain": {MaxDrain: -1},
	} {
		if _, err := Init(eng, c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	if _, err := Init(nil, ServerConfig{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a nil Engine: %v", err)
	}
	srv, err := Init(eng, ServerConfig{MaxDrain: 1000})
	if err != nil || srv.c.MaxDrain != MostMaxDrain || srv.c.QueueDepth != DefaultQueueDepth {
		t.Errorf("MaxDrain 1000 became %+v (%v)", srv.c, err)
	}
	for name, c := range map[string]Config{
		"a relative root": {ImageRoots: []string{"x"}}, "nonsense for keep-alive": {KeepAlive: "forever"}, "a negative limit": {ModelCalls: -1},
		"an unknown toolset": {Toolset: []string{"nothing"}}, "a response smaller than its text": {MaxResponseBytes: 1000},
	} {
		if e, err := New(c); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v, want ErrInvalid", name, err)
			e.Close()
		}
	}
}

func TestNilAndClosedHandles(t *testing.T) {
	ctx := context.Background()
	var none *Server
	if err := none.Close(); err != nil {
		t.Errorf("Close on nil: %v", err)
	}
	if err := none.Stop(ctx); !errors.Is(err, ErrInvalid) {
		t.Errorf("Stop on nil: %v", err)
	}
	if _, err := none.Drain(ctx); !errors.Is(err, ErrInvalid) {
		t.Errorf("Drain on nil: %v", err)
	}
	<-none.Done(HTTP)
	srv := newServer(t, ServerConfig{})
	if _, err := srv.Drain(ctx); !errors.Is(err, ErrInvalid) {
		t.Errorf("Drain of a server that is not host-driven: %v", err)
	}
	for range 2 {
		if err := srv.Stop(ctx); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if err := srv.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	for transport, start := range starters(t, srv) {
		if _, err := start(); !errors.Is(err, ErrClosed) {
			t.Errorf("starting %s after Close: %v, want ErrClosed", transport, err)
		}
	}
	eng := srv.eng
	if err := eng.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := eng.Call(ctx, "check_vision_health", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Call after Close: %v", err)
	}
	if _, err := Init(eng, ServerConfig{}); !errors.Is(err, ErrClosed) {
		t.Errorf("Init after Close: %v", err)
	}
}

func TestEveryTransportServesStopsAndServesAgain(t *testing.T) {
	srv := newServer(t, ServerConfig{Name: "host", Version: "9"})
	list := starters(t, srv)
	for range 3 {
		for transport, start := range list {
			connect, err := start()
			if err != nil {
				t.Fatalf("starting %s: %v", transport, err)
			}
			if _, err := start(); !errors.Is(err, ErrBusy) {
				t.Errorf("starting %s twice: %v, want ErrBusy", transport, err)
			}
			listTools(t, connect())
		}
		if err := srv.Stop(context.Background()); err != nil {
			t.Fatalf("Stop: %v", err)
		}
		for transport := range list {
			select {
			case <-srv.Done(transport):
			default:
				t.Errorf("%s still runs after Stop", transport)
			}
		}
	}
}

func listTools(t *testing.T, transport mcp.Transport) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.ListTools(ctx, nil)
	if err != nil || len(res.Tools) != len(tools.Builtin()) {
		t.Fatalf("ListTools: %d tools, %v", len(res.Tools), err)
	}
	if info := session.InitializeResult().ServerInfo; info.Name != "host" || info.Version != "9" {
		t.Errorf("the server calls itself %+v", info)
	}
}

// TestStartAgainstClose races Start with Close and leaves nothing behind.
func TestStartAgainstClose(t *testing.T) {
	eng := newEngine(t, Config{})
	cycles := 500
	if testing.Short() {
		cycles = 50
	}
	base := settled(t, 0)
	files := openFiles(t)
	for i := range cycles {
		srv, err := Init(eng, ServerConfig{CloseTimeout: 2 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var wait sync.WaitGroup
		for _, start := range starters(t, srv) {
			wait.Go(func() {
				if _, err := start(); err != nil && !errors.Is(err, ErrClosed) {
					t.Errorf("cycle %d: %v", i, err)
				}
			})
		}
		wait.Go(func() {
			if err := srv.Close(); err != nil {
				t.Errorf("cycle %d: Close: %v", i, err)
			}
		})
		wait.Wait()
		if err := srv.Close(); err != nil {
			t.Errorf("cycle %d: second Close: %v", i, err)
		}
	}
	if n := settled(t, base); n > base+2 {
		buf := make([]byte, 1<<20)
		t.Errorf("%d goroutines before, %d after:\n%s", base, n, buf[:runtime.Stack(buf, true)])
	}
	runtime.GC() // closes what only finalizers hold: the test's own pipes
	if n := openFiles(t); files > 0 && n > files+10 {
		t.Errorf("%d open files before, %d after", files, n)
	}
	if len(eng.servers) != 0 {
		t.Errorf("the engine still holds %d handles", len(eng.servers))
	}
}

// settled waits until the number of goroutines is at most want, or stops
// falling, and returns it.
func settled(t *testing.T, want int) int {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	n := runtime.NumGoroutine()
	for range 100 {
		if n <= want {
			break
		}
		<-tick.C
		n = runtime.NumGoroutine()
	}
	return n
}

func TestStopOnAnIdlePipeReturnsAtOnce(t *testing.T) {
	srv := newServer(t, ServerConfig{})
	r, w := io.Pipe()
	defer w.Close()
	if err := srv.StartStdio(context.Background(), &StdioConfig{In: r, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := srv.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("Stop took %s", took)
	}
}

func TestTransportsByTag(t *testing.T) {
	srv := newServer(t, ServerConfig{})
	for transport, start := range starters(t, srv) {
		_, err := start()
		if TransportAvailable(transport) && err != nil {
			t.Errorf("%s is available and does not start: %v", transport, err)
		}
		if !TransportAvailable(transport) && !(errors.Is(err, ErrNotBuilt) && errors.Is(err, errors.ErrUnsupported)) {
			t.Errorf("%s is not built in and answers %v, want ErrNotBuilt", transport, err)
		}
	}
	if TransportAvailable(Transport(99)) || !Available() {
		t.Error("an unknown transport is available, or the library is not")
	}
}
