//go:build unix

package program_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
)

// script writes a shell script that stands in for the program.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tesseract")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// client of a program that tells its version and then does what body says.
func client(t *testing.T, body string) ocr.Client {
	t.Helper()
	e := program.New(program.Config{Path: script(t, `[ "$1" != --version ] || { echo "tesseract 5.9"; exit; }`+"\n"+body)})
	c, err := e.NewClient(t.Context(), []string{"eng"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestProgramsThatFail(t *testing.T) {
	for name, c := range map[string]struct{ body, says string }{
		"it crashes":              {`kill -SEGV $$`, "segmentation fault"},
		"it crashes in the midst": {`cat >/dev/null; echo "Error: out of luck" >&2; kill -ABRT $$`, "out of luck"},
		"it fails":                {`echo "Error opening data file" >&2; exit 1`, "Error opening data file"},
		"it answers no table":     {`printf '5\t1\t1\n'`, "3 fields"},
		"it answers no number":    {`printf '5\t1\t1\t1\t1\t1\tx\t1\t1\t1\t90\tword\n'`, `"x"`},
		"it answers too much":     {`cat >/dev/null; exec yes`, "more than 33554432 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client(t, c.body).Read(t.Context(), page(2000, 1000), ocr.PageOptions{Segmentation: ocr.Page})
			if !errors.Is(err, ocr.ErrEngine) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%.300v, want ErrEngine with %q", err, c.says)
			}
		})
	}
}

func TestProgramsThatEndEarly(t *testing.T) {
	words, err := client(t, "exit").Read(t.Context(), page(4000, 4000), ocr.PageOptions{Segmentation: ocr.Page})
	if err != nil || len(words) != 0 {
		t.Errorf("a program that reads nothing: %d words, %v", len(words), err)
	}
}

func TestComplaintsAreCutShort(t *testing.T) {
	c := client(t, `cat >/dev/null; head -c 3000000 /dev/zero | tr '\0' e >&2; exit 3`)
	_, err := c.Read(t.Context(), page(60, 20), ocr.PageOptions{})
	if !errors.Is(err, ocr.ErrEngine) || !strings.Contains(err.Error(), "eeee") || len(err.Error()) > 2000 {
		t.Errorf("%.100v, want the first of what it said", err)
	}
}

// What the program started dies with it, at once.
func TestCancelKillsTheProcessGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	c := client(t, `sleep 1000 & echo $! >`+pidFile+`.new; mv `+pidFile+`.new `+pidFile+`; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Read(ctx, page(60, 20), ocr.PageOptions{Segmentation: ocr.Page})
		done <- err
	}()
	var pid int
	for deadline := time.Now().Add(10 * time.Second); pid == 0; time.Sleep(time.Millisecond) {
		if raw, err := os.ReadFile(pidFile); err == nil {
			if pid, err = strconv.Atoi(strings.TrimSpace(string(raw))); err != nil {
				t.Fatal(err)
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("the program did not start")
		}
	}
	cancel()
	start := time.Now()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want Canceled", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("the reading ended %s after it was cancelled", took)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the reading did not end")
	}
	for deadline := time.Now().Add(10 * time.Second); alive(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d, which the program started, lives on", pid)
		}
	}
}

// alive tells whether a process runs; one that nobody has waited for does not.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

func TestOnlyTheProgramGetsTheThreadLimit(t *testing.T) {
	before := os.Environ()
	_, err := client(t, `echo "limit is $OMP_THREAD_LIMIT" >&2; exit 1`).Read(t.Context(), page(60, 20), ocr.PageOptions{})
	if err == nil || !strings.Contains(err.Error(), "limit is 1") {
		t.Errorf("the program got another limit: %v", err)
	}
	if after := os.Environ(); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("the host's environment changed from %q to %q", before, after)
	}
}

// Waiting for somebody else who looks for the engine ends with the context.
func TestWaitingForTheVersionEnds(t *testing.T) {
	e := program.New(program.Config{Path: script(t, "sleep 100")})
	looking, stop := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() { _, err := e.Info(looking); asked <- err }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := ocr.First(e).Info(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting: %v", err)
	}
	stop()
	if err := <-asked; !errors.Is(err, context.Canceled) {
		t.Errorf("looking: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("both took %s", took)
	}
}
