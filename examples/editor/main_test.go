package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/visions-mcp/visions"
)

// TestSettingsWork uses each settings file as it is, with the command built and
// on PATH, and a server where it expects one.
func TestSettingsWork(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "../../cmd/visions")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	t.Setenv("VISIONS_TOKEN", "an-example")
	eng, err := visions.New(visions.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	srv, err := visions.Init(eng, visions.ServerConfig{Name: "visions"})
	if err != nil {
		t.Fatal(err)
	}
	web := visions.HTTPConfig{Token: "an-example"}
	if err := srv.StartHTTP(t.Context(), &web); err != nil {
		t.Fatal(err)
	}
	if err := srv.StartUnix(t.Context(), &visions.UnixConfig{Path: filepath.Join(dir, "visions.sock")}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stdio.json", "http.json", "daemon.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name) // with the port that is free here
		if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte("11402"), fmt.Append(nil, web.Port)), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := run(context.Background(), path, &out); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := out.String(); !strings.HasPrefix(got, "visions is visions ") || !strings.Contains(got, "preprocess_and_crop") {
			t.Errorf("%s: it printed\n%s", name, got)
		}
	}
}
