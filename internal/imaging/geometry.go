package imaging

import (
	"encoding/binary"
	"image"
)

// Crop copies the part of m inside r, which is in m's pixels.
func Crop(m *Image, r image.Rectangle) *Image {
	r = r.Intersect(m.Rect)
	out := newLike(m, r.Dx(), r.Dy())
	for y := range out.Height() {
		copy(out.row(y), m.Pix[m.PixOffset(r.Min.X, r.Min.Y+y):])
	}
	return out
}

// Rotate turns the image clockwise by 90, 180 or 270 degrees; other angles
// return it as it is.
func Rotate(m *Image, degrees int) *Image {
	w, h := m.Width(), m.Height()
	var out *Image
	var target func(x, y int) int // byte offset in out of the pixel at x, y
	switch degrees {
	case 90:
		out = newLike(m, h, w)
		target = func(x, y int) int { return x*out.Stride + 4*(h-1-y) }
	case 180:
		out = newLike(m, w, h)
		target = func(x, y int) int { return (h-1-y)*out.Stride + 4*(w-1-x) }
	case 270:
		out = newLike(m, h, w)
		target = func(x, y int) int { return (w-1-x)*out.Stride + 4*y }
	default:
		return m
	}
	for y := range h {
		row := m.row(y)
		for x := range w {
			binary.LittleEndian.PutUint32(out.Pix[target(x, y):], binary.LittleEndian.Uint32(row[4*x:]))
		}
	}
	return out
}

// flip mirrors the image left to right.
func flip(m *Image) *Image {
	out := newLike(m, m.Width(), m.Height())
	for y := range m.Height() {
		in, to := m.row(y), out.row(y)
		for x := 0; x < len(in); x += 4 {
			copy(to[len(in)-4-x:len(in)-x], in[x:x+4])
		}
	}
	return out
}
