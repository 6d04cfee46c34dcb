package imaging

import (
	"bytes"
	"context"
	"image/color"
	"image/png"
	"testing"
)

// dashboard is a 4K page with more colours than a palette holds: a gradient
// head, and marks with soft edges in many tints.
func dashboard() *Image { return dashboardOf(3840, 2160) }

func dashboardOf(w, h int) *Image {
	m := screen(w, h)
	for y := range min(200, h) {
		for x := range m.Width() {
			m.SetNRGBA(x, y, color.NRGBA{byte(40 + y/2), byte(90 + x/64), 190, 255})
		}
	}
	for y := 240; y < m.Height(); y++ {
		for x := m.Width() / 6; x < m.Width(); x++ {
			if p := m.NRGBAAt(x, y); p.R < 100 {
				m.SetNRGBA(x, y, color.NRGBA{p.R, byte(int(p.G) + x/200), byte(int(p.B) + y/100), 255})
			}
		}
	}
	return m
}

func BenchmarkEncodePNG(b *testing.B) {
	for name, m := range map[string]*Image{"screen": screen(3840, 2160), "dashboard": dashboard(), "photo": photo(1920, 1080)} {
		encode := func(label string, f func(*bytes.Buffer) error) {
			b.Run(name+"/"+label, func(b *testing.B) {
				b.SetBytes(int64(len(m.Pix)))
				for b.Loop() {
					var buf bytes.Buffer
					if err := f(&buf); err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(buf.Len()), "bytes")
				}
			})
		}
		encode("fast", func(w *bytes.Buffer) error { return EncodePNG(w, m, Fast) })
		encode("small", func(w *bytes.Buffer) error { return EncodePNG(w, m, Small) })
		encode("image-png", func(w *bytes.Buffer) error { return png.Encode(w, m.NRGBA) })
	}
}

func BenchmarkPreprocess4K(b *testing.B) {
	var file bytes.Buffer
	if err := EncodePNG(&file, dashboard(), Small); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m, _, err := Decode(context.Background(), file.Bytes(), Limits{})
		if err != nil {
			b.Fatal(err)
		}
		Grayscale(m)
		if err := Sharpen(b.Context(), m, 0); err != nil {
			b.Fatal(err)
		}
		var out bytes.Buffer
		if err := EncodePNG(&out, m, Fast); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFilters4K(b *testing.B) {
	page := dashboard()
	for _, f := range []struct {
		name  string
		apply func(*Image) error
	}{
		{"grayscale", func(m *Image) error { m.Gray = false; Grayscale(m); return nil }},
		{"sharpen", func(m *Image) error { return Sharpen(b.Context(), m, 0) }},
		{"sharpen-sigma-2", func(m *Image) error { return Sharpen(b.Context(), m, 2) }},
		{"sharpen-sigma-10", func(m *Image) error { return Sharpen(b.Context(), m, 10) }},
		{"median-1", func(m *Image) error { return Median(b.Context(), m, 1) }},
		{"median-2", func(m *Image) error { return Median(b.Context(), m, 2) }},
		{"median-5", func(m *Image) error { return Median(b.Context(), m, 5) }},
		{"clahe", func(m *Image) error { CLAHE(m, 8, 3); return nil }},
		{"otsu", func(m *Image) error { ThresholdOtsu(m); return nil }},
		{"adaptive", func(m *Image) error { ThresholdAdaptive(m); return nil }},
		{"invert", func(m *Image) error { Invert(m); return nil }},
		{"rotate-90", func(m *Image) error { Rotate(m, 90); return nil }},
		{"resize-720p", func(m *Image) error { Resize(m, 1280, 720); return nil }},
	} {
		m := Clone(page)
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(m.Pix)))
			for b.Loop() {
				if err := f.apply(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
