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
	"time"
)

// patience is how long a test waits for a process before it calls it hung.
const patience = 30 * time.Second

// binary is the command that the tests run, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "visions-cmd-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "visions.exe")
	code := 1
	if err := build(binary, ""); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func build(to, tags string) error {
	out, err := exec.Command("go", "build", "-tags", tags, "-o", to, ".").CombinedOutput()
	if err != nil {
		return fmt.Errorf("go build -tags %q: %w\n%s", tags, err, out)
	}
	return nil
}

// surroundings are the environment of a process: a home of its own, and a model
// server's address at which nothing answers.
func surroundings(t *testing.T, more ...string) []string {
	t.Helper()
	home := t.TempDir()
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "XDG_CACHE_HOME=" + home, "LocalAppData=" + home, "OLLAMA_HOST=http://127.0.0.1:1"}
	for _, name := range []string{"PATH", "TMPDIR", "TEMP", "TMP", "SystemRoot"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return append(env, more...)
}

// outcome is what a process left.
type outcome struct {
	out, err string
	code     int
}

// visionsWith runs the command to its end.
func visionsWith(t *testing.T, stdin string, env []string, args ...string) outcome {
	t.Helper()
	return runBinary(t, binary, stdin, env, args...)
}

func runBinary(t *testing.T, path, stdin string, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = env
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("visions %s did not end within %s", strings.Join(args, " "), patience)
	}
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return outcome{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// want tests an outcome: its exit code, and what its streams must hold.
func (o outcome) want(t *testing.T, code int, out, errs string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	if !strings.Contains(o.out, out) {
		t.Errorf("standard output lacks %q", out)
	}
	if !strings.Contains(o.err, errs) {
		t.Errorf("standard error lacks %q", errs)
	}
	if t.Failed() {
		t.Logf("stdout: %.600s\nstderr: %.600s", o.out, o.err)
	}
}
