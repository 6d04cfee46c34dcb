package measure

import (
	"image"
	"math"
	"slices"
)

// textRun is a line or a word: glyphs of one colour on one surface.
type textRun struct {
	on     int32
	bounds image.Rectangle
	glyphs []glyph
}

// group joins the marks of a surface to runs.
func (f *textFinder) group(on int32, glyphs []glyph) {
	var marks []glyph
	for _, g := range glyphs {
		switch {
		case g.nested:
		case g.hollow && !g.solid, g.height() < minGlyphHeight && g.width() > 12:
			f.others = append(f.others, g)
		default:
			marks = append(marks, g)
		}
	}
	slices.SortStableFunc(marks, func(a, b glyph) int { return a.bounds.Min.X - b.bounds.Min.X })
	parent := make([]int32, len(marks))
	for i := range parent {
		parent[i] = int32(i)
	}
	f.chain(marks, parent)
	members := map[int32][]glyph{}
	var roots []int32
	for i, g := range marks {
		root := findRoot(parent, int32(i))
		if members[root] == nil {
			roots = append(roots, root)
		}
		members[root] = append(members[root], g)
	}
	for _, root := range roots {
		run := textRun{on: on, glyphs: members[root]}
		for _, g := range run.glyphs {
			run.bounds = run.bounds.Union(g.bounds)
		}
		if run.isText(f.s.list[on].noise > bandStep) {
			f.runs = append(f.runs, run)
			f.s.list[on].hasText = true
		} else if run.isBars() {
			f.bars = append(f.bars, run)
		} else {
			f.others = append(f.others, run.glyphs...)
		}
	}
}

// bucket is the height in pixels of the bands in which neighbours are looked
// for.
const bucket = 16

// chain unites each mark with the ones that follow it on its line. marks are
// sorted from left to right.
func (f *textFinder) chain(marks []glyph, parent []int32) {
	rows := map[int][]int32{}
	inks := make([]glyph, len(marks)) // by root: the ink of all that was united
	copy(inks, marks)
	for i := range marks {
		a := &marks[i]
		seen := map[int32]bool{}
		for row := a.bounds.Min.Y / bucket; row <= (a.bounds.Max.Y-1)/bucket; row++ {
			list := rows[row]
			for k := len(list) - 1; k >= 0; k-- {
				j := list[k]
				if len(list)-k > 40 {
					break
				}
				if !seen[j] {
					seen[j] = true
					if follows(&marks[j], a) {
						x, y := findRoot(parent, j), findRoot(parent, int32(i))
						if x != y && sameHue(&inks[x], &inks[y]) {
							x, y = min(x, y), max(x, y)
							parent[y] = x
							inks[x].addInk(&inks[y])
						}
					}
				}
			}
			rows[row] = append(list, int32(i))
		}
	}
}

// Distances within a line, as shares of a glyph's height.
const (
	lineGap    = 1.0 // between glyphs; a space is a third of the font's size
	sizeSpread = 3.2 // tallest over lowest that still are of one line
)

// follows reports whether b continues the line that a is on.
func follows(a, b *glyph) bool {
	tall, low := float64(max(a.height(), b.height())), float64(min(a.height(), b.height()))
	gap := float64(b.bounds.Min.X - a.bounds.Max.X)
	if gap > lineGap*tall+1 || gap < -tall {
		return false
	}
	overlap := float64(min(a.bounds.Max.Y, b.bounds.Max.Y) - max(a.bounds.Min.Y, b.bounds.Min.Y))
	baseline := math.Abs(float64(a.bounds.Max.Y - b.bounds.Max.Y))
	if overlap < 0.5*low && baseline > 0.2*tall {
		return false
	}
	if tall > sizeSpread*low && tall > 12 && low > 5 {
		return false
	}
	return sameColor(a, b)
}

// Colours of one ink.
const (
	oneHue      = 0.975 // cosine between the directions from the background
	oneHueSmall = 0.93  // the same for marks of few pixels
	fewPixels   = 12
	sameReach   = 1.35 // ratio of the distances from the background
)

