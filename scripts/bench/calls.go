package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Sizes of one run.
const (
	soloCalls   = 2000
	manyClients = 16
	manyCalls   = 400 // of each client
)

// measureCalls compares a 100-byte echo over the Unix socket with the SDK's
// own: the median of one client's calls, and the rate of 16 clients.
func measureCalls(ctx context.Context, b *bench) ([]row, error) {
	line, err := call("echo", text{strings.Repeat("x", 100)})
	if err != nil {
		return nil, err
	}
	var solo, many []func() (float64, error)
	for _, role := range []string{"engine", "sdk"} {
		socket := filepath.Join(b.dir, role)
		c, err := start(ctx, socket, b.self, "-role", role, "-socket", socket)
		if err != nil {
			return nil, err
		}
		defer c.stop()
		solo = append(solo, func() (float64, error) { return medianCall(socket, line) })
		many = append(many, func() (float64, error) { return allCalls(socket, line) })
	}
	median, err := interleave(b.runs, solo...)
	if err != nil {
		return nil, err
	}
	total, err := interleave(b.runs, many...)
	if err != nil {
		return nil, err
	}
	rate := func(seconds float64) string { return fmt.Sprintf("%.0f/s", manyClients*manyCalls/seconds) }
	return []row{
		{what: "100-byte call, median", ours: fmt.Sprintf("%.1f us", median[0]*1e6), theirs: fmt.Sprintf("SDK %.1f us", median[1]*1e6), value: median[0] / median[1], limit: 1.5},
		{what: "100-byte calls, 16 clients", ours: rate(total[0]), theirs: "SDK " + rate(total[1]), value: total[1] / total[0], limit: 0.7, atLeast: true},
	}, nil
}

// medianCall returns seconds.
func medianCall(socket string, line []byte) (float64, error) {
	c, err := dial(socket)
	if err != nil {
		return 0, err
	}
	defer c.close()
	took := make([]time.Duration, soloCalls)
	for i := range took {
		begin := time.Now()
		if err := c.roundTrip(line); err != nil {
			return 0, err
		}
		took[i] = time.Since(begin)
	}
	slices.Sort(took)
	return took[len(took)/2].Seconds(), nil
}

// allCalls returns the seconds that all calls of all clients take.
func allCalls(socket string, line []byte) (float64, error) {
	var clients [manyClients]*client
	for i := range clients {
		c, err := dial(socket)
		if err != nil {
			return 0, err
		}
		defer c.close()
		clients[i] = c
	}
	failed := make(chan error, manyClients)
	var group sync.WaitGroup
	begin := time.Now()
	for _, c := range clients {
		group.Go(func() {
			for range manyCalls {
				if err := c.roundTrip(line); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	took := time.Since(begin)
	select {
	case err := <-failed:
		return 0, err
	default:
		return took.Seconds(), nil
	}
}
