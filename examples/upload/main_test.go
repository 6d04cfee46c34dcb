package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/visions-mcp/visions"
)

func TestRun(t *testing.T) {
	eng, err := visions.New(visions.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	srv, err := visions.Init(eng, visions.ServerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	web := visions.HTTPConfig{Token: "an-example"}
	if err := srv.StartHTTP(t.Context(), &web); err != nil {
		t.Fatal(err)
	}
	base := fmt.Sprintf("http://127.0.0.1:%d", web.Port)
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shot.png")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, image := range map[string]any{"a path": path, "bytes": file.Bytes(), "a reader": bytes.NewReader(file.Bytes())} {
		var out bytes.Buffer
		if err := run(t.Context(), base, "an-example", image, &out); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(out.String(), "#000000") || !strings.Contains(out.String(), `"source":"uploads/`) {
			t.Errorf("%s: it printed %s", name, out.String())
		}
	}
	for name, c := range map[string]struct {
		token string
		image any
		says  string
	}{
		"no image":      {"an-example", []byte("text"), "UNSUPPORTED_FORMAT"},
		"a number":      {"an-example", 7, "is no image"},
		"a wrong token": {"other", path, "Unauthorized"},
	} {
		if err := run(t.Context(), base, c.token, c.image, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
