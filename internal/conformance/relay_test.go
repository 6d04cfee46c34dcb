package conformance_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/visions-mcp/visions/internal/conformance"
	"github.com/visions-mcp/visions/internal/wire"
)

// relay lets the suite, which speaks HTTP alone, test a stream: each session,
// and each request without one, is a connection of its own. It is no part of
// what is tested, so it does only what the scenarios need.
type relay struct {
	t    *testing.T
	dial func() (io.ReadWriteCloser, error)

	mu       sync.Mutex
	next     int
	sessions map[string]*relayed
}

// relayed is one connection.
type relayed struct {
	conn io.ReadWriteCloser
	mu   sync.Mutex
	open map[string]chan []byte // requests that wait for their answer, by id
}

// message is what the relay must see of a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  *struct{ Code int }
}

func (r *relay) connect() (*relayed, error) {
	conn, err := r.dial()
	if err != nil {
		return nil, err
	}
	c := &relayed{conn: conn, open: map[string]chan []byte{}}
	go func() {
		lines := bufio.NewReaderSize(conn, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			c.deliver(line)
		}
	}()
	return c, nil
}

// deliver gives an answer to its request, and all else to a request that waits.
func (c *relayed) deliver(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.open[string(m.ID)]
	if m.Method != "" || to == nil {
		for _, key := range slices.Sorted(maps.Keys(c.open)) {
			to = c.open[key]
		}
	}
	if to != nil {
		to <- line
	}
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	session := req.Header.Get("Mcp-Session-Id")
	if req.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	c := r.sessions[session]
	r.mu.Unlock()
	if c == nil {
		if c, err = r.connect(); err != nil {
			r.t.Error(err)
			return
		}
		if m.Method == "initialize" {
			r.mu.Lock()
			r.next++
			session = strconv.Itoa(r.next)
			r.sessions[session] = c
			r.mu.Unlock()
			w.Header().Set("Mcp-Session-Id", session)
		} else {
			defer c.conn.Close()
		}
	}
	c.forward(w, req, m, body)
}

// forward sends a message and streams what comes until its answer.
func (c *relayed) forward(w http.ResponseWriter, req *http.Request, m message, body []byte) {
	answers := make(chan []byte, 100)
	call := m.ID != nil && m.Method != ""
	if call {
		c.mu.Lock()
		c.open[string(m.ID)] = answers
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			delete(c.open, string(m.ID))
			c.mu.Unlock()
		}()
	}
	if _, err := c.conn.Write(append(slices.DeleteFunc(body, func(b byte) bool { return b == '\n' }), '\n')); err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if !call {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	started := false
	for {
		select {
		case line := <-answers:
			var answer message
			json.Unmarshal(line, &answer) //nolint:errcheck // it was read before
			last := answer.Method == "" && string(answer.ID) == string(m.ID)
			if last && !started {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status(answer, req))
				w.Write(line) //nolint:errcheck // the suite is gone
				return
			}
			if !started {
				w.Header().Set("Content-Type", "text/event-stream")
				started = true
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n", line)
			w.(http.Flusher).Flush()
			if last {
				return
			}
		case <-req.Context().Done():
			return
		}
	}
}

// status is what the revision 2026-07-28 has HTTP say beside an error.
func status(answer message, req *http.Request) int {
	switch {
	case answer.Error == nil || req.Header.Get("Mcp-Protocol-Version") < "2026-07-28":
		return http.StatusOK
	case answer.Error.Code == -32601:
		return http.StatusNotFound
	}
	return http.StatusBadRequest
}

// TestOfficialSuiteOverStreams runs the scenarios over a Unix socket and over
// pipes. testdata/http-only.yml names the ones that test HTTP itself.
func TestOfficialSuiteOverStreams(t *testing.T) {
	only, err := filepath.Abs("testdata/http-only.yml")
	if err != nil {
		t.Fatal(err)
	}
	for name, dial := range map[string]func(*testing.T) func() (io.ReadWriteCloser, error){"unix": overUnix, "pipes": overPipes} {
		t.Run(name, func(t *testing.T) {
			front := httptest.NewServer(&relay{t: t, dial: dial(t), sessions: map[string]*relayed{}})
			defer front.Close()
			for name, args := range runs {
				t.Run(name, func(t *testing.T) { run(t, front.URL+"/mcp", args, "--expected-failures", only) })
			}
		})
	}
}

func overUnix(t *testing.T) func() (io.ReadWriteCloser, error) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := wire.ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := wire.NewServer(conformance.New(), wire.ServerOptions{MaxConns: 1000}) // the suite leaves its sessions open
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Shutdown(t.Context()) //nolint:errcheck // sessions of the relay are cut
		<-done
	})
	return func() (io.ReadWriteCloser, error) { return net.Dial("unix", path) }
}

// pair is the client's end of two pipes.
type pair struct {
	io.Reader
	io.Writer
	close func()
}

func (p pair) Close() error {
	p.close()
	return nil
}

func overPipes(t *testing.T) func() (io.ReadWriteCloser, error) {
	srv := conformance.New()
	return func() (io.ReadWriteCloser, error) {
		inR, inW, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		outR, outW, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		conn := wire.NewConn(srv, inR, outW, wire.Options{Close: true})
		go conn.Run(t.Context()) //nolint:errcheck // it ends with its input
		return pair{outR, inW, func() { inW.Close(); outR.Close() }}, nil
	}
}
