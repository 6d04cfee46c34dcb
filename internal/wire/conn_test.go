package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/visions-mcp/visions/internal/wire"
)

// patience bounds every wait of these tests; none comes near it.
const patience = 10 * time.Second

// peer is the client's end of a running connection.
type peer struct {
	t    *testing.T
	conn *wire.Conn
	net.Conn
	in   *bufio.Reader
	done chan error
}

func dial(t *testing.T, s *tools, o wire.Options) *peer {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	o.Close = true
	p := &peer{t: t, Conn: client, in: bufio.NewReaderSize(client, 1<<16), conn: wire.NewConn(s.Server, server, server, o), done: make(chan error, 1)}
	go func() { p.done <- p.conn.Run(context.Background()) }()
	client.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { client.Close() })
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	if _, err := io.WriteString(p.Conn, strings.Join(lines, "\n")+"\n"); err != nil {
		p.t.Error(err)
	}
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		p.t.Fatalf("reading an answer: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) halfClose() { p.Conn.(*net.UnixConn).CloseWrite() }

func (p *peer) ended() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		p.t.Fatal("Run did not return")
		return nil
	}
}

func callLine(id, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

// TestConversations plays testdata/*.txtar: the file "client" is sent line by
// line, then the input ends. A line waits for its answer, which must hold the
// parts of the next line of "server"; marks change that:
//
//	(silent) LINE   gets no answer
//	(begun) LINE    is a call of the tool wait, which begins and stays
//	(release)       lets the tool wait end; its answer comes
//	(half-close)    ends the input early
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no conversations: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			settled(t)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var client, server string
			for _, f := range txtar.Parse(data).Files {
				switch f.Name {
				case "client":
					client = string(f.Data)
				case "server":
					server = string(f.Data)
				}
			}
			s := newTools()
			p := dial(t, s, wire.Options{MaxMessageBytes: 4096})
			// One at a time: each line that expects an answer waits for it.
			want := strings.Split(strings.TrimSpace(server), "\n")
			lines := strings.Split(strings.TrimSuffix(client, "\n"), "\n")
			for _, line := range lines {
				line, silent := strings.CutPrefix(line, "(silent) ")
				line, begun := strings.CutPrefix(line, "(begun) ")
				switch line {
				case "(half-close)":
					p.halfClose()
					continue
				case "(release)":
					close(s.release)
				default:
					p.send(strings.ReplaceAll(line, "<4 KiB>", strings.Repeat("x", 4096)))
				}
				if begun {
					<-s.started
				}
				if silent || begun {
					continue
				}
				if len(want) == 0 {
					t.Fatalf("no expectation for the answer to %.100s", line)
				}
				got := p.line()
				for part := range strings.SplitSeq(want[0], " ... ") {
					if !strings.Contains(got, part) {
						t.Errorf("after  %.200s\nanswer %.400s\nlacks  %s", line, got, part)
					}
				}
				want = want[1:]
			}
			p.halfClose()
			if rest, err := io.ReadAll(p.in); err != nil || len(rest) > 0 || len(want) > 0 {
				t.Errorf("at the end: read %q, %v; still expected %q", rest, err, want)
			}
			if err := p.ended(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInputWithoutFinalNewline(t *testing.T) {
	settled(t)
	var out bytes.Buffer
	conn := wire.NewConn(newTools().Server, strings.NewReader(callLine(`"a"`, "echo", `{"text":"hi"}`)), &out, wire.Options{})
	if err := conn.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"id":"a","result"`) || !strings.Contains(out.String(), `"hi"`) {
		t.Errorf("answer %s", out.String())
	}
}

func TestCloseTimeoutCancelsAndAnswers(t *testing.T) {
	settled(t)
	s := newTools()
	p := dial(t, s, wire.Options{CloseTimeout: time.Millisecond})
	p.send(callLine("1", "wait", "{}"))
	<-s.started
	p.halfClose()
	if got := p.line(); !strings.Contains(got, `"id":1,"error"`) {
		t.Errorf("answer %s", got)
	}
	<-s.cancelled
	if err := p.ended(); err != nil {
		t.Error(err)
	}
}

func TestDisconnectCancels(t *testing.T) {
	settled(t)
	s := newTools()
	p := dial(t, s, wire.Options{CloseTimeout: time.Hour})
	p.send(callLine("1", "wait", "{}"))
	<-s.started
	p.Close()
	select {
	case <-s.cancelled:
	case <-time.After(patience):
		t.Fatal("the handler was not cancelled")
	}
	p.ended()
}

func TestShutdownAnswersWhatIsInFlight(t *testing.T) {
	settled(t)
	s := newTools()
	p := dial(t, s, wire.Options{})
	p.send(callLine("1", "wait", "{}"))
	<-s.started
	stopped := make(chan error, 1)
	go func() { stopped <- p.conn.Shutdown(context.Background()) }()
	for id := 2; ; id++ { // until the refusal begins
		p.send(callLine(fmt.Sprint(id), "echo", `{"text":"late"}`))
		if got := p.line(); strings.Contains(got, "server is stopping") {
			if !strings.Contains(got, `"code":1002`) {
				t.Errorf("refusal %s", got)
			}
			break
		}
	}
	close(s.release)
	if got := p.line(); !strings.Contains(got, `"id":1,"result"`) {
		t.Errorf("answer %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := p.ended(); err != nil {
		t.Error(err)
	}
}

func TestShutdownContextCancels(t *testing.T) {
	settled(t)
	s := newTools()
	p := dial(t, s, wire.Options{})
	p.send(callLine("1", "wait", "{}"))
	<-s.started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.conn.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown: %v", err)
	}
	if got := p.line(); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, "stopping") {
		t.Errorf("answer %s", got)
	}
}

func TestRunContextEndsAnIdlePipe(t *testing.T) {
	settled(t)
	r, hold, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer hold.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- wire.NewConn(newTools().Server, r, io.Discard, wire.Options{}).Run(ctx) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	// The pipe is still its owner's.
	if _, err := hold.WriteString("x"); err != nil {
		t.Error(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
}

func TestIdleTimeout(t *testing.T) {
	settled(t)
	p := dial(t, newTools(), wire.Options{IdleTimeout: 20 * time.Millisecond})
	if _, err := p.in.ReadByte(); err != io.EOF {
		t.Errorf("read: %v, want EOF", err)
	}
	if err := p.ended(); err != nil {
		t.Error(err)
	}
}

// A client that stops in the middle of a long line gives its bytes back.
func TestPauseTimeout(t *testing.T) {
	settled(t)
	budget := wire.NewBudget(1 << 20)
	p := dial(t, newTools(), wire.Options{PauseTimeout: 30 * time.Millisecond, Budget: budget})
	if _, err := io.WriteString(p.Conn, strings.Repeat("x", 512<<10)); err != nil {
		t.Fatal(err)
	}
	if got := p.line(); !strings.Contains(got, "-32600") || !strings.Contains(got, "PauseTimeout") {
		t.Errorf("answer %s", got)
	}
	if err := p.ended(); err != nil {
		t.Error(err)
	}
	if !budget.TryAcquire(budget.Max()) {
		t.Error("the half line still holds its bytes")
	}
}

func TestLargeLine(t *testing.T) {
	settled(t)
	p := dial(t, newTools(), wire.Options{})
	args := `{"text":"` + strings.Repeat("iVBORw0KGgo", 20<<20/11) + `"}`
	go p.send(callLine("1", "size", args))
	if got, want := p.line(), fmt.Sprint(len(args)); !strings.Contains(got, want) {
		t.Errorf("answer %s, want %s", got, want)
	}
	// One over the limit is refused with its id, wherever the id stands.
	go p.send(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"size","arguments":{"text":"` + strings.Repeat("x", 33<<20) + `"}},"id":"end"}`)
	if got := p.line(); !strings.Contains(got, `"id":"end"`) || !strings.Contains(got, "-32600") || !strings.Contains(got, "33554432") {
		t.Errorf("answer %s", got)
	}
	p.send(callLine("2", "echo", `{"text":"alive"}`))
	if got := p.line(); !strings.Contains(got, "alive") {
		t.Errorf("answer %s", got)
	}
	p.halfClose()
	p.ended()
}

func TestBudget(t *testing.T) {
	settled(t)
	budget := wire.NewBudget(1 << 20)
	p := dial(t, newTools(), wire.Options{Budget: budget})
	go p.send(callLine("7", "size", `{"text":"`+strings.Repeat("x", 2<<20)+`"}`))
	if got := p.line(); !strings.Contains(got, `"id":7`) || !strings.Contains(got, `"code":1001`) || !strings.Contains(got, "1048576") {
		t.Errorf("answer %s", got)
	}
	p.send(callLine("8", "size", `{}`))
	p.line()
	p.halfClose()
	p.ended()
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes were not released", n)
	}
}

