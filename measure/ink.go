package measure

import (
	"image"
	"math"
	"slices"
)

// ink is the colour of a run and how sure that is.
type ink struct {
	color, back [3]int
	solid       bool // several pixels have exactly the colour: it is not a blend
	sure        bool // most of the glyphs reach exactly the colour
	pixels      int
	size        int     // height of the tallest glyph
	offLine     float64 // mean distance of the pixels from the line between background and colour, as a share of it
	subpixel    bool
}

// colorCount is one exact colour of a run.
type colorCount struct {
	c        [3]int
	n, d     int // pixels, and squared distance from the background
	interior int // pixels that nowhere touch the background
}

// Thresholds on the colours of a run.
const (
	// solidReach is how near, as a share of the farthest pixel's distance, a
	// colour of several pixels must come to be the colour of the text.
	solidReach = 0.9
	// fringeShare is the mean distance of a run's pixels from the line between
	// background and ink, as a share of that, from which it is subpixel text.
	fringeShare = 0.18
	// minMedian is how many pixels inside of strokes give a colour by their
	// median, where no pixels are exactly alike: after scaling or in a JPEG.
	minMedian = 30
	// frequent is the share of the pixels inside of strokes from which one exact
	// colour is that of the text.
	frequent = 0.1
	// thickShare is the share of a run's pixels that lie inside of thick strokes.
	thickShare = 0.2
	thickText  = 16 // height in pixels from which strokes have an inside
	// fillShare of a run's pixels that lie inside of strokes in another colour
	// are the fill of outlined text.
	fillShare = 0.12
	otherInk  = 24 // levels between two inks
)

// inkOf estimates a run's colour from the pixels of all its glyphs. The second
// result is the fill of outlined text, when there is one.
func (f *textFinder) inkOf(run *textRun) (k ink, fill *ink) {
	k.back = run.back()
	off := 0.0
	for i := range run.glyphs {
		g := &run.glyphs[i]
		k.size = max(k.size, g.height())
		k.pixels += g.pixels
		off += g.offLine * float64(g.pixels)
	}
	list := f.colorsOf(run, k.back)
	k.color = list[0].c
	for _, e := range list {
		if float64(e.d) < solidReach*solidReach*float64(list[0].d) {
			break
		}
		if e.n >= max(2, k.pixels/200) {
			k.color, k.solid = e.c, true
			break
		}
	}
	if k.sure = k.solid && run.reaches(k.color); !k.sure && k.size < thickText {
		k.color = list[0].c
	}
	if k.size >= thickText {
		if fill = fillOf(k, list); fill != nil {
			return k, fill
		}
		if !k.sure {
			k.color = insideColor(list, k)
		}
	}
	k.offLine = off / float64(k.pixels)
	return k, nil
}

// back is the mean colour behind a run, each glyph weighing as much as it has
// pixels.
func (r *textRun) back() (back [3]int) {
	weight := 0
	for i := range r.glyphs {
		g := &r.glyphs[i]
		weight += g.pixels
		for c := range back {
			back[c] += g.back[c] * g.pixels
		}
	}
	for c := range back {
		back[c] = (back[c] + weight/2) / weight
	}
	return back
}

// reaches reports whether most of at least two glyphs have exactly a colour for
// their farthest: where strokes are too thin for it, each ends at another blend.
func (r *textRun) reaches(color [3]int) bool {
	n := 0
	for i := range r.glyphs {
		if r.glyphs[i].far == color {
			n++
		}
	}
	return n >= 2 && 2*n > len(r.glyphs)
}

// asSubpixel takes the run's colour from its channels one by one. Bars beside the
// text are left out: they have a colour of their own.
func (f *textFinder) asSubpixel(k *ink, run *textRun) {
	letters := textRun{on: run.on}
	for _, g := range run.glyphs {
		if !g.solid {
			letters.glyphs = append(letters.glyphs, g)
		}
	}
	if len(letters.glyphs) == 0 {
		letters.glyphs = run.glyphs
	}
	k.subpixel, k.solid, k.sure = true, false, false
	k.color = extremes(f.colorsOf(&letters, k.back), k.back)
}

