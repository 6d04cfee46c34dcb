package measure

import (
	"encoding/binary"
	"image"
	"image/color"

	"github.com/visions-mcp/visions/internal/imaging"
)

// raster is what measuring works on: opaque pixels of 4 bytes (red, green,
// blue, 255) whose rows may have gaps between them.
type raster struct {
	pix    []byte
	stride int
	w, h   int
	min    image.Point // where the picture's own coordinates begin
}

// white is what transparent pixels are composited on.
var white = color.NRGBA{255, 255, 255, 255}

// rasterOf takes an image's pixels, without a copy when they are opaque and of
// 8 bits already.
func rasterOf(img image.Image) raster {
	b := img.Bounds()
	var m *imaging.Image
	switch s := img.(type) {
	case *imaging.Image:
		m = s
	case *image.NRGBA:
		if opaque(s) {
			return raster{pix: s.Pix, stride: s.Stride, w: b.Dx(), h: b.Dy(), min: b.Min}
		}
		m = imaging.FromImage(s)
	default:
		m = imaging.FromImage(s)
	}
	m = imaging.Flatten(m, white)
	return raster{pix: m.Pix, stride: m.Stride, w: m.Width(), h: m.Height(), min: b.Min}
}

// within cuts the raster to a rectangle in the picture's own coordinates; an
// empty rectangle takes all of it.
func (r raster) within(rect image.Rectangle) raster {
	if rect.Empty() {
		return r
	}
	in := rect.Intersect(r.bounds())
	at := in.Min.Sub(r.min)
	out := raster{stride: r.stride, w: in.Dx(), h: in.Dy(), min: in.Min}
	if !in.Empty() {
		out.pix = r.pix[at.Y*r.stride+4*at.X:]
	}
	return out
}

// bounds are in the picture's own coordinates.
func (r raster) bounds() image.Rectangle {
	return image.Rectangle{r.min, r.min.Add(image.Pt(r.w, r.h))}
}

// row returns the bytes of row y, counted from 0.
func (r raster) row(y int) []byte { return r.pix[y*r.stride:][: 4*r.w : 4*r.w] }

// key packs a pixel's colour as 0xRRGGBB, the order that colours sort in.
func key(p []byte) uint32 { return binary.BigEndian.Uint32(p) >> 8 }

// colorOf is the inverse of key.
func colorOf(k uint32) color.NRGBA {
	return color.NRGBA{uint8(k >> 16), uint8(k >> 8), uint8(k), 255}
}

// opaque is (*image.NRGBA).Opaque, two pixels at a time.
func opaque(m *image.NRGBA) bool {
	const alphas = 0xff000000ff000000
	for y := range m.Rect.Dy() {
		row := m.Pix[y*m.Stride:][:4*m.Rect.Dx()]
		all := uint64(alphas)
		for ; len(row) >= 8; row = row[8:] {
			all &= binary.LittleEndian.Uint64(row)
		}
		if all != alphas || len(row) == 4 && row[3] != 255 {
			return false
		}
	}
	return true
}
