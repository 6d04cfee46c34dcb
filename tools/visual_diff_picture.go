package tools

import (
	"image/color"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/measure"
)

// Colours and weights of the picture of differences.
var (
	edgeColor   = color.NRGBA{0xf0, 0xa8, 0x00, 255} // anti-aliased pixels and carets
	ignoreColor = color.NRGBA{0x6a, 0x8c, 0xc8, 90}  // laid over what is ignored
)

const (
	fade        = 4 // what did not change keeps a quarter of its contrast, in grey
	frameMargin = 3 // pixels between a region and the frame around it
	frameWidth  = 2
	maxFrames   = 40 // more than that hides the picture
)

// markDiff paints changed pixels over a pale grey of the picture after the
// change (before it, where only that one reaches), and frames the regions.
func markDiff(before, after *imaging.Image, rep *measure.DiffReport, highlight color.NRGBA) *imaging.Image {
	m := imaging.New(rep.Canvas.X, rep.Canvas.Y)
	m.Opaque = true
	white := color.NRGBA{255, 255, 255, 255}
	before, after = imaging.Flatten(before, white), imaging.Flatten(after, white)
	for y := range m.Height() {
		row := m.Pix[y*m.Stride:][:4*m.Width()]
		for i := range row {
			row[i] = 255
		}
		paintPale(row, before, y)
		paintPale(row, after, y)
		for x, class := range rep.Classes[y*m.Width():][:m.Width()] {
			p := row[4*x : 4*x+4 : 4*x+4]
			switch class {
			case measure.DiffChanged:
				p[0], p[1], p[2] = highlight.R, highlight.G, highlight.B
			case measure.DiffAntiAliased, measure.DiffCaret:
				p[0], p[1], p[2] = edgeColor.R, edgeColor.G, edgeColor.B
			case measure.DiffIgnored:
				lay(p, ignoreColor)
			}
		}
	}
	for _, r := range rep.Regions[:min(len(rep.Regions), maxFrames)] {
		imaging.StrokeRect(m, r.Bounds.Inset(-frameMargin-frameWidth), frameWidth, highlight)
	}
	return m
}

// paintPale writes a row of a picture in pale grey.
func paintPale(row []byte, m *imaging.Image, y int) {
	if y >= m.Height() {
		return
	}
	in := m.Pix[y*m.Stride:][:4*m.Width()]
	for i := 0; i < len(in); i += 4 {
		luma := (uint32(in[i])*19595 + uint32(in[i+1])*38470 + uint32(in[i+2])*7471) >> 16
		v := uint8(255 - (255-luma)/fade)
		row[i], row[i+1], row[i+2] = v, v, v
	}
}

// lay composites a colour on one opaque pixel.
func lay(p []byte, c color.NRGBA) {
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		p[i] = uint8((uint32(v)*uint32(c.A) + uint32(p[i])*uint32(255-c.A)) / 255)
	}
}