// colorsOf lists the colours of a run, the farthest from its background first.
func (f *textFinder) colorsOf(run *textRun, back [3]int) []colorCount {
	counts := map[uint32]*colorCount{}
	var list []*colorCount
	for i := range run.glyphs {
		g := &run.glyphs[i]
		f.eachPixel(g, func(x, y int, p [3]int) {
			key := uint32(p[0]<<16 | p[1]<<8 | p[2])
			e := counts[key]
			if e == nil {
				e = &colorCount{c: p, d: apart(p, back)}
				counts[key] = e
				list = append(list, e)
			}
			e.n++
			if f.isInside(g.on, x, y) {
				e.interior++
			}
		})
	}
	slices.SortFunc(list, func(a, b *colorCount) int {
		if a.d != b.d {
			return b.d - a.d
		}
		return slices.Compare(a.c[:], b.c[:])
	})
	out := make([]colorCount, len(list))
	for i, e := range list {
		out[i] = *e
	}
	return out
}

// isInside reports whether none of the eight pixels around is of the surface.
func (f *textFinder) isInside(on int32, x, y int) bool {
	for v := max(0, y-1); v <= min(f.s.h-1, y+1); v++ {
		for u := max(0, x-1); u <= min(f.s.w-1, x+1); u++ {
			if f.s.of[v*f.s.w+u] == on {
				return false
			}
		}
	}
	return true
}

// insideColor is a run's colour told from the pixels inside of its strokes that
// are nearly as far from the background as the farthest. Scaling leaves the
// colour in the middle of thick strokes and overshoots at their edges: there it is the
// most frequent one. Where no colour repeats, as in a JPEG, it is the median.
func insideColor(list []colorCount, k ink) [3]int {
	var values [3][]int
	var most colorCount
	for _, e := range list {
		if float64(e.d) < 0.8*0.8*float64(list[0].d) {
			break
		}
		if e.interior > most.interior {
			most = e
		}
		for range e.interior {
			for c := range values {
				values[c] = append(values[c], e.c[c])
			}
		}
	}
	n := len(values[0])
	if n >= minMedian && float64(n) >= thickShare*float64(k.pixels) && float64(most.interior) >= frequent*float64(n) {
		return most.c
	}
	if n < minMedian || k.solid {
		return k.color
	}
	for c := range values {
		slices.Sort(values[c])
		k.color[c] = values[c][n/2]
	}
	return k.color
}

// fillOf is the ink that the outline in k's colour encloses, nil for none.
func fillOf(k ink, list []colorCount) *ink {
	var best colorCount
	for _, e := range list {
		if e.interior > best.interior && apart(e.c, k.color) > otherInk*otherInk && apart(e.c, k.back) > otherInk*otherInk {
			best = e
		}
	}
	if best.interior < minMedian || float64(best.interior) < fillShare*float64(k.pixels) || 2*best.interior < best.n {
		return nil
	}
	fill := k
	fill.color, fill.solid, fill.pixels = best.c, true, best.n
	return &fill
}

// extremes takes each channel's value farthest from the background: in subpixel
// text the channels reach full coverage at different pixels.
func extremes(list []colorCount, back [3]int) (c [3]int) {
	for ch := range 3 {
		var sum [256]int
		for _, e := range list {
			sum[e.c[ch]] += e.n
		}
		low, high := 0, 255
		for low < 255 && sum[low] == 0 {
			low++
		}
		for high > 0 && sum[high] == 0 {
			high--
		}
		c[ch] = low
		if high-back[ch] > back[ch]-low {
			c[ch] = high
		}
	}
	return c
}

// eachPixel visits the pixels of a glyph that are not its background.
func (f *textFinder) eachPixel(g *glyph, visit func(x, y int, p [3]int)) {
	b, limit := g.bounds, f.inkLimit(g.on)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row := f.r.row(y)
		for x := b.Min.X; x < b.Max.X; x++ {
			if f.s.of[y*f.s.w+x] == g.on {
				continue
			}
			if p := levels(row[4*x:]); apart(p, g.back) > limit {
				visit(x, y, p)
			}
		}
	}
}

// localBacks collects the colours of the surface around a run.
func (f *textFinder) localBacks(run *textRun) [][3]int {
	var list [][3]int
	if f.s.list[run.on].bands == 1 {
		return append(list, run.glyphs[0].back)
	}
	near := run.bounds.Inset(-2).Intersect(image.Rect(0, 0, f.s.w, f.s.h))
	step := max(1, int(math.Sqrt(float64(near.Dx()*near.Dy())/4000)))
	for y := near.Min.Y; y < near.Max.Y; y += step {
		row := f.r.row(y)
		for x := near.Min.X; x < near.Max.X; x += step {
			if f.s.of[y*f.s.w+x] == run.on {
				list = append(list, levels(row[4*x:]))
			}
		}
	}
	return list
}
