package imaging

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"golang.org/x/image/vector"
)

// Point is a place in pixels; the centre of the first pixel is (0.5, 0.5).
type Point struct{ X, Y float64 }

// FillRect lays a colour over a rectangle.
func FillRect(m *Image, r image.Rectangle, c color.NRGBA) {
	m.Gray = false
	r = r.Intersect(m.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := m.row(y)[4*r.Min.X : 4*r.Max.X]
		for i := 0; i < len(row); i += 4 {
			over(row[i:i+4:i+4], c, 255)
		}
	}
}

// StrokeRect draws the border of a rectangle, width pixels inwards from its
// edges. Borders that meet fill it.
func StrokeRect(m *Image, r image.Rectangle, width int, c color.NRGBA) {
	inner := r.Inset(width)
	if width <= 0 {
		return
	}
	if inner.Empty() || 2*width >= min(r.Dx(), r.Dy()) {
		FillRect(m, r, c)
		return
	}
	FillRect(m, image.Rect(r.Min.X, r.Min.Y, r.Max.X, inner.Min.Y), c)
	FillRect(m, image.Rect(r.Min.X, inner.Max.Y, r.Max.X, r.Max.Y), c)
	FillRect(m, image.Rect(r.Min.X, inner.Min.Y, inner.Min.X, inner.Max.Y), c)
	FillRect(m, image.Rect(inner.Max.X, inner.Min.Y, r.Max.X, inner.Max.Y), c)
}

// Line draws an anti-aliased straight line of a width in pixels, with flat ends.
func Line(m *Image, from, to Point, width float64, c color.NRGBA) {
	dx, dy := to.X-from.X, to.Y-from.Y
	length := math.Hypot(dx, dy)
	if length == 0 || !(width > 0) {
		return
	}
	nx, ny := -dy/length*width/2, dx/length*width/2
	FillPolygon(m, c, []Point{{from.X + nx, from.Y + ny}, {to.X + nx, to.Y + ny}, {to.X - nx, to.Y - ny}, {from.X - nx, from.Y - ny}})
}

// maxDrawn bounds coordinates of shapes, in pixels, to where rasterising them is
// exact and cheap.
const maxDrawn = 1 << 16

// FillPolygon lays a colour over closed paths, anti-aliased, by the non-zero
// winding rule: a path the other way round cuts a hole. Coordinates beyond 65536
// or that are no numbers draw nothing.
func FillPolygon(m *Image, c color.NRGBA, paths ...[]Point) {
	low, high := Point{math.Inf(1), math.Inf(1)}, Point{math.Inf(-1), math.Inf(-1)}
	for _, path := range paths {
		for _, p := range path {
			if !(math.Abs(p.X) <= maxDrawn && math.Abs(p.Y) <= maxDrawn) {
				return
			}
			low.X, low.Y = min(low.X, p.X), min(low.Y, p.Y)
			high.X, high.Y = max(high.X, p.X), max(high.Y, p.Y)
		}
	}
	if low.X > high.X {
		return
	}
	box := image.Rect(int(math.Floor(low.X)), int(math.Floor(low.Y)), int(math.Ceil(high.X)), int(math.Ceil(high.Y))).Intersect(m.Rect)
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	for _, path := range paths {
		for i, p := range path {
			x, y := float32(p.X-float64(box.Min.X)), float32(p.Y-float64(box.Min.Y))
			if i == 0 {
				r.MoveTo(x, y)
			} else {
				r.LineTo(x, y)
			}
		}
		r.ClosePath()
	}
	mask := image.NewAlpha(image.Rect(0, 0, box.Dx(), box.Dy()))
	r.DrawOp = draw.Src
	r.Draw(mask, mask.Rect, image.Opaque, image.Point{})
	cover(m, box, mask, image.Point{}, c)
}

// cover lays a colour over a rectangle by the coverage in mask, which begins at
// from there.
func cover(m *Image, r image.Rectangle, mask *image.Alpha, from image.Point, c color.NRGBA) {
	m.Gray = false
	in := r.Intersect(m.Rect)
	from = from.Add(in.Min.Sub(r.Min))
	for y := in.Min.Y; y < in.Max.Y; y++ {
		row := m.row(y)[4*in.Min.X : 4*in.Max.X]
		coverage := mask.Pix[mask.PixOffset(from.X, from.Y+y-in.Min.Y):]
		for i := 0; i < len(row); i += 4 {
			if a := coverage[i/4]; a != 0 {
				over(row[i:i+4:i+4], c, a)
			}
		}
	}
}

// over composites a colour on one pixel (Porter and Duff 1984, "over", with
// straight alpha); coverage is 0 to 255.
func over(p []byte, c color.NRGBA, coverage uint8) {
	a := uint32(c.A) * uint32(coverage) / 255
	if p[3] == 255 {
		for i, v := range [3]uint8{c.R, c.G, c.B} {
			p[i] = uint8((uint32(v)*a + uint32(p[i])*(255-a) + 127) / 255)
		}
		return
	}
	below := uint32(p[3]) * (255 - a) / 255
	total := a + below
	if total == 0 {
		return
	}
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		p[i] = uint8((uint32(v)*a + uint32(p[i])*below + total/2) / total)
	}
	p[3] = uint8(total)
}

// Clone copies an image, to draw on.
func Clone(m *Image) *Image {
	out := newLike(m, m.Width(), m.Height())
	copy(out.Pix, m.Pix)
	return out
}
