package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/visions-mcp/visions"
)

// measurePreprocess compares a whole preprocess_and_crop of a 4K screenshot, with
// grayscale and sharpen, with the same chain in sharp on one thread, in CPU time.
func measurePreprocess(ctx context.Context, b *bench) ([]row, error) {
	sharp, stop, err := b.startScript(ctx, "sharp.mjs")
	if err != nil {
		return nil, err
	}
	defer stop()
	eng, err := visions.New(visions.Config{})
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	var rows []row
	for _, kind := range kinds {
		file, err := b.screenshot(ctx, kind)
		if err != nil {
			return nil, err
		}
		worker, err := sharp(kind + ".png")
		if err != nil {
			return nil, err
		}
		args := visions.Args{"image_source": file, "grayscale": true, "sharpen": true, "return_base64": false}
		took, err := interleave(b.runs,
			func() (float64, error) {
				return cpuOf(func() error { _, err := eng.Call(ctx, "preprocess_and_crop", args); return err })
			}, worker)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: "grayscale and sharpen of 4K " + kind + ", CPU", ours: fmt.Sprintf("%.0f ms", took[0]*1e3),
			theirs: fmt.Sprintf("sharp %.0f ms", took[1]*1e3), value: took[0] / took[1], limit: 0.5})
	}
	return rows, nil
}

// startScript returns a function that starts a worker of a script that uses
// sharp, for files of the scratch folder, and returns what measures it; and one
// that ends all workers.
func (b *bench) startScript(ctx context.Context, name string) (worker func(names ...string) (func() (float64, error), error), stop func(), err error) {
	folder, err := output(ctx, filepath.Join(b.scripts, "sharp.sh"))
	if err != nil {
		return nil, nil, err
	}
	script, err := files.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running []*exec.Cmd
	stop = func() {
		cancel()
		for _, cmd := range running {
			cmd.Wait() // killed: its error says no more
		}
	}
	return func(names ...string) (func() (float64, error), error) {
		cmd := exec.CommandContext(ctx, "node", append([]string{path, folder}, names...)...)
		cmd.Dir = b.dir
		cmd.Stderr = os.Stderr
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		running = append(running, cmd)
		answers := bufio.NewReader(out)
		measure := func() (seconds float64, err error) {
			if _, err := io.WriteString(in, "run\n"); err != nil {
				return 0, err
			}
			_, err = fmt.Fscanln(answers, &seconds)
			return seconds, err
		}
		_, err := measure() // warms it up
		return measure, err
	}, stop, nil
}
