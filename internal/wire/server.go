package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// DefaultMaxConns is how many connections a [Server] serves at once.
const DefaultMaxConns = 64

// acceptPause is the wait after a failed Accept (out of file descriptors, say).
const acceptPause = 50 * time.Millisecond

// ServerOptions of a [Server]. The zero value works.
type ServerOptions struct {
	Options       // of each connection; Client and Close are set by the server
	MaxConns int  // connections at once; 0 is [DefaultMaxConns]
	AnyUser  bool // serve peers of other users on a Unix socket too
}

// Server serves the connections of a listener.
type Server struct {
	srv *mcp.Server
	o   ServerOptions

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	listener net.Listener
	stopping bool
	wg       sync.WaitGroup
	cancel   context.CancelFunc
	ctx      context.Context
}

// NewServer returns a server of srv, which must have been given to [Prepare].
func NewServer(srv *mcp.Server, o ServerOptions) *Server {
	o.Options = o.Options.withDefaults()
	o.Close, o.Client = true, nil
	if o.MaxConns <= 0 {
		o.MaxConns = DefaultMaxConns
	}
	s := &Server{srv: srv, o: o, conns: make(map[*Conn]struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve accepts connections until Shutdown, which closes l. It is called once.
//
// # Errors
//
// nil after Shutdown, else what ended l.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.stopping {
		s.mu.Unlock()
		return l.Close()
	}
	s.listener = l
	s.mu.Unlock()
	for {
		conn, err := l.Accept()
		if err == nil {
			s.serve(conn)
			continue
		}
		if s.isStopping() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		s.o.Logger.Warn("a connection could not be accepted", "error", err)
		select {
		case <-time.After(acceptPause):
		case <-s.ctx.Done():
		}
	}
}

func (s *Server) isStopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// serve runs one connection on a goroutine, or refuses it.
func (s *Server) serve(conn net.Conn) {
	if !s.o.AnyUser {
		if err := checkPeer(conn); err != nil {
			s.o.Logger.Warn("a connection was refused", "error", err)
			refuseConn(conn, "connection refused: "+err.Error())
			return
		}
	}
	c := NewConn(s.srv, conn, conn, s.o.Options)
	s.mu.Lock()
	full := len(s.conns) >= s.o.MaxConns
	refuse := full || s.stopping
	if !refuse {
		s.conns[c] = struct{}{}
		s.wg.Add(1)
	}
	s.mu.Unlock()
	if refuse {
		refuseConn(conn, fmt.Sprintf("the server is busy: MaxConns (%d) connections are open; retry later", s.o.MaxConns))
		return
	}
	go func() {
		defer s.wg.Done()
		if err := c.Run(s.ctx); err != nil {
			s.o.Logger.Info("a connection ended", "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.conns, c)
	}()
}

// refuseConn says why and hangs up. The line fits the socket's buffer, so it
// does not wait for a reader.
func refuseConn(conn net.Conn, why string) {
	newWriter(conn, time.Second).frame(ErrorFrame(nil, rpcError(CodeBusy, why))) //nolint:errcheck // it is hung up anyway
	conn.Close()                                                                 //nolint:errcheck // nothing is left to do
}

// Shutdown closes the listener, refuses new requests, answers those in flight
// on every connection and joins. When ctx ends first, calls are cancelled and
// its cause is returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping = true
	l := s.listener
	conns := make([]*Conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	var err error
	if l != nil {
		if err = l.Close(); errors.Is(err, net.ErrClosed) {
			err = nil
		}
	}
	errs := make(chan error, len(conns))
	for _, c := range conns {
		go func() { errs <- c.Shutdown(ctx) }()
	}
	for range conns {
		if e := <-errs; e != nil {
			err = e
		}
	}
	s.wg.Wait()
	s.cancel()
	return err
}
