package imaging

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// Lettering draws text of one size. It is for one goroutine.
type Lettering struct {
	fonts  []*sfnt.Font
	faces  []font.Face
	buffer sfnt.Buffer
	ascent int // pixels from the top of a line to its baseline
	height int
}

// NewLettering prepares text of a size in pixels: in Go Bold, and for letters
// that it lacks in the fallback fonts, in their order.
func NewLettering(size float64, fallback ...*sfnt.Font) (*Lettering, error) {
	bold, err := opentype.Parse(gobold.TTF)
	if err != nil {
		return nil, fmt.Errorf("reading the built-in font: %w", err)
	}
	l := &Lettering{fonts: append([]*sfnt.Font{bold}, fallback...)}
	for _, f := range l.fonts {
		// At 72 dpi a point is a pixel. No hinting: the same on every machine.
		face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
		if err != nil {
			return nil, fmt.Errorf("preparing a font of %g pixels: %w", size, err)
		}
		l.faces = append(l.faces, face)
	}
	m := l.faces[0].Metrics()
	l.ascent, l.height = m.Ascent.Ceil(), m.Ascent.Ceil()+m.Descent.Ceil()
	return l, nil
}

// face picks the first font that has the letter; the built-in one, which shows
// a box, when none has.
func (l *Lettering) face(r rune) (font.Face, bool) {
	for i, f := range l.fonts {
		if g, err := f.GlyphIndex(&l.buffer, r); err == nil && g != 0 {
			return l.faces[i], true
		}
	}
	return l.faces[0], false
}

// Size is the width and height of one line of text in pixels.
func (l *Lettering) Size(text string) image.Point {
	var width fixed.Int26_6
	for _, r := range norm.NFC.String(text) {
		f, _ := l.face(r)
		advance, _ := f.GlyphAdvance(r)
		width += advance
	}
	return image.Pt(width.Ceil(), l.height)
}

// Draw writes one line of text with its top left corner at a place, and returns
// the letters that no font has, each once. There is no shaping: scripts that
// need it (Arabic, Indic) come out unjoined, and from left to right.
func (l *Lettering) Draw(m *Image, at image.Point, text string, c color.NRGBA) (missing []rune) {
	dot := fixed.P(at.X, at.Y+l.ascent)
	for _, r := range norm.NFC.String(text) {
		f, known := l.face(r)
		if !known && !slices.Contains(missing, r) {
			missing = append(missing, r)
		}
		box, mask, from, advance, ok := f.Glyph(dot, r)
		if alpha, isAlpha := mask.(*image.Alpha); ok && isAlpha {
			cover(m, box, alpha, from, c)
		}
		dot.X += advance
	}
	return missing
}

// labelPadding is the room around a label's text, as a share of its height.
const labelPadding = 0.2

// Label writes text on a plate of a colour, black or white by which reads
// better, and returns where the plate lies: its bottom left corner at a place,
// moved as far as it takes to lie inside the picture.
func (l *Lettering) Label(m *Image, at image.Point, text string, plate color.NRGBA) image.Rectangle {
	pad := int(math.Ceil(labelPadding * float64(l.height)))
	size := l.Size(text).Add(image.Pt(2*pad, pad))
	at.X = max(0, min(at.X, m.Width()-size.X))
	at.Y = max(size.Y, min(at.Y, m.Height()))
	r := image.Rect(at.X, at.Y-size.Y, at.X+size.X, at.Y)
	FillRect(m, r, plate)
	l.Draw(m, r.Min.Add(image.Pt(pad, pad/2)), text, inkOn(plate))
	return r.Intersect(m.Rect)
}

// lightPlate is the luma from which black reads better than white: there the two
// have the same contrast ratio (WCAG 2.2) on a grey.
const lightPlate = 117

// inkOn is black or white, whichever has more contrast by luma.
func inkOn(plate color.NRGBA) color.NRGBA {
	if luma([]byte{plate.R, plate.G, plate.B}) > lightPlate {
		return color.NRGBA{0, 0, 0, 255}
	}
	return color.NRGBA{255, 255, 255, 255}
}
