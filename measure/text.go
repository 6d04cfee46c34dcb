package measure

import (
	"context"
	"image"
	"math"
	"slices"
)

// Sizes of glyphs in pixels.
const (
	minGlyphHeight = 3
	maxGlyphHeight = 420
	minGlyphInk    = 3
)

// glyph is a mark on a surface: what a closed opening of the surface holds.
type glyph struct {
	bounds  image.Rectangle
	on      int32   // the surface
	back    [3]int  // colour of the surface around it
	far     [3]int  // its pixel that lies farthest from that
	reach   float64 // distance of the two
	pixels  int     // of the opening, without what has the surface's colour
	ink     int     // pixels nearer to far than to back
	mean    [3]int  // sum of its pixels' differences from back: its hue, fringes cancel out
	offLine float64 // mean distance of pixels from the line between back and far, over reach
	mass    float64 // sum of the coverage
	hollow  bool    // a frame around something rectangular
	nested  bool    // holds a surface that has text of its own
	solid   bool    // a filled rectangle
	strokes float64 // mean number of strokes that a row crosses, over the middle rows
}

func (g *glyph) height() int { return g.bounds.Dy() }
func (g *glyph) width() int  { return g.bounds.Dx() }

// textFinder looks for text on the surfaces of a raster.
type textFinder struct {
	r      raster
	s      *surfaces
	runs   []textRun
	bars   []textRun // what may be the letters I and l, or bars
	others []glyph   // marks that are no text
}

// findText looks on every surface, the smallest first, so that a surface knows
// of its text before what it lies on is looked at.
func findText(ctx context.Context, r raster, s *surfaces) (*textFinder, error) {
	f := &textFinder{r: r, s: s}
	order := make([]int32, 0, len(s.list))
	for i := range s.list {
		if c := &s.list[i]; c.area >= minSurface && c.interior >= minInterior {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		p, q := s.list[a].bounds, s.list[b].bounds
		return p.Dx()*p.Dy() - q.Dx()*q.Dy()
	})
	for _, i := range order {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		glyphs := f.openings(i)
		if len(glyphs) == 0 {
			continue
		}
		s.list[i].holed = true
		f.group(i, glyphs)
	}
	return f, nil
}

// openings lists the marks on a surface: the areas inside of it that are not it.
func (f *textFinder) openings(on int32) []glyph {
	b := f.s.list[on].bounds
	mask := image.NewAlpha(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row := f.s.of[y*f.s.w+b.Min.X : y*f.s.w+b.Max.X]
		to := mask.Pix[(y-b.Min.Y)*mask.Stride:][:len(row)]
		for x, c := range row {
			if c != on {
				to[x] = 255
			}
		}
	}
	l := labelRuns(mask, Eight, true)
	runs := make([][]pixelRun, len(l.parent))
	for y := range b.Dy() {
		for _, run := range l.runs[l.rows[y]:l.rows[y+1]] {
			root := l.root(run.label)
			if a := l.areas[root]; a.x0 == 0 && b.Min.X > 0 || a.y0 == 0 && b.Min.Y > 0 || int(a.x1) == b.Dx() && b.Max.X < f.s.w || int(a.y1) == b.Dy() && b.Max.Y < f.s.h {
				continue // it reaches the edge of the surface: it lies around it, not on it
			}
			runs[root] = append(runs[root], pixelRun{y + b.Min.Y, int(run.from) + b.Min.X, int(run.to) + b.Min.X})
		}
	}
	var list []glyph
	for i, a := range l.areas {
		if l.parent[i] != int32(i) || len(runs[i]) == 0 {
			continue
		}
		box := a.rect().Add(b.Min)
		if box.Dy() < minGlyphHeight && box.Dx() < minGlyphHeight || box.Dy() > maxGlyphHeight || int(a.pixels) < minGlyphInk {
			continue
		}
		if g, ok := f.mark(on, box, runs[i]); ok {
			list = append(list, g)
		}
	}
	return list
}

// pixelRun is pixels [from, to) of row y.
type pixelRun struct{ y, from, to int }

// levels is a pixel as numbers.
func levels(p []byte) [3]int { return [3]int{int(p[0]), int(p[1]), int(p[2])} }

func apart(a, b [3]int) int {
	x, y, z := a[0]-b[0], a[1]-b[1], a[2]-b[2]
	return x*x + y*y + z*z
}

// sameInk is the squared distance up to which a pixel inside of a mark counts as
// the surface's own colour (a counter, or a coding error of one level).
const sameInk = 12

// overNoise is how many times the noise of its surface a mark stands out.
const overNoise = 3

// inkLimit is the squared distance from a surface's colour up to which a pixel
// has that colour.
func (f *textFinder) inkLimit(on int32) int {
	n := f.s.list[on].noise
	return max(sameInk, 3*n*n)
}

