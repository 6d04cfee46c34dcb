package ocr

import (
	"image"
)

// Levelling. Tesseract parts ink from ground with one threshold for the whole
// page, and loses grey text beside black. So each component of a redrawn page
// is stretched to full ink by itself.
const (
	faintInk   = 14  // distance from white from which a pixel belongs to a component, levels
	leastLevel = 28  // darkest distance below which a component is noise, levels
	darkInk    = 170 // darkest distance from which a component is left as it is, levels
	fullInk    = 245 // distance that the darkest pixel of a stretched one gets, levels
)

// levelled stretches every component of dark text on white, in place.
func levelled(g *image.Gray) *image.Gray {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	seen := make([]bool, w*h)
	var members []int32
	for i, v := range g.Pix {
		if seen[i] || 255-int(v) < faintInk {
			continue
		}
		members = append(members[:0], int32(i))
		seen[i] = true
		darkest := 0
		for at := 0; at < len(members); at++ {
			p := int(members[at])
			darkest = max(darkest, 255-int(g.Pix[p]))
			x, y := p%w, p/w
			for yy := max(0, y-1); yy <= min(h-1, y+1); yy++ {
				for q := yy*w + max(0, x-1); q <= yy*w+min(w-1, x+1); q++ {
					if !seen[q] && 255-int(g.Pix[q]) >= faintInk {
						seen[q] = true
						members = append(members, int32(q))
					}
				}
			}
		}
		if darkest < leastLevel || darkest >= darkInk {
			continue
		}
		for _, p := range members {
			d := 255 - int(g.Pix[p])
			g.Pix[p] = uint8(255 - min(255, d*fullInk/darkest))
		}
	}
	return g
}