func TestClientThatNeverReadsIsDropped(t *testing.T) {
	settled(t)
	budget := wire.NewBudget(0)
	p := dial(t, newTools(), wire.Options{Budget: budget, MaxInFlight: 8, WriteTimeout: 50 * time.Millisecond})
	for i := range 100 {
		if _, err := io.WriteString(p.Conn, callLine(fmt.Sprint(i), "big", "{}")+"\n"); err != nil {
			break
		}
	}
	if err := p.ended(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Run: %v, want a write deadline", err)
	}
	if n := budget.Used(); n != 0 {
		t.Errorf("%d bytes were not released", n)
	}
}

func TestWritersNeverInterleave(t *testing.T) {
	settled(t)
	p := dial(t, newTools(), wire.Options{})
	const calls = 50
	for i := range calls {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big","_meta":{"progressToken":%[1]d}}}`, i))
	}
	progress := map[float64]int{}
	for range calls * 4 {
		var m struct {
			ID     *float64
			Params struct{ ProgressToken, Progress float64 }
		}
		line := p.line()
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %.100s: %v", line, err)
		}
		if m.ID != nil {
			if progress[*m.ID] != 3 {
				t.Errorf("call %v was answered after %d of 3 notifications", *m.ID, progress[*m.ID])
			}
			continue
		}
		if progress[m.Params.ProgressToken]++; m.Params.Progress != float64(progress[m.Params.ProgressToken]) {
			t.Errorf("progress %v came as number %d", m.Params.Progress, progress[m.Params.ProgressToken])
		}
	}
	p.halfClose()
	p.ended()
}

