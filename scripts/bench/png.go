package main

import (
	"bytes"
	"context"
	"fmt"
	"image/png"

	"github.com/visions-mcp/visions/internal/imaging"
)

// measurePNG compares the encoding of 4K screenshots with image/png, in CPU time
// and in bytes.
func measurePNG(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, kind := range kinds {
		file, err := b.screenshot(ctx, kind)
		if err != nil {
			return nil, err
		}
		m, _, err := imaging.Decode(ctx, file, imaging.Limits{})
		if err != nil {
			return nil, err
		}
		var ours, theirs bytes.Buffer
		took, err := interleave(b.runs,
			func() (float64, error) {
				ours.Reset()
				return cpuOf(func() error { return imaging.EncodePNG(&ours, m, imaging.Fast) })
			},
			func() (float64, error) {
				theirs.Reset()
				return cpuOf(func() error { return png.Encode(&theirs, m.NRGBA) })
			})
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			row{what: "encode 4K " + kind + ", CPU", ours: fmt.Sprintf("%.0f ms", took[0]*1e3), theirs: fmt.Sprintf("image/png %.0f ms", took[1]*1e3), value: took[0] / took[1], limit: 0.25},
			row{what: "encode 4K " + kind + ", bytes", ours: fmt.Sprint(ours.Len()), theirs: fmt.Sprintf("image/png %d", theirs.Len()), value: float64(ours.Len()) / float64(theirs.Len()), limit: 1})
	}
	return rows, nil
}

// cpuOf returns the seconds of CPU that f takes.
func cpuOf(f func() error) (float64, error) {
	before, err := cpuTime()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := cpuTime()
	return (after - before).Seconds(), err
}