// sameColor reports whether two marks can be of one ink: their colours lie in
// one direction from the background, and where both have full strokes, about as
// far.
func sameColor(a, b *glyph) bool {
	if !sameHue(a, b) {
		return false
	}
	ratio := max(a.reach, b.reach) / min(a.reach, b.reach)
	return ratio < sameReach || min(a.ink, b.ink) < 8 && ratio < 2
}

// sameHue compares the directions of two inks from the background.
func sameHue(a, b *glyph) bool {
	dot, la, lb := 0.0, 0.0, 0.0
	for c := range 3 {
		x, y := float64(a.mean[c]), float64(b.mean[c])
		dot, la, lb = dot+x*y, la+x*x, lb+y*y
	}
	least := oneHue
	if min(a.pixels, b.pixels) < fewPixels {
		least = oneHueSmall
	}
	return dot >= least*math.Sqrt(la*lb)
}

// addInk adds the pixels of another mark to what a mark's hue is told from, so
// that a dot between two words of different colours does not unite them.
func (g *glyph) addInk(other *glyph) {
	g.pixels += other.pixels
	for c := range g.mean {
		g.mean[c] += other.mean[c]
	}
}

// isWord reports whether a single mark is letters that touch: wider than high,
// and crossed by about two strokes for each letter.
func (g *glyph) isWord() bool {
	aspect := float64(g.width()) / float64(g.height())
	return g.height() >= 5 && g.height() <= maxWordHeight && aspect >= 1.5 && g.strokes >= 2.4 && g.strokes >= aspect && g.mass < 0.75*float64(g.width()*g.height())
}

// maxWordHeight is the height in pixels above which letters do not touch.
const maxWordHeight = 40

// maxLetter is how many times its height the widest letter is wide.
const maxLetter = 1.8

// isText judges a run by the shapes in it.
func (r *textRun) isText(noisy bool) bool {
	if len(r.glyphs) == 1 {
		return r.glyphs[0].isWord()
	}
	if noisy && len(r.glyphs) < 4 {
		return false
	}
	solid, shapes, tallest := 0, map[[3]int]bool{}, 0
	thick, wide := 0, false
	for i := range r.glyphs {
		g := &r.glyphs[i]
		if float64(g.width()) > maxLetter*float64(g.height()) && g.height() >= 5 && !g.isWord() {
			wide = true
		}
		if g.solid {
			solid++
		}
		shapes[[3]int{g.width(), g.height(), g.ink}] = true
		tallest = max(tallest, g.height())
		if g.mass > 0.75*float64(g.width()*g.height()) {
			thick++
		}
	}
	switch {
	case tallest < 5, len(shapes) < 2, solid == len(r.glyphs):
		return false
	case len(r.glyphs) == 2 && (solid > 0 || thick > 0 || wide):
		return false
	}
	return 2*thick <= len(r.glyphs)
}

// Bars that are as tall as the letters of a poster and set like them may be
// letters.
const (
	minBar     = 64 // pixels high
	barAspect  = 2.5
	barSpacing = 4 // widths from one to the next
)

// isBars reports whether a run is upright bars of one size, set like letters.
func (r *textRun) isBars() bool {
	first := &r.glyphs[0]
	if len(r.glyphs) < 2 || len(r.glyphs) > 4 || first.height() < minBar {
		return false
	}
	for i := range r.glyphs {
		g := &r.glyphs[i]
		upright := float64(g.height()) >= barAspect*float64(g.width())
		alike := abs(g.width()-first.width()) <= 2 && g.bounds.Min.Y == first.bounds.Min.Y && g.bounds.Max.Y == first.bounds.Max.Y
		if !g.solid || !upright || !alike || i > 0 && g.bounds.Min.X-r.glyphs[i-1].bounds.Max.X > barSpacing*g.width() {
			return false
		}
	}
	return true
}

func abs(n int) int { return max(n, -n) }
