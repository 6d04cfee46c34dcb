package model

import (
	"bytes"
	"image"
	"image/draw"
	"math"

	"github.com/visions-mcp/visions/internal/imaging"
)

// Bounds on what is sent. Model runners crash on a picture that is smaller than
// one patch of their vision tower (28 or 32 pixels, two patches are safe), also
// after they have scaled it to a longest side of 224 pixels: a shape of 7 to 1
// then keeps 32.
const (
	minEdge   = 56 // pixels
	maxAspect = 7  // longer side to shorter
)

// jpegFrom is the size in bytes above which a PNG is tried as JPEG.
const jpegFrom = 512 << 10

const jpegQuality = 92

// Sent is how an image was sent: resized to fit the model's limits and, when it
// was too thin or small, padded.
type Sent struct {
	Input   image.Point     // size as given, in pixels
	Size    image.Point     // size of the frame that was sent
	Content image.Rectangle // where the picture lies in that frame
	Format  string          // "png" or "jpeg"
	Resized bool
	Padded  bool
}

// ToInput maps a point of the sent frame to pixels of the image as given,
// clamped to it.
func (s Sent) ToInput(x, y float64) (float64, float64) {
	fx := (x - float64(s.Content.Min.X)) / float64(s.Content.Dx())
	fy := (y - float64(s.Content.Min.Y)) / float64(s.Content.Dy())
	return max(0, min(1, fx)) * float64(s.Input.X), max(0, min(1, fy)) * float64(s.Input.Y)
}

// prepare encodes an image for a model, with its longest side at most maxEdge.
func prepare(src image.Image, maxEdge int) ([]byte, Sent, error) {
	m := imaging.FromImage(src)
	s := Sent{Input: image.Pt(m.Width(), m.Height())}
	scale := min(1, float64(maxEdge)/float64(max(m.Width(), m.Height())))
	if short := float64(min(m.Width(), m.Height())) * scale; short < minEdge {
		// Enlarge a small picture as long as its longer side stays in bounds.
		scale *= min(minEdge/short, float64(maxEdge)/(float64(max(m.Width(), m.Height()))*scale))
	}
	w, h := side(m.Width(), scale), side(m.Height(), scale)
	s.Resized = w != m.Width() || h != m.Height()
	m = imaging.Resize(m, w, h)
	frame := image.Pt(max(w, minEdge, (h+maxAspect-1)/maxAspect), max(h, minEdge, (w+maxAspect-1)/maxAspect))
	s.Content = image.Rect(0, 0, w, h)
	if frame != s.Content.Max {
		s.Padded = true
		m = padded(m, frame)
	}
	s.Size = frame
	data, format, err := encode(m)
	s.Format = format
	return data, s, err
}

func side(n int, scale float64) int { return max(1, int(math.Round(float64(n)*scale))) }

// padded puts the picture at the top left of a frame that repeats its edge
// colours, which changes what a model sees less than a border would.
func padded(m *imaging.Image, frame image.Point) *imaging.Image {
	out := imaging.New(frame.X, frame.Y)
	out.Opaque = m.Opaque
	draw.Draw(out.NRGBA, m.Rect, m.NRGBA, image.Point{}, draw.Src)
	for y := range frame.Y {
		for x := range frame.X {
			if x >= m.Width() || y >= m.Height() {
				out.SetNRGBA(x, y, m.NRGBAAt(min(x, m.Width()-1), min(y, m.Height()-1)))
			}
		}
	}
	return out
}

// encode chooses PNG, or JPEG when a PNG is large and the JPEG smaller.
func encode(m *imaging.Image) ([]byte, string, error) {
	var asPNG bytes.Buffer
	if err := imaging.EncodePNG(&asPNG, m, imaging.Fast); err != nil {
		return nil, "", err
	}
	if asPNG.Len() > jpegFrom && m.Opaque {
		var asJPEG bytes.Buffer
		if err := imaging.EncodeJPEG(&asJPEG, m, jpegQuality); err != nil {
			return nil, "", err
		}
		if asJPEG.Len() < asPNG.Len() {
			return asJPEG.Bytes(), "jpeg", nil
		}
	}
	return asPNG.Bytes(), "png", nil
}
