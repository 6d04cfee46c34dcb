package measure

import (
	"context"
	"encoding/binary"
	"image"
)

// Weights of the squared YIQ difference (Kotsarenko and Ramos 2010, "Measuring
// perceived color difference using YIQ NTSC transmission color space in mobile
// applications").
const (
	weightY, weightI, weightQ = 0.5053, 0.299, 0.1957
	// greyScale brings the difference of two greys to the sum of their channel
	// differences, the scale of the threshold.
	greyScale = 3
)

// perceived is the squared weighed difference, scaled so that its root is on
// the scale of 0 to 765.
func perceived(u, v []byte) float64 {
	r, g, b := float64(int(u[0])-int(v[0])), float64(int(u[1])-int(v[1])), float64(int(u[2])-int(v[2]))
	y := r*0.29889531 + g*0.58662247 + b*0.11448223
	i := r*0.59597799 - g*0.27417610 - b*0.32180189
	q := r*0.21147017 - g*0.52261711 + b*0.31114694
	return (weightY*y*y + weightI*i*i + weightQ*q*q) * (greyScale * greyScale / weightY)
}

// perceivedRow marks the pixels whose weighed difference exceeds the threshold.
func (d *differ) perceivedRow(y int, row []DiffClass) {
	p, q := d.a.row(y)[:4*len(row)], d.b.row(y)[:4*len(row)]
	limit := d.o.Threshold * d.o.Threshold
	for x := 0; x < len(row); x++ {
		for x+2 <= len(row) && binary.LittleEndian.Uint64(p[4*x:]) == binary.LittleEndian.Uint64(q[4*x:]) {
			x += 2
		}
		if x >= len(row) {
			break
		}
		u, v := p[4*x:4*x+4:4*x+4], q[4*x:4*x+4:4*x+4]
		if row[x] == DiffIgnored || key(u) == key(v) {
			continue
		}
		d.rep.Equal = false
		if perceived(u, v) > limit {
			row[x] = DiffChanged
			d.rep.MaxDelta = max(d.rep.MaxDelta, int(max(gap(u[0], v[0]), gap(u[1], v[1]), gap(u[2], v[2]))))
		}
	}
}

// flatBoth reports whether a pixel and its eight neighbours have one colour in
// each picture.
func (d *differ) flatBoth(x, y int) bool { return d.a.flat(x, y) && d.b.flat(x, y) }

func (r raster) flat(x, y int) bool {
	c := binary.LittleEndian.Uint32(r.pix[y*r.stride+4*x:])
	for v := max(0, y-1); v <= min(r.h-1, y+1); v++ {
		for u := max(0, x-1); u <= min(r.w-1, x+1); u++ {
			if binary.LittleEndian.Uint32(r.pix[v*r.stride+4*u:]) != c {
				return false
			}
		}
	}
	return true
}

// Judging what differs, letter by letter.
const (
	// wordGap joins the strokes of a letter and the letters of a word, in
	// pixels.
	wordGap = 4
	// moveSlack and levelSlack are how far a blurred pixel may leave the range
	// of the pixels around it in the other picture, as a share of that range
	// and in levels: what a shift by parts of a pixel, other weights at edges
	// and subpixel text leave after a blur.
	moveSlack  = 0.2
	levelSlack = 6
	// leastPixels and leastShare of a word's differing pixels must be beyond
	// that. One digit that changed has 6 of 33; subpixel instead of grey text 25
	// of 11538.
	leastPixels = 3
	leastShare  = 0.06
	// leastTint is the shift of a word's mean colour, in levels apart from its
	// lightness and over what no shift of edges explains, that is another
	// colour; subpixel text leaves 5.
	leastTint = 12
)

// judge sorts what differs into real changes, carets, and edges that are only
// drawn differently.
func (d *differ) judge(ctx context.Context) error {
	words := d.cluster(wordGap)
	groups := d.tally(words)
	if len(groups) == 0 {
		return nil
	}
	before, err := blurredLuma(ctx, d.a, d.w, d.h)
	if err != nil {
		return err
	}
	after, err := blurredLuma(ctx, d.b, d.w, d.h)
	if err != nil {
		return err
	}
	carets := d.carets(groups)
	for i := range groups {
		if i&1023 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		g := &groups[i]
		switch {
		case carets[g.label]:
			d.turn(words, g, DiffCaret)
		case !d.outside(g.bounds) && !d.meant(words, g, before, after):
			d.turn(words, g, DiffAntiAliased)
		}
	}
	return nil
}

// meant reports whether a word's pixels differ by more than how edges are drawn.
func (d *differ) meant(words *labelled, g *group, before, after plane) bool {
	beyond, tinted := 0, 0
	var tint [3]int
	d.each(words, g, func(x, y int) {
		if d.flatBoth(x, y) || before.beyond(after, x, y) || after.beyond(before, x, y) {
			beyond++
		}
		if !d.antiAliased(x, y) {
			tinted++
			u, v := d.a.row(y)[4*x:], d.b.row(y)[4*x:]
			for c := range tint {
				tint[c] += int(u[c]) - int(v[c])
			}
		}
	})
	enough := func(n int) bool { return n >= leastPixels && float64(n) >= leastShare*float64(g.pixels) }
	if enough(beyond) {
		return true
	}
	mean := (tint[0] + tint[1] + tint[2]) / 3
	for _, t := range tint {
		if enough(tinted) && max(t-mean, mean-t) >= leastTint*tinted {
			return true
		}
	}
	return false
}

