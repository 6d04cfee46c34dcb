package measure

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math/rand/v2"
	"testing"
	"time"
)

// Pictures of 3840x2160, the size the ratios of docs/MEASURE.md are for.
const benchW, benchH = 3840, 2160

// screenshot draws cards with rows of text-like strokes: long runs of few
// colours, and some thousands of blends at edges.
func screenshot(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	fill := func(r image.Rectangle, red, green, blue uint8) {
		r = r.Intersect(m.Rect)
		for y := r.Min.Y; y < r.Max.Y; y++ {
			row := m.Pix[m.PixOffset(r.Min.X, y):][:4*r.Dx()]
			for i := 0; i < len(row); i += 4 {
				row[i], row[i+1], row[i+2], row[i+3] = red, green, blue, 255
			}
		}
	}
	fill(m.Rect, 246, 247, 249)
	rnd := rand.New(rand.NewPCG(1, 2))
	for y := 40; y < h; y += 220 {
		for x := 40; x < w; x += 460 {
			fill(image.Rect(x, y, x+420, y+190), 255, 255, 255)
			for line := range 5 {
				for at := x + 16; at < x+380; at += 5 + rnd.IntN(8) {
					top := y + 20 + 32*line
					ink := uint8(rnd.IntN(160))
					fill(image.Rect(at, top, at+2, top+12), ink, ink, uint8(min(255, int(ink)+rnd.IntN(40))))
					fill(image.Rect(at+2, top, at+3, top+12), 160+ink/4, 160+ink/4, 180)
				}
			}
		}
	}
	return m
}

// photo is a gradient under noise: more than a million colours.
func photo(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	rnd := rand.New(rand.NewPCG(3, 4))
	for y := range h {
		for x := range w {
			n := rnd.Uint32()
			p := m.Pix[m.PixOffset(x, y):]
			p[0] = uint8(40 + x*160/w + int(n&31))
			p[1] = uint8(30 + y*180/h + int(n>>8&31))
			p[2] = uint8(60 + (x+y)*120/(w+h) + int(n>>16&31))
			p[3] = 255
		}
	}
	return m
}

// ratio reports the least time of f as a multiple of the least time of one copy
// of the frame; the two alternate, so that they see the same machine.
func ratio(b *testing.B, frame []byte, f func()) {
	b.Helper()
	b.SetBytes(int64(len(frame)))
	copyOf := make([]byte, len(frame))
	least := func(best *time.Duration, f func()) {
		start := time.Now()
		f()
		if d := time.Since(start); *best == 0 || d < *best {
			*best = d
		}
	}
	var work, copied time.Duration
	for b.Loop() {
		least(&work, f)
		b.StopTimer()
		least(&copied, func() { copy(copyOf, frame) })
		b.StartTimer()
	}
	b.ReportMetric(float64(work)/float64(copied), "memcpy")
}

func BenchmarkHistogramScreenshot(b *testing.B) {
	m := screenshot(benchW, benchH)
	ratio(b, m.Pix, func() { Histogram(m) })
	b.ReportMetric(float64(Histogram(m).Len()), "colours")
}

func BenchmarkHistogramPhoto(b *testing.B) {
	m := photo(benchW, benchH)
	ratio(b, m.Pix, func() { Histogram(m) })
	b.ReportMetric(float64(Histogram(m).Len()), "colours")
}

func BenchmarkComponents(b *testing.B) {
	m := screenshot(benchW, benchH)
	mask := image.NewAlpha(m.Rect)
	for i := range mask.Pix {
		if m.Pix[4*i] < 200 {
			mask.Pix[i] = 255
		}
	}
	for _, c := range []Connectivity{Four, Eight} {
		b.Run(fmt.Sprint(c), func(b *testing.B) {
			ratio(b, m.Pix, func() { Components(mask, c) })
			b.ReportMetric(float64(len(Components(mask, c))), "components")
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	before := screenshot(benchW, benchH)
	near := image.NewNRGBA(before.Rect)
	copy(near.Pix, before.Pix)
	for i := range 40 { // forty words that changed
		x, y := 60+i*90, 60+220*(i%9)
		draw.Draw(near, image.Rect(x, y, x+60, y+12), image.NewUniform(color.NRGBA{20, 30, uint8(6 * i), 255}), image.Point{}, draw.Src)
	}
	other := image.NewNRGBA(before.Rect)
	for i := range other.Pix {
		other.Pix[i] = ^before.Pix[i] | uint8(255*(i&3/3))
	}
	for _, c := range []struct {
		name  string
		after *image.NRGBA
		o     DiffOptions
	}{
		{"near", near, DiffOptions{Threshold: DefaultDiffThreshold}},
		{"near/edges", near, DiffOptions{Threshold: DefaultDiffThreshold, CountAntiAliased: true}},
		{"near/perceptual", near, DiffOptions{Threshold: DefaultDiffThreshold, Method: DiffPerceptual}},
		{"different", other, DiffOptions{Threshold: DefaultDiffThreshold}},
		{"different/edges", other, DiffOptions{Threshold: DefaultDiffThreshold, CountAntiAliased: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			ratio(b, before.Pix, func() {
				if _, err := Diff(b.Context(), before, c.after, c.o); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
