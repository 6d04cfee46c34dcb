package model

import (
	"bytes"
	"fmt"
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

// snap keeps rounding errors of the scale from adding a pixel, in pixels.
const snap = 1e-6

// RectToInput maps a box of the sent frame, given by two opposite corners, to
// whole pixels of the image as given: rounded outwards and clamped to it, empty
// when nothing of it lies there.
func (s Sent) RectToInput(x0, y0, x1, y1 float64) image.Rectangle {
	ax, ay := s.ToInput(min(x0, x1), min(y0, y1))
	bx, by := s.ToInput(max(x0, x1), max(y0, y1))
	if math.IsNaN(ax + ay + bx + by) {
		return image.Rectangle{}
	}
	r := image.Rect(int(math.Floor(ax+snap)), int(math.Floor(ay+snap)), int(math.Ceil(bx-snap)), int(math.Ceil(by-snap)))
	return r.Intersect(image.Rectangle{Max: s.Input})
}

// warnings tells what a reader of the answer must know about the nth image.
func (s Sent) warnings(n int) []string {
	var list []string
	switch {
	case s.Content.Dx() < s.Input.X || s.Content.Dy() < s.Input.Y:
		list = append(list, fmt.Sprintf("image %d was scaled from %dx%d to %dx%d for the model; ask about a region to keep small details", n, s.Input.X, s.Input.Y, s.Content.Dx(), s.Content.Dy()))
	case s.Resized:
		list = append(list, fmt.Sprintf("image %d was enlarged from %dx%d to %dx%d: models fail on smaller ones", n, s.Input.X, s.Input.Y, s.Content.Dx(), s.Content.Dy()))
	}
	if s.Padded {
		list = append(list, fmt.Sprintf("image %d was padded to %dx%d for the model", n, s.Size.X, s.Size.Y))
	}
	return list
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