func TestSDKClient(t *testing.T) {
	settled(t)
	s := newTools()
	p := dial(t, s, wire.Options{Client: "me"})
	client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), &mcp.IOTransport{Reader: p.Conn, Writer: p.Conn}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := session.ListTools(context.Background(), nil)
	if err != nil || len(list.Tools) != 7 {
		t.Errorf("tools %v, %v", list, err)
	}
	if _, err := session.CallTool(context.Background(), &mcp.CallToolParams{Name: "who"}); err != nil {
		t.Error(err)
	}
	if who := <-s.clients; who != "me" {
		t.Errorf("client %v", who)
	}
	session.Close()
	p.ended()
}

// plainReader hides what its reader can do beside Read.
type plainReader struct{ io.Reader }

func TestPlainReader(t *testing.T) {
	settled(t)
	r, hold := io.Pipe()
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- wire.NewConn(newTools().Server, plainReader{r}, &out, wire.Options{}).Run(ctx)
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	io.WriteString(hold, callLine("1", "echo", "{}")+"\n") // is read by what stayed behind, and ends it
	if out.Len() > 0 {
		t.Errorf("written after the end: %s", out.String())
	}
}

func TestStuckHandlerIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTools()
		stuck := make(chan struct{})
		s.add("stuck", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.started <- "stuck"
			<-stuck
			return text("late"), nil
		})
		client, server := net.Pipe()
		conn := wire.NewConn(s.Server, server, server, wire.Options{Close: true})
		done := make(chan error, 1)
		go func() { done <- conn.Run(context.Background()) }()
		io.WriteString(client, callLine("1", "stuck", "{}")+"\n")
		<-s.started
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := conn.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-done; err == nil || !strings.Contains(err.Error(), "1 calls did not return") {
			t.Errorf("Run: %v", err)
		}
		close(stuck)
	})
}
