package tools

import (
	"encoding/binary"
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
		done := paintPale(row, after, y, 0)
		done = paintPale(row, before, y, done)
		for i := 4 * done; i < len(row); i++ {
			row[i] = 255
		}
		paintClasses(row, rep.Classes[y*m.Width():][:m.Width()], highlight)
	}
	for _, r := range rep.Regions[:min(len(rep.Regions), maxFrames)] {
		imaging.StrokeRect(m, r.Bounds.Inset(-frameMargin-frameWidth), frameWidth, highlight)
	}
	return m
}

// paintPale writes a row of a picture in pale grey from pixel x on, and returns
// where the picture ends.
func paintPale(row []byte, m *imaging.Image, y, x int) int {
	if y >= m.Height() || x >= m.Width() {
		return x
	}
	in, out := m.Pix[y*m.Stride+4*x:][:4*(m.Width()-x)], row[4*x:4*m.Width()]
	last, pale := uint32(0), uint32(0) // most pixels are like the one before
	for i := 0; i+4 <= len(in); i += 4 {
		c := binary.LittleEndian.Uint32(in[i:])
		if c != last {
			luma := (c&0xff*19595 + c>>8&0xff*38470 + c>>16&0xff*7471) >> 16
			last, pale = c, (255-(255-luma)/fade)*0x010101|0xff000000
		}
		binary.LittleEndian.PutUint32(out[i:], pale)
	}
	return m.Width()
}

// paintClasses marks the pixels of a row by what became of them.
func paintClasses(row []byte, classes []measure.DiffClass, highlight color.NRGBA) {
	for x := 0; x < len(classes); x++ {
		for x+8 <= len(classes) && binary.LittleEndian.Uint64(classes[x:]) == 0 { // eight that are the same
			x += 8
		}
		if x >= len(classes) {
			return
		}
		p := row[4*x : 4*x+4 : 4*x+4]
		switch classes[x] {
		case measure.DiffChanged:
			p[0], p[1], p[2] = highlight.R, highlight.G, highlight.B
		case measure.DiffAntiAliased, measure.DiffCaret:
			p[0], p[1], p[2] = edgeColor.R, edgeColor.G, edgeColor.B
		case measure.DiffIgnored:
			lay(p, ignoreColor)
		}
	}
}

// lay composites a colour on one opaque pixel.
func lay(p []byte, c color.NRGBA) {
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		p[i] = uint8((uint32(v)*uint32(c.A) + uint32(p[i])*uint32(255-c.A)) / 255)
	}
}

// shrinkDiff scales the marked picture down by whole factors until its sides are
// at most side pixels, and says by which factor. Of the pixels that become one,
// a marked one wins, so that a single changed pixel stays to be seen; else their
// mean.
func shrinkDiff(m *imaging.Image, classes []measure.DiffClass, side int) (*imaging.Image, int) {
	f := (max(m.Width(), m.Height()) + side - 1) / side
	if f <= 1 {
		return m, 1
	}
	out := imaging.New((m.Width()+f-1)/f, (m.Height()+f-1)/f)
	out.Opaque = true
	for y := range out.Height() {
		to := out.Pix[y*out.Stride:]
		for x := range out.Width() {
			shrinkPixel(to[4*x:4*x+4:4*x+4], m, classes, x*f, y*f, f)
		}
	}
	return out, f
}

func shrinkPixel(to []byte, m *imaging.Image, classes []measure.DiffClass, x0, y0, f int) {
	var r, g, b, n uint32
	for y := y0; y < min(y0+f, m.Height()); y++ {
		x1 := min(x0+f, m.Width())
		row := m.Pix[y*m.Stride+4*x0 : y*m.Stride+4*x1]
		for i, class := range classes[y*m.Width()+x0 : y*m.Width()+x1] {
			p := row[4*i : 4*i+4 : 4*i+4]
			if class == measure.DiffChanged {
				copy(to, p)
				return
			}
			r, g, b, n = r+uint32(p[0]), g+uint32(p[1]), b+uint32(p[2]), n+1
		}
	}
	to[0], to[1], to[2], to[3] = uint8(r/n), uint8(g/n), uint8(b/n), 255
}
