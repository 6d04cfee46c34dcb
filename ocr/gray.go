package ocr

import (
	"fmt"
	"image"
	"image/draw"

	"github.com/visions-mcp/visions/internal/imaging"
	xdraw "golang.org/x/image/draw"
)

// inkAlpha is the alpha, 0 to 255, from which a pixel counts as ink when the
// ground under a transparent picture is chosen.
const inkAlpha = 128

// pixels returns the part of img as tight pixels with its origin at 0,0.
func pixels(img image.Image, part image.Rectangle) *imaging.Image {
	b := img.Bounds()
	if m, ok := img.(*imaging.Image); ok && part.Size() == b.Size() {
		return m
	}
	out := imaging.New(part.Dx(), part.Dy())
	if m, ok := img.(*imaging.Image); ok {
		for y := range part.Dy() {
			from := m.PixOffset(part.Min.X, part.Min.Y+y)
			copy(out.Pix[y*out.Stride:(y+1)*out.Stride], m.Pix[from:from+4*part.Dx()])
		}
		out.Opaque = m.Opaque
		return out
	}
	draw.Draw(out.NRGBA, out.Rect, img, b.Min.Add(part.Min), draw.Src)
	out.Opaque = out.NRGBA.Opaque()
	return out
}

// flattened lays a transparent picture on white, or on black when its ink is
// light. The pixels stay as they are when nothing shows through.
func flattened(m *imaging.Image) (_ *imaging.Image, step string) {
	if m.Opaque {
		return m, ""
	}
	var sum, weight, clear int
	for i := 0; i < len(m.Pix); i += 4 {
		p := m.Pix[i : i+4 : i+4]
		if p[3] < 255 {
			clear++
		}
		if p[3] >= inkAlpha {
			sum += luma(p) * int(p[3])
			weight += int(p[3])
		}
	}
	if clear == 0 {
		return m, ""
	}
	ground, name := 255, "white"
	if weight > 0 && sum/weight >= 128 {
		ground, name = 0, "black"
	}
	out := imaging.New(m.Width(), m.Height())
	for i := 0; i < len(m.Pix); i += 4 {
		p, q := m.Pix[i:i+4:i+4], out.Pix[i:i+4:i+4]
		a := int(p[3])
		for c := range 3 {
			q[c] = uint8((int(p[c])*a + ground*(255-a) + 127) / 255)
		}
		q[3] = 255
	}
	out.Opaque = true
	return out, "transparency laid on " + name
}

// luma is the brightness of a pixel by the weights of Rec. 601, 0 to 255.
func luma(p []uint8) int { return (299*int(p[0]) + 587*int(p[1]) + 114*int(p[2]) + 500) / 1000 }

// grayOf is the brightness of an opaque picture.
func grayOf(m *imaging.Image) *image.Gray {
	g := image.NewGray(image.Rect(0, 0, m.Width(), m.Height()))
	for i, j := 0, 0; j < len(g.Pix); i, j = i+4, j+1 {
		g.Pix[j] = uint8(luma(m.Pix[i : i+4 : i+4]))
	}
	return g
}

func histogram(g *image.Gray) (h [256]int) {
	for _, v := range g.Pix {
		h[v]++
	}
	return h
}

// median is the value below which half of the pixels are.
func median(h *[256]int) int {
	all := 0
	for _, n := range h {
		all += n
	}
	below := 0
	for v, n := range h {
		if below += n; 2*below >= all {
			return v
		}
	}
	return 255
}

// darkOnLight inverts a page whose ground is dark.
func darkOnLight(g *image.Gray) (*image.Gray, string) {
	h := histogram(g)
	if median(&h) >= 128 {
		return g, ""
	}
	out := image.NewGray(g.Rect)
	for i, v := range g.Pix {
		out.Pix[i] = 255 - v
	}
	return out, "inverted"
}

// threshold is the value that best parts a histogram in two by Otsu's method
// (IEEE Transactions on Systems, Man, and Cybernetics 9, 1979).
func threshold(h *[256]int) int {
	var all, sum float64
	for v, n := range h {
		all += float64(n)
		sum += float64(v * n)
	}
	best, at := -1.0, 127
	var below, belowSum float64
	for v, n := range h {
		below += float64(n)
		belowSum += float64(v * n)
		if below == 0 || below == all {
			continue
		}
		apart := belowSum/below - (sum-belowSum)/(all-below)
		if between := below * (all - below) * apart * apart; between > best {
			best, at = between, v
		}
	}
	return at
}

// scaled enlarges a page with a sharp cubic filter.
func scaled(g *image.Gray, w, h int) *image.Gray {
	if g.Rect.Dx() == w && g.Rect.Dy() == h {
		return g
	}
	out := image.NewGray(image.Rect(0, 0, w, h))
	xdraw.CatmullRom.Scale(out, out.Rect, g, g.Rect, xdraw.Src, nil)
	return out
}

// scaleFor is the factor by which a page is enlarged: so much that small text
// can be read, and no more than fits.
func scaleFor(g *image.Gray, glyph int) float64 {
	f := 2.0
	if glyph >= largeGlyph {
		f = 1
	}
	w, h := float64(g.Rect.Dx()), float64(g.Rect.Dy())
	for f > 1 && (w*h*f*f > maxPagePixels || max(w, h)*f > maxPageSide) {
		f -= 0.25
	}
	for w*h*f*f > maxPagePixels || max(w, h)*f > maxPageSide {
		f *= 0.9
	}
	return f
}

func describeScale(f float64) string {
	if f == 1 {
		return ""
	}
	return fmt.Sprintf("scale %.3g", f)
}
