// Package imaging turns encoded images into pixels and back, within limits: a
// file's header is judged before anything is decoded, because running out of
// memory cannot be recovered from. It also holds the pixel filters. No files,
// no network, no global state.
package imaging

import (
	"image"
	"image/color"
	"image/draw"
)

// Image is decoded pixels: 8 bits a channel, not premultiplied, upright, origin
// (0,0), rows without gaps (Stride is 4 times the width). It is an image.Image.
type Image struct {
	*image.NRGBA
	Opaque bool // every alpha is 255
	Gray   bool // red, green and blue are known to be equal everywhere; false says nothing
}

// New returns a transparent black image.
func New(w, h int) *Image { return &Image{NRGBA: image.NewNRGBA(image.Rect(0, 0, w, h))} }

// newLike returns an image of that size, for pixels that are as opaque and as
// gray as those of src.
func newLike(src *Image, w, h int) *Image {
	m := New(w, h)
	m.Opaque, m.Gray = src.Opaque, src.Gray
	return m
}

// Width in pixels.
func (m *Image) Width() int { return m.Rect.Dx() }

// Height in pixels.
func (m *Image) Height() int { return m.Rect.Dy() }

// row returns the bytes of row y.
func (m *Image) row(y int) []byte { return m.Pix[y*m.Stride : y*m.Stride+4*m.Width()] }

// FromImage converts any image; an [Image] is returned as it is. Straight (not
// premultiplied) and opaque colours stay exact; 16-bit channels are rounded to
// the nearest of 256 levels.
func FromImage(src image.Image) *Image {
	if m, ok := src.(*Image); ok {
		return m
	}
	b := src.Bounds()
	dst := New(b.Dx(), b.Dy())
	switch s := src.(type) {
	case *image.NRGBA:
		for y := range dst.Height() {
			copy(dst.row(y), s.Pix[s.PixOffset(b.Min.X, b.Min.Y+y):])
		}
	case *image.NRGBA64:
		fromNRGBA64(dst, s)
	case *image.Gray16:
		for y := range dst.Height() {
			d := dst.row(y)
			for x := range dst.Width() {
				v := round16(s.Gray16At(b.Min.X+x, b.Min.Y+y).Y)
				d[4*x], d[4*x+1], d[4*x+2], d[4*x+3] = v, v, v, 255
			}
		}
	case *image.Paletted:
		fromPaletted(dst, s)
	case *image.RGBA:
		for y := range dst.Height() {
			copy(dst.row(y), s.Pix[s.PixOffset(b.Min.X, b.Min.Y+y):])
		}
		straighten(dst)
	case *image.RGBA64:
		fromRGBA64(dst, s)
	case *image.NYCbCrA:
		drawOpaque(dst, &s.YCbCr, b.Min)
		for y := range dst.Height() {
			d, alpha := dst.row(y), s.A[s.AOffset(b.Min.X, b.Min.Y+y):]
			for x := range dst.Width() {
				d[4*x+3] = alpha[x]
			}
		}
	case *image.Gray, *image.YCbCr, *image.CMYK:
		drawOpaque(dst, src, b.Min)
	default:
		fromAny(dst, src)
	}
	dst.Opaque = opaque(dst.Pix)
	return dst
}

// drawOpaque draws an image of an opaque kind, for which premultiplied and
// straight colours are the same.
func drawOpaque(dst *Image, src image.Image, at image.Point) {
	rgba := &image.RGBA{Pix: dst.Pix, Stride: dst.Stride, Rect: dst.Rect}
	draw.Draw(rgba, dst.Rect, src, at, draw.Src)
}

// fromAny goes through color.Color, a pixel at a time.
func fromAny(dst *Image, src image.Image) {
	b := src.Bounds()
	for y := range dst.Height() {
		for x := range dst.Width() {
			c := color.NRGBA64Model.Convert(src.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA64)
			dst.SetNRGBA(x, y, color.NRGBA{round16(c.R), round16(c.G), round16(c.B), round16(c.A)})
		}
	}
}

func fromNRGBA64(dst *Image, s *image.NRGBA64) {
	for y := range dst.Height() {
		d, in := dst.row(y), s.Pix[y*s.Stride:]
		for i := range d {
			d[i] = round16(uint16(in[2*i])<<8 | uint16(in[2*i+1]))
		}
	}
}

func fromRGBA64(dst *Image, s *image.RGBA64) {
	for y := range dst.Height() {
		d, in := dst.row(y), s.Pix[y*s.Stride:]
		for x := 0; x < len(d); x += 4 {
			p := in[2*x : 2*x+8 : 2*x+8]
			alpha := uint32(p[6])<<8 | uint32(p[7])
			for c := range 3 {
				v := uint32(p[2*c])<<8 | uint32(p[2*c+1])
				if alpha != 0xffff && alpha != 0 {
					v = min(0xffff, v*0xffff/alpha)
				}
				d[x+c] = round16(uint16(v))
			}
			d[x+3] = round16(uint16(alpha))
		}
	}
}

func fromPaletted(dst *Image, s *image.Paletted) {
	var table [256][4]byte
	for i, c := range s.Palette {
		if i < len(table) {
			n := color.NRGBAModel.Convert(c).(color.NRGBA)
			table[i] = [4]byte{n.R, n.G, n.B, n.A}
		}
	}
	for y := range dst.Height() {
		d := dst.row(y)
		for x, v := range s.Pix[y*s.Stride : y*s.Stride+dst.Width()] {
			copy(d[4*x:4*x+4], table[v][:])
		}
	}
}

// round16 maps 0..65535 to the nearest of 0..255.
func round16(v uint16) byte { return byte((uint32(v)*255 + 32895) >> 16) }

func opaque(pix []byte) bool {
	for i := 3; i < len(pix); i += 4 {
		if pix[i] != 255 {
			return false
		}
	}
	return true
}

// Flatten composites the image on a colour. An opaque image is returned as it is.
func Flatten(m *Image, on color.NRGBA) *Image {
	if m.Opaque {
		return m
	}
	out := New(m.Width(), m.Height())
	out.Opaque = true
	back := [3]uint32{uint32(on.R), uint32(on.G), uint32(on.B)}
	for i := 0; i < len(m.Pix); i += 4 {
		a := uint32(m.Pix[i+3])
		for c := range 3 {
			out.Pix[i+c] = byte((uint32(m.Pix[i+c])*a + back[c]*(255-a) + 127) / 255)
		}
		out.Pix[i+3] = 255
	}
	return out
}
