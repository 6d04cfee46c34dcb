package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"os"
	"path/filepath"

	"github.com/visions-mcp/visions"
	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/measure"
)

// measureMeasure compares the loops of package measure with one copy of a 4K
// frame, and visual_diff from bytes to bytes with sharp and a loop in JavaScript,
// all in CPU time.
func measureMeasure(ctx context.Context, b *bench) ([]row, error) {
	page, err := b.frame(ctx, "dashboard")
	if err != nil {
		return nil, err
	}
	photo, err := b.frame(ctx, "photo")
	if err != nil {
		return nil, err
	}
	edited, inverted := imaging.Clone(page), imaging.Clone(page)
	imaging.Invert(inverted)
	edit(edited)
	ink := textMask(page)
	diff := func(after *imaging.Image) func() error {
		return func() error {
			_, err := measure.Diff(ctx, page, after, measure.DiffOptions{Threshold: measure.DefaultDiffThreshold})
			return err
		}
	}
	var rows []row
	copyOf := make([]byte, len(page.Pix))
	for _, c := range []struct {
		what  string
		limit float64
		do    func() error
	}{
		{"histogram of a 4K screenshot", 7, func() error { measure.Histogram(page); return nil }},
		{"histogram of a 4K photo", 75, func() error { measure.Histogram(photo); return nil }},
		{"components of a 4K text mask", 3, func() error { measure.Components(ink, measure.Eight); return nil }},
		{"diff of near-equal 4K frames", 12, diff(edited)},
		{"diff of 4K frames that differ everywhere", 35, diff(inverted)},
	} {
		took, err := interleave(b.runs,
			func() (float64, error) { return cpuOf(c.do) },
			func() (float64, error) { return cpuOf(func() error { copy(copyOf, page.Pix); return nil }) })
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: c.what + ", CPU", ours: fmt.Sprintf("%.1f ms", took[0]*1e3), theirs: fmt.Sprintf("memcpy %.1f ms", took[1]*1e3), value: took[0] / took[1], limit: c.limit})
	}
	whole, err := b.wholeDiff(ctx, page, edited)
	return append(rows, whole...), err
}

// frame is one of the pages as pixels.
func (b *bench) frame(ctx context.Context, kind string) (*imaging.Image, error) {
	file, err := b.screenshot(ctx, kind)
	if err != nil {
		return nil, err
	}
	m, _, err := imaging.Decode(ctx, file, imaging.Limits{})
	return m, err
}

// edit changes forty places the size of a word.
func edit(m *imaging.Image) {
	for i := range 40 {
		x, y := m.Width()*(i%8)/8+20, m.Height()*(i/8)/5+40
		draw.Draw(m, image.Rect(x, y, x+90, y+24), image.NewUniform(color.NRGBA{20, 30, uint8(6 * i), 255}), image.Point{}, draw.Src)
	}
}

// textMask marks what is darker than middle gray.
func textMask(m *imaging.Image) *image.Alpha {
	mask := image.NewAlpha(m.Rect)
	for i := range mask.Pix {
		if m.Pix[4*i+1] < 128 {
			mask.Pix[i] = 255
		}
	}
	return mask
}

// wholeDiff compares visual_diff of two files with what a program does that
// decodes with sharp, compares in a loop and encodes with sharp.
func (b *bench) wholeDiff(ctx context.Context, before, after *imaging.Image) ([]row, error) {
	var files [2][]byte
	for i, m := range []*imaging.Image{before, after} {
		path := filepath.Join(b.dir, fmt.Sprintf("diff%d.png", i))
		f, err := os.Create(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := imaging.EncodePNG(f, m, imaging.Fast); err != nil {
			return nil, err
		}
		if files[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	sharp, stop, err := b.startScript(ctx, "sharpdiff.mjs")
	if err != nil {
		return nil, err
	}
	defer stop()
	worker, err := sharp("diff0.png", "diff1.png")
	if err != nil {
		return nil, err
	}
	eng, err := visions.New(visions.Config{})
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	args := visions.Args{"image_sources": [][]byte{files[0], files[1]}, "analyze": false}
	took, err := interleave(b.runs,
		func() (float64, error) {
			return cpuOf(func() error { _, err := eng.Call(ctx, "visual_diff", args); return err })
		}, worker)
	if err != nil {
		return nil, err
	}
	return []row{{what: "visual_diff of 4K screenshots, CPU", ours: fmt.Sprintf("%.0f ms", took[0]*1e3), theirs: fmt.Sprintf("sharp and a JS loop %.0f ms", took[1]*1e3), value: took[0] / took[1], limit: 0.75}}, nil
}
