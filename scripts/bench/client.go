package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// client speaks lines with a server and decodes nothing, so that what is
// measured is the server.
type client struct {
	io.Writer
	in    *bufio.Reader
	close func() error
}

// dial connects and shakes hands.
func dial(socket string) (*client, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	c := &client{conn, bufio.NewReaderSize(conn, 64<<10), conn.Close}
	if err := c.roundTrip([]byte(initialize)); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// roundTrip sends a line and reads its answer, which must be a success.
func (c *client) roundTrip(line []byte) error {
	if _, err := c.Write(line); err != nil {
		return err
	}
	var head []byte // the start of the answer, for the message
	for {
		part, err := c.in.ReadSlice('\n')
		if head == nil {
			head = bytes.Clone(part[:min(len(part), 512)])
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if err != nil {
			return err
		}
		if bytes.Contains(part, []byte(`"isError":true`)) || bytes.Contains(head, []byte(`"error":{`)) {
			return fmt.Errorf("the server answers %s", head)
		}
		return nil
	}
}
