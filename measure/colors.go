package measure

import (
	"image"
	"image/color"
)

// ColorShare is a colour's part of an area.
type ColorShare struct {
	Color color.NRGBA // opaque
	Count int         // pixels of exactly this colour
	Share float64     // 0 to 1
}

// Colors returns the n most frequent exact colours of a region, most frequent
// first; an empty region is the whole image.
func Colors(img image.Image, region image.Rectangle, n int) []ColorShare {
	h := histogram(rasterOf(img).within(region))
	top := h.Top(n)
	list := make([]ColorShare, len(top))
	for i, c := range top {
		list[i] = ColorShare{c.Color, c.Count, float64(c.Count) / float64(h.Total())}
	}
	return list
}

// near answers whether colours lie within a Euclidean distance of one colour.
type near struct {
	r, g, b, limit int32
}

func newNear(c color.NRGBA, tolerance float64) near {
	return near{int32(c.R), int32(c.G), int32(c.B), int32(tolerance * tolerance)}
}

func (n near) has(p []byte) bool {
	dr, dg, db := int32(p[0])-n.r, int32(p[1])-n.g, int32(p[2])-n.b
	return dr*dr+dg*dg+db*db <= n.limit
}

// mask marks the pixels within the distance, or, inverted, the others.
func (n near) mask(r raster, invert bool) *image.Alpha {
	m := image.NewAlpha(image.Rect(0, 0, r.w, r.h))
	in, out := uint8(255), uint8(0)
	if invert {
		in, out = out, in
	}
	for y := range r.h {
		row, to := r.row(y), m.Pix[y*m.Stride:][:r.w]
		for x := range to {
			if n.has(row[4*x : 4*x+4]) {
				to[x] = in
			} else {
				to[x] = out
			}
		}
	}
	return m
}
