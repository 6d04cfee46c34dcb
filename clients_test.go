package visions

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/tinyvision"
)

// npmClients is the folder where scripts/clients.sh put the clients.
func npmClients(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(cache, "visions", "clients-2")
	if _, err := os.Stat(filepath.Join(dir, "done")); err != nil {
		t.Fatalf("the npm clients are missing (%v): make test installs them, or run scripts/clients.sh", err)
	}
	return dir
}

// buildBinary builds cmd/visions.
func buildBinary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "visions")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/visions").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// step is a line that testdata/client.cjs prints.
type step struct {
	Step       string
	Tools      []string
	Structured any
	Text       string
	Types      []string
	MIME       string
	Progress   int
	Bytes      int
	Size       int
	IsError    bool
	Answered   string
	Rejected   string
}

func TestTypeScriptClients(t *testing.T) {
	dir := npmClients(t)
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
	for _, version := range []string{"1", "2"} {
		for name, address := range map[string][]string{
			"stdio": {buildBinary(t), "serve"}, "unix": {socket}, "http": {fmt.Sprintf("http://127.0.0.1:%d/mcp", web.Port)},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules/node/bin/node"), append([]string{"testdata/client.cjs", version, name}, address...)...)
				cmd.Env = append(os.Environ(), "VISIONS_CLIENTS="+dir, "OLLAMA_HOST="+server.url, "MODEL="+tinyvision.Vision, "IMAGE="+dataURI(t, twoColours()))
				watchClient(t, cmd, server, eng)
			})
		}
	}
}

// watchClient runs the client and checks each step.
func watchClient(t *testing.T, cmd *exec.Cmd, server *counted, eng *Engine) {
	t.Helper()
	var trouble strings.Builder
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var s step
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Errorf("the client says %q", lines.Text())
			continue
		}
		seen = append(seen, s.Step)
		checkStep(t, s, server, eng)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the client: %v\n%s", err, &trouble)
	}
	if want := []string{"list", "call", "read", "error", "aborted", "cancel", "after"}; !slices.Equal(seen, want) {
		t.Errorf("the client took the steps %v, want %v\n%s", seen, want, &trouble)
	}
}

func checkStep(t *testing.T, s step, server *counted, eng *Engine) {
	t.Helper()
	var good bool
	switch s.Step {
	case "list":
		good = len(s.Tools) == len(eng.Tools())
	case "call":
		good = slices.Equal(s.Types, []string{"text", "image", "resource_link"}) && s.MIME == "image/png" &&
			sameJSON(s.Structured, s.Text) && strings.Contains(s.Text, `"width":20,"height":10`)
	case "read":
		good = s.Bytes > 0 && s.Bytes == s.Size && s.MIME == "image/png"
	case "error":
		good = s.IsError && strings.Contains(s.Text, `"INVALID_ARGUMENT"`) && strings.Contains(s.Text, "400x200")
	case "aborted":
		server.released(t)
		good = true
	case "cancel":
		good = s.Rejected != "" && s.Answered == ""
	case "after":
		good = !s.IsError && s.Progress > 0 && strings.Contains(s.Text, "mostly")
	}
	if !good {
		t.Errorf("step %s: %+v", s.Step, s)
	}
}

func sameJSON(v any, text string) bool {
	var w any
	return json.Unmarshal([]byte(text), &w) == nil && reflect.DeepEqual(v, w)
}

func TestInspectorOverStdio(t *testing.T) {
	dir := npmClients(t)
	binary := buildBinary(t)
	inspect := func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules/.bin/mcp-inspector"), append([]string{"--cli", binary, "serve"}, args...)...)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "node_modules/node/bin")+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+t.TempDir())
		var trouble strings.Builder
		cmd.Stderr = &trouble
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("inspector %v: %v\n%s%s", args, err, out, &trouble)
		}
		return string(out)
	}
	eng := newEngine(t, Config{})
	list := inspect("--method", "tools/list", "--strict")
	for _, tool := range eng.Tools() {
		if !strings.Contains(list, `"`+tool.Name+`"`) {
			t.Errorf("the Inspector does not list %s", tool.Name)
		}
	}
	path := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(path, encodePNG(t, twoColours()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := inspect("--method", "tools/call", "--tool-name", "preprocess_and_crop", "--tool-arg", "image_source="+path, "rotate=90")
	var res struct {
		StructuredContent struct{ Width, Height int }
		Content           []struct{ Type, MIMEType string }
	}
	if err := json.Unmarshal([]byte(out), &res); err != nil || res.StructuredContent.Width != 200 || res.StructuredContent.Height != 400 || len(res.Content) != 3 || res.Content[1].MIMEType != "image/png" {
		t.Errorf("the Inspector's call: %v\n%.2000s", err, out)
	}
}