// mark measures one opening.
func (f *textFinder) mark(on int32, box image.Rectangle, runs []pixelRun) (glyph, bool) {
	g := glyph{bounds: box, on: on, back: f.around(on, box)}
	best, limit := 0, f.inkLimit(on)
	for _, run := range runs {
		row := f.r.row(run.y)
		for x := run.from; x < run.to; x++ {
			if c := f.s.of[run.y*f.s.w+x]; c >= 0 && (f.s.list[c].hasText || f.s.list[c].fills(box)) {
				g.nested = true
				return g, true
			}
			p := levels(row[4*x:])
			if d := apart(p, g.back); d > best {
				best, g.far = d, p
			}
		}
	}
	if best <= limit {
		return g, false
	}
	g.reach = math.Sqrt(float64(best))
	if g.reach < overNoise*float64(f.s.list[on].noise) {
		return g, false
	}
	dir := [3]float64{float64(g.far[0] - g.back[0]), float64(g.far[1] - g.back[1]), float64(g.far[2] - g.back[2])}
	off := 0.0
	tight := image.Rectangle{}
	strokes := make([]int, box.Dy())
	for _, run := range runs {
		row := f.r.row(run.y)
		inked := false
		for x := run.from; x < run.to; x++ {
			p := levels(row[4*x:])
			d := apart(p, g.back)
			if d <= limit {
				inked = false
				continue
			}
			t := (dir[0]*float64(p[0]-g.back[0]) + dir[1]*float64(p[1]-g.back[1]) + dir[2]*float64(p[2]-g.back[2])) / float64(best)
			g.pixels++
			for c := range p {
				g.mean[c] += p[c] - g.back[c]
			}
			g.mass += min(1, max(0, t))
			off += math.Sqrt(max(0, float64(d)-t*t*float64(best)))
			if t >= 0.5 {
				g.ink++
				if !inked {
					strokes[run.y-box.Min.Y]++
				}
			}
			inked = t >= 0.5
			tight = tight.Union(image.Rect(x, run.y, x+1, run.y+1))
		}
	}
	g.offLine = off / float64(g.pixels) / g.reach
	g.bounds = tight
	g.solid = float64(g.ink) >= 0.94*float64(tight.Dx()*tight.Dy())
	g.hollow = f.isFrame(&g)
	g.strokes = middleMean(strokes)
	return g, g.ink >= minGlyphInk
}

// A surface that fills most of a mark, and is a disc or a rectangle itself, is
// something to put marks on: a button, an avatar.
const (
	fillSide  = 0.8
	fillSolid = 0.6
	fillLeast = 14 // pixels a side
)

func (s *surface) fills(box image.Rectangle) bool {
	w, h := s.bounds.Dx(), s.bounds.Dy()
	return w >= fillLeast && h >= fillLeast && float64(w) >= fillSide*float64(box.Dx()) && float64(h) >= fillSide*float64(box.Dy()) &&
		float64(s.area) >= fillSolid*float64(w*h) && s.holed
}

// middleMean is the mean of a list without its first and last fifth.
func middleMean(list []int) float64 {
	cut := len(list) / 5
	sum := 0
	for _, n := range list[cut : len(list)-cut] {
		sum += n
	}
	return float64(sum) / float64(len(list)-2*cut)
}

// around is the surface's colour around a rectangle: its colour where it has but
// one, else the mean of its pixels there.
func (f *textFinder) around(on int32, box image.Rectangle) [3]int {
	s := &f.s.list[on]
	if s.bands == 1 {
		return [3]int{int(s.color >> 16), int(s.color >> 8 & 0xff), int(s.color & 0xff)}
	}
	near := box.Inset(-3).Intersect(image.Rect(0, 0, f.s.w, f.s.h))
	var sum [3]int
	n := 0
	for y := near.Min.Y; y < near.Max.Y; y++ {
		row := f.r.row(y)
		for x := near.Min.X; x < near.Max.X; x++ {
			if f.s.of[y*f.s.w+x] == on {
				p := levels(row[4*x:])
				for c := range sum {
					sum[c] += p[c]
				}
				n++
			}
		}
	}
	n = max(1, n)
	return [3]int{(sum[0] + n/2) / n, (sum[1] + n/2) / n, (sum[2] + n/2) / n}
}

// Frames: letters that close a rectangle are smaller than minFrame pixels, and
// rounded corners take up to the rest of a side.
const (
	minFrame  = 14
	frameSide = 0.6
)

// isFrame reports whether a mark is the outline of a rectangle: thin lines along
// all four sides of its bounds.
func (f *textFinder) isFrame(g *glyph) bool {
	b := g.bounds
	if b.Dx() < minFrame || b.Dy() < minFrame {
		return false
	}
	limit := f.inkLimit(g.on)
	inked := func(x, y int) bool {
		return f.s.of[y*f.s.w+x] != g.on && apart(levels(f.r.row(y)[4*x:]), g.back) > limit
	}
	sides := 0
	for _, side := range []image.Rectangle{
		image.Rect(b.Min.X, b.Min.Y, b.Max.X, b.Min.Y+1), image.Rect(b.Min.X, b.Max.Y-1, b.Max.X, b.Max.Y),
		image.Rect(b.Min.X, b.Min.Y, b.Min.X+1, b.Max.Y), image.Rect(b.Max.X-1, b.Min.Y, b.Max.X, b.Max.Y),
	} {
		n := 0
		for y := side.Min.Y; y < side.Max.Y; y++ {
			for x := side.Min.X; x < side.Max.X; x++ {
				if inked(x, y) {
					n++
				}
			}
		}
		if float64(n) >= frameSide*float64(side.Dx()*side.Dy()) {
			sides++
		}
	}
	return sides == 4
}
