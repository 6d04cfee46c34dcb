package visions

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/tinyvision"
	"github.com/visions-mcp/visions/model"
)

// realModels is the real Ollama server that the tests share, started by the
// first that asks.
var realModels struct {
	once   sync.Once
	dir    string
	server *tinyvision.Server
	err    error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if realModels.server != nil {
		realModels.server.Stop()
	}
	if realModels.dir != "" {
		os.RemoveAll(realModels.dir)
	}
	os.Exit(code)
}

// counted stands before the real model server and counts the chats that are
// going on.
type counted struct {
	url   string
	chats atomic.Int64
}

func modelServer(t *testing.T) *counted {
	t.Helper()
	r := &realModels
	r.once.Do(func() {
		if r.dir, r.err = os.MkdirTemp("", "visions-ollama-"); r.err == nil {
			r.server, r.err = tinyvision.Start(r.dir)
		}
	})
	if r.err != nil {
		t.Fatalf("the real model server: %v", r.err)
	}
	target, err := url.Parse(r.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{}
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/chat" {
			c.chats.Add(1)
			defer c.chats.Add(-1)
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	c.url = front.URL
	return c
}

func (c *counted) backend(t *testing.T) map[string]model.Model {
	t.Helper()
	m, err := model.NewOllama(model.OllamaConfig{URL: c.url})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]model.Model{"": m}
}

// released checks that no chat is going on a second from now at the latest.
func (c *counted) released(t *testing.T) {
	t.Helper()
	limit := time.After(time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for c.chats.Load() > 0 {
		select {
		case <-tick.C:
		case <-limit:
			t.Errorf("%d chats still go on a second after the cancel", c.chats.Load())
			return
		}
	}
}

// twoColours is red on the left and blue on the right.
func twoColours() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 400, 200))
	draw.Draw(m, m.Rect, image.NewUniform(color.NRGBA{255, 0, 0, 255}), image.Point{}, draw.Src)
	draw.Draw(m, image.Rect(200, 0, 400, 200), image.NewUniform(color.NRGBA{0, 0, 255, 255}), image.Point{}, draw.Src)
	return m
}

func TestARealModelSees(t *testing.T) {
	c := Config{Models: modelServer(t).backend(t), FastModel: tinyvision.Vision}
	img := dataURI(t, twoColours())
	overEach(t, c, ServerConfig{}, nil, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		for colour, left := range map[string]int{"red": 10, "blue": 210} {
			args := map[string]any{"image_source": img, "region": map[string]int{"left": left, "top": 10, "width": 150, "height": 150}}
			text, failed := ask(t, client, "analyze_image", args)
			if failed || !strings.Contains(text, colour) || !strings.Contains(text, `"model":"tinyvision`) {
				t.Errorf("the %s part: %s", colour, text)
			}
		}
		text, failed := ask(t, client, "analyze_image", map[string]any{"image_source": img, "model": "nobody-has-this"})
		if !failed || !strings.Contains(text, "MODEL_NOT_FOUND") || !strings.Contains(text, tinyvision.Vision) {
			t.Errorf("a model that is not installed: %s", text)
		}
	})
}

func TestCancelReachesTheModelsSocket(t *testing.T) {
	server := modelServer(t)
	c := Config{Models: server.backend(t), FastModel: tinyvision.Vision}
	answering := make(chan struct{}, 1000)
	opts := &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		if strings.Contains(r.Params.Message, "answering") {
			answering <- struct{}{}
		}
	}}
	img := dataURI(t, twoColours())
	overEach(t, c, ServerConfig{}, opts, func(t *testing.T, _ *Server, client *mcp.ClientSession) {
		params := &mcp.CallToolParams{Name: "analyze_image", Arguments: map[string]any{"image_source": img, "prompt": "LOOP", "num_predict": 8000}}
		params.SetProgressToken("p")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			res, err := client.CallTool(ctx, params)
			if err == nil {
				err = fmt.Errorf("it was answered %+v", res)
			}
			done <- err
		}()
		within(t, answering, "the model's first words")
		if server.chats.Load() != 1 {
			t.Errorf("%d chats go on, want 1", server.chats.Load())
		}
		cancel()
		server.released(t)
		<-done
		// The one place of the model gate is free again.
		if text, failed := ask(t, client, "analyze_image", map[string]any{"image_source": img}); failed {
			t.Errorf("after the cancel: %s", text)
		}
		for len(answering) > 0 {
			<-answering
		}
	})
}
