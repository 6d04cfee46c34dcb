package ocr

import (
	"image"
	"math"
)

// frame maps points of a prepared page to the picture: x' = a x + b y + c,
// y' = d x + e y + f.
type frame struct{ a, b, c, d, e, f float64 }

var identity = frame{a: 1, e: 1}

// at maps a point.
func (m frame) at(x, y float64) (float64, float64) { return m.a*x + m.b*y + m.c, m.d*x + m.e*y + m.f }

// after is the frame of a page that inner maps to the page of m.
func (m frame) after(inner frame) frame {
	return frame{
		m.a*inner.a + m.b*inner.d, m.a*inner.b + m.b*inner.e, m.a*inner.c + m.b*inner.f + m.c,
		m.d*inner.a + m.e*inner.d, m.d*inner.b + m.e*inner.e, m.d*inner.c + m.e*inner.f + m.f,
	}
}

// shift maps a part to the picture that it was cut from.
func shift(p image.Point) frame { return frame{a: 1, c: float64(p.X), e: 1, f: float64(p.Y)} }

// enlarged maps a page that was scaled by factors.
func enlarged(fx, fy float64) frame { return frame{a: 1 / fx, e: 1 / fy} }

// turn maps a page of w x h that was turned about its centre by degrees.
func turn(w, h int, degrees float64) frame {
	s, c := math.Sincos(degrees * math.Pi / 180)
	cx, cy := float64(w)/2, float64(h)/2
	return frame{a: c, b: s, c: cx - c*cx - s*cy, d: -s, e: c, f: cy + s*cx - c*cy}
}

// quarter maps a page that was turned clockwise by 90, 180 or 270 degrees from
// one of w x h.
func quarter(w, h, degrees int) frame {
	switch degrees {
	case 90:
		return frame{b: 1, d: -1, f: float64(h)}
	case 180:
		return frame{a: -1, c: float64(w), e: -1, f: float64(h)}
	case 270:
		return frame{b: -1, c: float64(w), d: 1}
	}
	return identity
}

// box maps a box to the smallest one around it, within bounds.
func (m frame) box(r image.Rectangle, bounds image.Rectangle) image.Rectangle {
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, p := range [4]image.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, {X: r.Min.X, Y: r.Max.Y}, r.Max} {
		x, y := m.at(float64(p.X), float64(p.Y))
		x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x), max(y1, y)
	}
	const hair = 1e-6 // rounding error
	out := image.Rect(int(math.Floor(x0+hair)), int(math.Floor(y0+hair)), int(math.Ceil(x1-hair)), int(math.Ceil(y1-hair)))
	return out.Intersect(bounds)
}
