package imaging

import (
	"image"
	"image/color"
	"image/jpeg"
	"io"
)

// EncodeJPEG writes the image as JPEG, transparency flattened on white.
// quality is 1 to 100.
func EncodeJPEG(w io.Writer, m *Image, quality int) error {
	m = Flatten(m, color.NRGBA{255, 255, 255, 255})
	rgba := &image.RGBA{Pix: m.Pix, Stride: m.Stride, Rect: m.Rect} // opaque: the same bytes
	return jpeg.Encode(w, rgba, &jpeg.Options{Quality: quality})
}
