package visions

import (
	"context"
	"net"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// dialed is a client's transport over a connection made when it is used.
type dialed struct{ network, address string }

func (d dialed) Connect(ctx context.Context) (mcp.Connection, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, err
	}
	return (&mcp.IOTransport{Reader: conn, Writer: conn}).Connect(ctx)
}

func transportStarters(srv *Server, socket string) map[Transport]func() (func() mcp.Transport, error) {
	port := 0 // the second start must get the same one
	return map[Transport]func() (func() mcp.Transport, error){
		Stdio: func() (func() mcp.Transport, error) { return startStdio(srv) },
		Unix: func() (func() mcp.Transport, error) {
			err := srv.StartUnix(context.Background(), &UnixConfig{Path: socket})
			return func() mcp.Transport { return dialed{"unix", socket} }, err
		},
		HTTP: func() (func() mcp.Transport, error) {
			c := HTTPConfig{Port: port}
			err := srv.StartHTTP(context.Background(), &c)
			port = c.Port
			return func() mcp.Transport {
				return &mcp.StreamableClientTransport{Endpoint: "http://127.0.0.1:" + strconv.Itoa(c.Port) + "/mcp", HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
			}, err
		},
	}
}

// openFiles counts the process's descriptors, 0 where they cannot be counted.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
