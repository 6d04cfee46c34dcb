package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// settle is how long a server is left alone before its idle memory is read.
const settle = 200 * time.Millisecond

// measureStart times `visions serve` from exec to its answer to initialize, and
// reads its memory when it has nothing to do.
func measureStart(ctx context.Context, b *bench) ([]row, error) {
	var idle float64
	took, err := interleave(b.runs, func() (float64, error) {
		seconds, rss, err := startOnce(ctx, b.binary)
		if idle == 0 || rss < idle {
			idle = rss
		}
		return seconds, err
	})
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "exec to the answer to initialize", ours: fmt.Sprintf("%.1f ms", took[0]*1e3), value: took[0] * 1e3, limit: 50, unit: " ms"},
		{what: "idle resident memory", ours: fmt.Sprintf("%.1f MiB", idle/(1<<20)), value: idle / (1 << 20), limit: 25, unit: " MiB"},
	}, nil
}

// startOnce returns seconds and bytes.
func startOnce(ctx context.Context, binary string) (seconds, idle float64, err error) {
	cmd := exec.CommandContext(ctx, binary, "serve", "-stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	defer cmd.Wait()
	defer in.Close()
	c := &client{Writer: in, in: bufio.NewReader(out)}
	if err := c.roundTrip([]byte(initialize)); err != nil {
		return 0, 0, err
	}
	took := time.Since(begin)
	time.Sleep(settle)
	now, _, err := resident(cmd.Process.Pid)
	return took.Seconds(), float64(now), err
}
