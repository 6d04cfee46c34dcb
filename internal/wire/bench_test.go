package wire_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/wire"
)

// edges are the two ways to serve a connection that the benchmarks compare.
var edges = map[string]func(*tools, net.Conn) func(){
	"wire": func(s *tools, c net.Conn) func() {
		conn := wire.NewConn(s.Server, c, c, wire.Options{Close: true})
		return func() { conn.Run(context.Background()) }
	},
	"sdk": func(s *tools, c net.Conn) func() {
		return func() {
			s.Run(context.Background(), &mcp.IOTransport{Reader: c, Writer: c, MaxLineLength: -1})
		}
	},
}

// benchClient returns a connection, past its handshake, of one edge.
func benchClient(b *testing.B, s *tools, edge string) (net.Conn, *bufio.Reader) {
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	run := edges[edge](s, server)
	go func() {
		defer close(done)
		run()
	}()
	b.Cleanup(func() {
		c.Close()
		<-done
	})
	in := bufio.NewReaderSize(c, 1<<16)
	io.WriteString(c, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`+"\n")
	if _, err := in.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return c, in
}

// BenchmarkCall measures a 100-byte echo over a Unix socket: one client that
// waits for each answer, and 16 at once.
func BenchmarkCall(b *testing.B) {
	text := strings.Repeat("x", 100)
	for _, edge := range []string{"wire", "sdk"} {
		for _, clients := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/clients=%d", edge, clients), func(b *testing.B) {
				s := newTools()
				type conn struct {
					net.Conn
					in *bufio.Reader
				}
				free := make(chan conn, clients)
				for range clients {
					c, in := benchClient(b, s, edge)
					free <- conn{c, in}
				}
				line := callLine("1", "echo", `{"text":"`+text+`"}`) + "\n"
				b.SetParallelism(clients)
				b.ReportAllocs()
				b.ResetTimer()
				call := func(c conn) {
					io.WriteString(c, line)
					if _, err := c.in.ReadSlice('\n'); err != nil {
						b.Error(err)
					}
				}
				if clients == 1 {
					c := <-free
					for range b.N {
						call(c)
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						c := <-free
						call(c)
						free <- c
					}
				})
			})
		}
	}
}

// BenchmarkLargeArgument measures a 20 MB argument; B/op over 20 MB tells how
// many times its size is allocated.
func BenchmarkLargeArgument(b *testing.B) {
	line := callLine("1", "size", `{"text":"`+strings.Repeat("iVBORw0KGgo", 20<<20/11)+`"}`) + "\n"
	for _, edge := range []string{"wire", "sdk"} {
		b.Run(edge, func(b *testing.B) {
			c, in := benchClient(b, newTools(), edge)
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for range b.N {
				io.WriteString(c, line)
				if _, err := in.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
