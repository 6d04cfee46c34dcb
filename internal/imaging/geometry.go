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
	switch degrees {
	case 90:
		return orient(m, 6)
	case 180:
		return orient(m, 3)
	case 270:
		return orient(m, 8)
	}
	return m
}

// orient returns the image turned upright from an EXIF orientation (EXIF 2.32,
// 4.6.4, Orientation); 1 and values that do not exist return it as it is.
func orient(m *Image, orientation int) *Image {
	if orientation < 2 || orientation > 8 {
		return m
	}
	w, h := m.Width(), m.Height()
	out := newLike(m, w, h)
	if orientation >= 5 {
		out = newLike(m, h, w)
	}
	// The pixel x, y goes to byte offset start + x*across + y*down.
	right, below := 4, out.Stride
	lastX, lastY := 4*(out.Width()-1), out.Stride*(out.Height()-1)
	var start, across, down int
	switch orientation {
	case 2:
		start, across, down = lastX, -right, below
	case 3:
		start, across, down = lastX+lastY, -right, -below
	case 4:
		start, across, down = lastY, right, -below
	case 5:
		start, across, down = 0, below, right
	case 6:
		start, across, down = lastX, below, -right
	case 7:
		start, across, down = lastX+lastY, -below, -right
	case 8:
		start, across, down = lastY, -below, right
	}
	for y := range h {
		row, to := m.row(y), start+y*down
		for x := 0; x < len(row); x += 4 {
			binary.LittleEndian.PutUint32(out.Pix[to:], binary.LittleEndian.Uint32(row[x:]))
			to += across
		}
	}
	return out
}
