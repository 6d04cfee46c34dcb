//go:build linux || darwin

package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/wire"
)

// socketPath returns a path short enough for a socket.
func socketPath(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "v")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "v.sock")
}

func TestListenUnix(t *testing.T) {
	path := socketPath(t)
	l, err := wire.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	if l.Addr().String() != path {
		t.Errorf("address %s", l.Addr())
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm()&^0o700 != 0 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := wire.ListenUnix(path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("second listener: %v", err)
	}
	if c, err := net.Dial("unix", path); err != nil {
		t.Errorf("the loser broke the winner: %v", err)
	} else {
		c.Close()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestListenUnixReplacesADeadSocket(t *testing.T) {
	path := socketPath(t)
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := wire.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestListenUnixLeavesOthersAlone(t *testing.T) {
	path := socketPath(t)
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := wire.ListenUnix(path); err == nil || errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("regular file: %v", err)
	}
	if data, _ := os.ReadFile(path); string(data) != "precious" {
		t.Errorf("the file became %q", data)
	}
	if _, err := wire.ListenUnix(filepath.Join(filepath.Dir(path), strings.Repeat("x", 200))); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("long path: %v", err)
	}
	// A listener whose file somebody has replaced removes nothing.
	os.Remove(path)
	l, err := wire.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(path)
	if err := os.WriteFile(path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.Close()
	if data, _ := os.ReadFile(path); string(data) != "other" {
		t.Errorf("Close removed the replacement")
	}
}

func TestListenUnixRace(t *testing.T) {
	for range 20 {
		path := socketPath(t)
		dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		dead.SetUnlinkOnClose(false)
		dead.Close()
		var wg sync.WaitGroup
		winners := make(chan net.Listener, 8)
		for range cap(winners) {
			wg.Go(func() {
				l, err := wire.ListenUnix(path)
				if err == nil {
					winners <- l
				} else if !errors.Is(err, syscall.EADDRINUSE) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(winners) != 1 {
			t.Fatalf("%d listeners won", len(winners))
		}
		if c, err := net.Dial("unix", path); err != nil {
			t.Error(err)
		} else {
			c.Close()
		}
		(<-winners).Close()
	}
}

// TestListenUnixProcesses races processes: this binary runs itself.
func TestListenUnixProcesses(t *testing.T) {
	if path := os.Getenv("VISIONS_TEST_SOCKET"); path != "" {
		l, err := wire.ListenUnix(path)
		if err != nil {
			fmt.Println("lost", errors.Is(err, syscall.EADDRINUSE))
			return
		}
		fmt.Println("won")
		io.Copy(io.Discard, os.Stdin) // serves until the parent closes the pipe
		l.Close()
		return
	}
	path := socketPath(t)
	const starters = 4
	results := make(chan string, starters)
	for range starters {
		cmd := exec.Command(os.Args[0], "-test.run=^TestListenUnixProcesses$")
		cmd.Env = append(os.Environ(), "VISIONS_TEST_SOCKET="+path)
		hold, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(out)
		go func() {
			line, _ := in.ReadString('\n')
			results <- strings.TrimSpace(line)
		}()
		t.Cleanup(func() {
			hold.Close()
			io.Copy(io.Discard, in)
			cmd.Wait()
		})
	}
	count := map[string]int{}
	for range starters {
		count[<-results]++
	}
	if count["won"] != 1 || count["lost true"] != starters-1 {
		t.Errorf("results %v", count)
	}
}

func TestServer(t *testing.T) {
	settled(t)
	s := newTools()
	l, err := wire.ListenUnix(socketPath(t))
	if err != nil {
		t.Fatal(err)
	}
	server := wire.NewServer(s.Server, wire.ServerOptions{MaxConns: 2})
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	connect := func() (net.Conn, *bufio.Reader) {
		c, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(patience))
		return c, bufio.NewReader(c)
	}
	ask := func(c net.Conn, in *bufio.Reader, line string) string {
		if line != "" {
			io.WriteString(c, line+"\n")
		}
		got, err := in.ReadString('\n')
		if err != nil {
			t.Errorf("after %q: %v", line, err)
		}
		return got
	}
	a, aIn := connect()
	b, bIn := connect()
	for i, c := range []net.Conn{a, b} {
		if got := ask(c, []*bufio.Reader{aIn, bIn}[i], callLine("1", "who", "{}")); !strings.Contains(got, "ok") {
			t.Errorf("answer %s", got)
		}
	}
	if one, two := <-s.clients, <-s.clients; one == two {
		t.Error("two connections are one client")
	}
	c, cIn := connect()
	if got := ask(c, cIn, ""); !strings.Contains(got, "MaxConns (2)") || !strings.Contains(got, "1001") {
		t.Errorf("third connection: %s", got)
	}
	io.WriteString(a, callLine("2", "wait", "{}")+"\n")
	<-s.started
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	if _, err := bIn.ReadByte(); err != io.EOF {
		t.Errorf("the idle connection: %v, want EOF", err)
	}
	close(s.release)
	if got := ask(a, aIn, ""); !strings.Contains(got, "done") {
		t.Errorf("in flight: %s", got)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(l.Addr().String()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket remains: %v", err)
	}
}
