//go:build !visions_nohttp

package visions

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rpc posts a message and returns the status and the body.
func rpc(t *testing.T, url, body string, headers ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded") // as curl -d sends
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func callMessage(tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
}

func startWeb(t *testing.T, c Config, h HTTPConfig) string {
	t.Helper()
	srv, err := Init(newEngine(t, c), ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.StartHTTP(t.Context(), &h); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d/mcp", h.Port)
}

func TestLocalPathsOverHTTP(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a.png"), filepath.Join(t.TempDir(), "b.png")
	for _, p := range []string{path, other} {
		if err := os.WriteFile(p, encodePNG(t, twoColours()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	crop := func(p string) string {
		return callMessage("preprocess_and_crop", fmt.Sprintf(`{"image_source":%q,"rotate":90}`, p))
	}
	t.Run("without a token", func(t *testing.T) {
		url := startWeb(t, Config{}, HTTPConfig{})
		for _, p := range []string{path, "file://" + path, "/etc/passwd", filepath.Join(dir, "no such file")} {
			_, body := rpc(t, url, crop(p))
			if !strings.Contains(body, "PATH_DENIED") || !strings.Contains(body, "token") || !strings.Contains(body, "ImageRoots") {
				t.Errorf("%s: %s", p, body)
			}
		}
		if _, body := rpc(t, url, crop(dataURI(t, twoColours()))); !strings.Contains(body, `"width":200`) {
			t.Errorf("a data URI: %.300s", body)
		}
	})
	t.Run("with a token", func(t *testing.T) {
		url := startWeb(t, Config{}, HTTPConfig{Token: "secret"})
		if status, body := rpc(t, url, crop(path)); status != http.StatusUnauthorized {
			t.Errorf("no token: %d %s", status, body)
		}
		if _, body := rpc(t, url, crop(path), "Authorization: Bearer secret"); !strings.Contains(body, `"width":200`) {
			t.Errorf("with the token: %.300s", body)
		}
	})
	t.Run("within roots", func(t *testing.T) {
		url := startWeb(t, Config{ImageRoots: []string{dir}}, HTTPConfig{})
		if _, body := rpc(t, url, crop(path)); !strings.Contains(body, `"width":200`) {
			t.Errorf("inside: %.300s", body)
		}
		if _, body := rpc(t, url, crop(other)); !strings.Contains(body, "PATH_DENIED") {
			t.Errorf("outside: %.300s", body)
		}
	})
}

func TestHTTPConfigurationsThatMakeNoSense(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	srv := newServer(t, ServerConfig{})
	for name, c := range map[string]struct {
		config HTTPConfig
		want   error
	}{
		"a port out of range":    {HTTPConfig{Port: 70000}, ErrInvalid},
		"a negative limit":       {HTTPConfig{MaxConns: -1}, ErrInvalid},
		"a port in use":          {HTTPConfig{Port: port}, ErrAddrInUse},
		"an origin that is none": {HTTPConfig{AllowedOrigins: []string{"not a url"}}, ErrInvalid},
		"a route that is taken":  {HTTPConfig{Handlers: map[string]http.Handler{"/health": http.NotFoundHandler()}}, ErrInvalid},
	} {
		if err := srv.StartHTTP(t.Context(), &c.config); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	w := httptest.NewRecorder()
	srv.Handler(HTTPConfig{AllowedOrigins: []string{"not a url"}}).ServeHTTP(w, httptest.NewRequest("POST", "/mcp", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "not a url") {
		t.Errorf("a Handler of nonsense: %d %s", w.Code, w.Body)
	}
}

// A Handler on a host's mux serves from Init on, ends its calls with Stop,
// refuses until a transport starts again, and ends for good with Close.
func TestAHandlerOnTheHostsMux(t *testing.T) {
	h := newHeld()
	eng := newEngine(t, Config{Tools: h.tools()})
	srv, err := Init(eng, ServerConfig{QueueDepth: 1})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/vision/", http.StripPrefix("/vision", srv.Handler(HTTPConfig{})))
	host := httptest.NewServer(mux)
	defer host.Close()
	url := host.URL + "/vision/mcp"
	size := callMessage("size", `{"text":"abc"}`)
	if status, body := rpc(t, url, size); status != 200 || !strings.Contains(body, `\"length\":3`) {
		t.Fatalf("%d %s", status, body)
	}
	answer := make(chan string, 1)
	go func() {
		_, body := rpc(t, url, callMessage("hold", `{}`))
		answer <- body
	}()
	within(t, h.started, "the held call")
	if _, body := rpc(t, url, size); !strings.Contains(body, "QUEUE_FULL") {
		t.Errorf("the Handler passes another queue: %s", body)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- srv.Stop(t.Context()) }()
	for status := 0; status != http.StatusServiceUnavailable; {
		status, _ = rpc(t, url, size)
	}
	close(h.release)
	if body := within(t, answer, "the answer"); !strings.Contains(body, `\"held\":true`) {
		t.Errorf("the call in flight: %s", body)
	}
	if err := within(t, stopped, "the end of Stop"); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if status, body := rpc(t, url, size); status != http.StatusServiceUnavailable {
		t.Errorf("after Stop: %d %s", status, body)
	}
	if err := srv.StartHTTP(t.Context(), &HTTPConfig{}); err != nil {
		t.Fatal(err)
	}
	if status, body := rpc(t, url, size); status != 200 {
		t.Errorf("after a new start: %d %s", status, body)
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if status, body := rpc(t, url, size); status != http.StatusServiceUnavailable {
		t.Errorf("after Close: %d %s", status, body)
	}
	w := httptest.NewRecorder()
	srv.Handler(HTTPConfig{}).ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1/mcp", strings.NewReader(size)))
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("a Handler made after Close: %d", w.Code)
	}
}

func TestHealthWithoutAModel(t *testing.T) {
	url := startWeb(t, Config{}, HTTPConfig{Token: "secret"})
	resp, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 || !strings.Contains(string(body), `"status":"ok"`) {
		t.Errorf("%d %s (%v)", resp.StatusCode, body, err)
	}
}
