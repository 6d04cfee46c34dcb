package conformance_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/conformance"
	"github.com/visions-mcp/visions/internal/httpd"
)

// npm is the folder where scripts/clients.sh put the official suite.
func npm(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(cache, "visions", "clients-2", "node_modules")
	if _, err := os.Stat(filepath.Join(dir, "../done")); err != nil {
		t.Fatalf("the official suite is missing (%v): make test installs it, or run scripts/clients.sh", err)
	}
	return dir
}

// serve puts the fixtures behind our HTTP edge, with sessions for the
// scenarios in which the server asks the client.
func serve(t *testing.T) (url string) {
	t.Helper()
	h, err := httpd.New(conformance.New(), httpd.Config{Stateful: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	web := httpd.Server(h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		web.Serve(l) //nolint:errcheck // it ends by Shutdown
	}()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		h.Shutdown(ctx)   //nolint:errcheck // the suite may leave streams open
		web.Shutdown(ctx) //nolint:errcheck // see above
		web.Close()
		<-done
	})
	return fmt.Sprintf("http://%s/mcp", l.Addr())
}

// runs are the suite's two lines over the revisions that they know. Each is to
// pass without exceptions; the scenarios of extensions are run and not scored.
var runs = map[string][]string{
	"2025-06-18 by 0.1": {"conformance-0.1", "--spec-version", "2025-06-18"},
	"2025-11-25 by 0.1": {"conformance-0.1", "--suite", "all"},
	"2025-11-25 by 0.2": {"@modelcontextprotocol/conformance", "--requirements", "2025-11-25"},
	"2026-07-28 by 0.2": {"@modelcontextprotocol/conformance", "--requirements", "2026-07-28"},
}

// run runs the suite and returns what it printed.
func run(t *testing.T, url string, args []string, more ...string) string {
	t.Helper()
	dir := npm(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	line := []string{filepath.Join(dir, args[0], "dist/index.js"), "server", "--url", url, "-o", t.TempDir()}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "node/bin/node"), append(append(line, args[1:]...), more...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	total := regexp.MustCompile(`Total: \d+ passed, \d+ failed`).Find(out)
	if total == nil {
		t.Errorf("the suite gave no total:\n%s", out)
	}
	t.Logf("%s", total)
	return string(out)
}

// TestOfficialSuite runs every scenario that the suite has for a server, on one
// URL for all revisions of the protocol.
func TestOfficialSuite(t *testing.T) {
	for name, args := range runs {
		t.Run(name, func(t *testing.T) { run(t, serve(t), args) })
	}
}
