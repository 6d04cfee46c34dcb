package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// endTime is how long the command may take to end when nothing is in flight.
const endTime = 2 * time.Second

// process is a running command: lines of its streams as they come.
type process struct {
	t        *testing.T
	cmd      *exec.Cmd
	in       io.WriteCloser
	out, err chan string
	ended    chan error
}

// launch starts the command; it is killed at the end of the test at the latest.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: cmd, in: in, out: make(chan string, 100), err: make(chan string, 100), ended: make(chan error, 1)}
	outEnd, errEnd := p.lines(cmd.StdoutPipe, p.out), p.lines(cmd.StderrPipe, p.err)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go outEnd()
	go errEnd()
	t.Cleanup(func() {
		cmd.Process.Kill() //nolint:errcheck // it has mostly ended before
		in.Close()
		for range p.out {
		}
		for range p.err {
		}
		cmd.Wait() //nolint:errcheck // only so that nothing is left
	})
	return p
}

// lines opens a stream and returns the function that copies its lines.
func (p *process) lines(open func() (io.ReadCloser, error), to chan<- string) func() {
	r, err := open()
	if err != nil {
		p.t.Fatal(err)
	}
	return func() {
		defer close(to)
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			to <- lines.Text()
		}
	}
}

// next waits for a line.
func (p *process) next(from <-chan string) string {
	p.t.Helper()
	select {
	case line, ok := <-from:
		if !ok {
			p.t.Fatal("the stream ended")
		}
		return line
	case <-time.After(patience):
		p.t.Fatal("no line came")
	}
	return ""
}

func (p *process) say(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// exits waits for the end, which must come in time with the code, and returns
// what was left in the streams.
func (p *process) exits(code int, within time.Duration) (out, errs []string) {
	p.t.Helper()
	late := time.AfterFunc(within, func() { p.cmd.Process.Kill() }) //nolint:errcheck // told by the exit code
	defer late.Stop()
	for line := range p.out {
		out = append(out, line)
	}
	for line := range p.err {
		errs = append(errs, line)
	}
	state, err := p.cmd.Process.Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	if got := state.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d within %s (-1: it was killed)\nstderr: %q", got, code, within, errs)
	}
	return out, errs
}

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	listTools   = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// wantMessage tests that a line is a JSON-RPC answer with a result for the id.
func wantMessage(t *testing.T, line string, id int) {
	t.Helper()
	var m struct {
		Version string          `json:"jsonrpc"`
		ID      int             `json:"id"`
		Result  json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" || m.ID != id || m.Result == nil {
		t.Errorf("standard output has %.200q, want the answer to request %d", line, id)
	}
}

func TestServeSpeaksOnlyProtocolAndEndsWithItsInput(t *testing.T) {
	p := launch(t, surroundings(t), "serve")
	p.say(initialize)
	wantMessage(t, p.next(p.out), 1)
	p.say(initialized)
	p.say("this is no message")
	p.say(listTools)
	if line := p.next(p.out); !json.Valid([]byte(line)) {
		t.Errorf("standard output has %q", line)
	}
	wantMessage(t, p.next(p.out), 2)
	p.in.Close()
	out, errs := p.exits(exitOK, endTime)
	if len(out)+len(errs) != 0 {
		t.Errorf("left on the streams: %q and %q", out, errs)
	}
}

// Requests written before the input ends are all answered.
func TestServeAnswersWhatCameBeforeTheEnd(t *testing.T) {
	o := visionsWith(t, initialize+"\n"+initialized+"\n"+listTools+"\n", surroundings(t), "serve")
	o.want(t, exitOK, `"id":2`, "")
	if o.err != "" {
		t.Errorf("standard error has %q", o.err)
	}
}

func TestServeRefusesMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"an address of others":  {[]string{"-http", "0.0.0.0:0"}, exitUsage, "only 127.0.0.1 is served"},
		"a port that is none":   {[]string{"-http", "127.0.0.1:http"}, exitUsage, "want PORT or 127.0.0.1:PORT"},
		"an argument":           {[]string{"stdio"}, exitUsage, "1 arguments"},
		"an unknown flag":       {[]string{"-htp", "0"}, exitUsage, "-htp"},
		"a queue of no power":   {[]string{"-queue-depth", "3"}, exitFailed, "power of two"},
		"a value of no number":  {[]string{"-model-calls", "many"}, exitUsage, "-model-calls"},
		"an env file not there": {[]string{"-env", "/nowhere/at/all"}, exitFailed, "-env"},
	} {
		t.Run(name, func(t *testing.T) {
			o := visionsWith(t, "", surroundings(t), append([]string{"serve"}, c.args...)...)
			o.want(t, c.code, "", c.says)
			if o.out != "" {
				t.Errorf("standard output has %q", o.out)
			}
		})
	}
}

func TestServeHTTPByEnvironment(t *testing.T) {
	p := launch(t, surroundings(t, "PORT=0"), "serve")
	if line := p.next(p.err); !announcedHTTP.MatchString(line) {
		t.Errorf("standard error has %q", line)
	}
	if err := p.cmd.Process.Signal(os.Kill); err != nil {
		t.Fatal(err)
	}
}
