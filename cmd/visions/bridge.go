package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
)

// bridge copies standard input to a daemon's socket and its answers back. When
// the input ends the daemon still answers what is in flight.
func (p *program) bridge(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bridge", flag.ContinueOnError)
	rest, err := p.parse(fs, args, 0, 1)
	if err != nil {
		return err
	}
	conn, err := p.dial(ctx, argument(rest, 0))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	sent := make(chan error, 1)
	go func() {
		_, err := io.Copy(conn, p.in)
		sent <- err // before the daemon can answer the end with its own
		conn.CloseWrite()
	}()
	_, err = io.Copy(p.out, conn)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading from the daemon: %w", err)
	}
	select {
	case err := <-sent:
		return err
	default:
		return fmt.Errorf("the daemon closed the connection")
	}
}

func (p *program) dial(ctx context.Context, given string) (*net.UnixConn, error) {
	path, err := p.socketPath(given)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("no daemon at %s (%w): start one with `visions serve -unix %s`", path, err, path)
	}
	return conn.(*net.UnixConn), nil
}