// plane is one byte a pixel.
type plane struct {
	pix  []byte
	w, h int
}

// beyond reports whether p's value at a place lies outside the range of the
// nine values of q around there.
func (p plane) beyond(q plane, x, y int) bool {
	low, high := 255, 0
	for v := max(0, y-1); v <= min(q.h-1, y+1); v++ {
		for _, b := range q.pix[v*q.w+max(0, x-1) : v*q.w+min(q.w, x+2)] {
			low, high = min(low, int(b)), max(high, int(b))
		}
	}
	slack := int(moveSlack*float64(high-low)) + levelSlack
	own := int(p.pix[y*p.w+x])
	return own < low-slack || own > high+slack
}

// blurredLuma is the BT.601 luma of the part w x h of a raster under the
// binomial filter of 5x5 pixels (1 4 6 4 1 each way), edges repeated.
func blurredLuma(ctx context.Context, r raster, w, h int) (plane, error) {
	p := plane{make([]byte, w*h), w, h}
	if w == 0 || h == 0 {
		return p, nil
	}
	across := make([]uint16, w*h) // blurred along the rows, times 16
	line := make([]uint16, w+4)
	for y := range h {
		if y&63 == 0 && ctx.Err() != nil {
			return p, context.Cause(ctx)
		}
		row := r.row(y)
		for x := range w {
			line[x+2] = uint16((uint32(row[4*x])*19595 + uint32(row[4*x+1])*38470 + uint32(row[4*x+2])*7471 + 1<<15) >> 16)
		}
		line[0], line[1] = line[2], line[2]
		line[w+2], line[w+3] = line[w+1], line[w+1]
		to := across[y*w:][:w]
		for x := range to {
			l := line[x : x+5 : x+5]
			to[x] = l[0] + l[4] + 4*(l[1]+l[3]) + 6*l[2]
		}
	}
	at := func(y int) []uint16 { return across[max(0, min(h-1, y))*w:][:w] }
	for y := range h {
		a, b, c, e, f := at(y-2), at(y-1), at(y), at(y+1), at(y+2)
		to := p.pix[y*w:][:w]
		for x := range to {
			s := uint32(a[x]) + uint32(f[x]) + 4*(uint32(b[x])+uint32(e[x])) + 6*uint32(c[x])
			to[x] = byte((s + 128) >> 8)
		}
	}
	return p, nil
}

// Sizes of a text caret in pixels, up to a bar or block of a 32 px font at
// twice the density.
const (
	maxCaretWidth  = 24
	minCaretHeight = 8
	maxCaretHeight = 80
	minCaretAspect = 1.5 // height over width
	maxCarets      = 2   // one that blinks, or the two places of one that moved
	// besideCaret is the share of the pixels beside it that are background;
	// letters touch a caret in few places, an edge along all of it.
	besideCaret = 0.6
)

// carets returns the labels of the words that are text carets, none when there
// are more than maxCarets.
func (d *differ) carets(groups []group) map[int32]bool {
	found := map[int32]bool{}
	for i := range groups {
		if d.isCaret(&groups[i]) {
			if found[groups[i].label] = true; len(found) > maxCarets {
				return nil
			}
		}
	}
	return found
}

// isCaret reports whether what differs is a solid upright rectangle that one
// picture has in one colour where the other has flat background, at its sides
// too.
func (d *differ) isCaret(g *group) bool {
	b := g.bounds
	w, h := b.Dx(), b.Dy()
	if w > maxCaretWidth || h < minCaretHeight || h > maxCaretHeight || float64(h) < minCaretAspect*float64(w) {
		return false
	}
	if g.pixels != w*h || d.outside(b) || !d.a.within(b).uniform() || !d.b.within(b).uniform() {
		return false
	}
	return d.a.openBeside(b) || d.b.openBeside(b)
}

// openBeside reports whether the columns left and right of a uniform rectangle
// continue its colour.
func (r raster) openBeside(b image.Rectangle) bool {
	back := key(r.within(b).pix)
	for _, x := range []int{b.Min.X - 1, b.Max.X} {
		if x < 0 || x >= r.w {
			continue
		}
		same := 0
		for y := b.Min.Y; y < b.Max.Y; y++ {
			if key(r.row(y)[4*x:]) == back {
				same++
			}
		}
		if float64(same) < besideCaret*float64(b.Dy()) {
			return false
		}
	}
	return true
}

// uniform reports whether a raster has one colour.
func (r raster) uniform() bool {
	for y := range r.h {
		for p := r.row(y); len(p) >= 4; p = p[4:] {
			if key(p) != key(r.pix) {
				return false
			}
		}
	}
	return true
}
