package imaging

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"
)

// screen draws something like a page: flat panels with rows of small dark marks.
func screen(w, h int) *Image {
	m := New(w, h)
	m.Opaque = true
	for y := range h {
		for x := range w {
			c := color.NRGBA{250, 250, 252, 255}
			switch {
			case x < w/6:
				c = color.NRGBA{28, 32, 40, 255}
			case y%24 < 12 && x%9 < 6 && (x*7+y*13+x*y)%5 < 2:
				shade := byte((x*31 + y*17) % 90)
				c = color.NRGBA{shade, shade + 5, shade + 9, 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

// photo is noise on a gradient.
func photo(w, h int) *Image {
	m := New(w, h)
	m.Opaque = true
	r := rand.New(rand.NewPCG(1, 2))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{byte(x*255/w) + byte(r.IntN(8)), byte(y*255/h) + byte(r.IntN(8)), byte(r.IntN(40)), 255})
		}
	}
	return m
}

func translucent(w, h int) *Image {
	m := photo(w, h)
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = byte(i)
	}
	m.Opaque = false
	return m
}

func TestEncodePNGKeepsEveryPixel(t *testing.T) {
	flat := New(40, 30)
	flat.Opaque = true
	for i := range flat.Pix {
		flat.Pix[i] = 255
	}
	for name, m := range map[string]*Image{
		"one pixel": New(1, 1), "flat": flat, "screen": screen(333, 77), "photo": photo(101, 59), "alpha": translucent(64, 33),
	} {
		for _, level := range []Level{Fast, Small} {
			var buf bytes.Buffer
			if err := EncodePNG(&buf, m, level); err != nil {
				t.Fatal(err)
			}
			std, err := png.Decode(bytes.NewReader(buf.Bytes()))
			if err != nil {
				t.Fatalf("%s: image/png refuses our file: %v", name, err)
			}
			if got := FromImage(std); !bytes.Equal(got.Pix, m.Pix) {
				t.Errorf("%s, level %d: pixels changed", name, level)
			}
			back, _, err := Decode(context.Background(), buf.Bytes(), Limits{})
			if err != nil || !bytes.Equal(back.Pix, m.Pix) || back.Opaque != m.Opaque {
				t.Errorf("%s, level %d: our own round trip: %v", name, level, err)
			}
		}
	}
}

func TestEncodeJPEGFlattensOnWhite(t *testing.T) {
	var buf bytes.Buffer
	if err := EncodeJPEG(&buf, New(32, 32), 90); err != nil {
		t.Fatal(err)
	}
	m, _, err := image.Decode(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if r, _, _, _ := m.At(16, 16).RGBA(); r < 0xfb00 {
		t.Errorf("a transparent picture became %v, want white", m.At(16, 16))
	}
}
