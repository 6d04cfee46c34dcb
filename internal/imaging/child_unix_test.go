//go:build unix

package imaging

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// What one image may cost, whatever it holds.
const (
	childCPU = 2 * time.Second
	childRSS = 512 << 20 // bytes
)

// outcome is what testdata/decodeone prints.
type outcome struct {
	Size    string
	Frames  int
	Class   Class
	Message string
}

// buildDecodeOne builds the child, without the race detector.
func buildDecodeOne(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "decodeone")
	build := exec.Command("go", "build", "-race=false", "-o", bin, "./testdata/decodeone")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// decodeInChild decodes one image in a process of its own, whose CPU time the
// kernel limits, and checks what it took.
func decodeInChild(t *testing.T, bin string, data []byte) outcome {
	t.Helper()
	// One second over the budget, so that a miss is told apart from a loop.
	limit := fmt.Sprintf(`ulimit -t %d && exec "$0"`, int(childCPU/time.Second)+1)
	cmd := exec.Command("/bin/sh", "-c", limit, bin)
	cmd.Stdin = bytes.NewReader(data)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the decoder died: %v\n%.2000s", err, stderr.String())
	}
	if cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(); cpu > childCPU {
		t.Errorf("took %v of CPU (limit %v)", cpu, childCPU)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if rss := int64(usage.Maxrss) * maxrssUnit; rss > childRSS {
		t.Errorf("took %d MiB (limit %d MiB)", rss>>20, childRSS>>20)
	}
	var o outcome
	if err := json.Unmarshal(stdout.Bytes(), &o); err != nil {
		t.Fatalf("%v in %q", err, stdout.String())
	}
	return o
}

func TestHostileFilesStayInTheirLimits(t *testing.T) {
	bin := buildDecodeOne(t)
	for _, f := range manifest(t) {
		t.Run(f.File, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata/hostile", f.File))
			if err != nil {
				t.Fatal(err)
			}
			o := decodeInChild(t, bin, data)
			if !matches(f.Expect, o.Size, o.Class) {
				t.Errorf("%s: got %s%s %s, want %s", f.Why, o.Size, o.Class, o.Message, f.Expect)
			}
		})
	}
}

func TestGeneratedBombsStayInTheirLimits(t *testing.T) {
	bin := buildDecodeOne(t)
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			o := decodeInChild(t, bin, b.make(t))
			runtime.GC() // the next bomb is as large
			if !matches(b.expect, o.Size, o.Class) {
				t.Errorf("got %s%s %s, want %s", o.Size, o.Class, o.Message, b.expect)
			}
			if b.frames != 0 && o.Frames != b.frames {
				t.Errorf("%d frames, want %d", o.Frames, b.frames)
			}
		})
	}
}
