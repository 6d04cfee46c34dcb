package measure

import (
	"image"
	"image/color"
	"slices"
)

// Defaults of [BoxOptions], the sizes from which the eye takes a frame for a
// box instead of a letter or a check mark.
const (
	DefaultBoxWidth  = 40 // pixels
	DefaultBoxHeight = 30
	DefaultBoxArea   = 200 // pixels of the border
)

// BoxOptions say which boxes to look for.
type BoxOptions struct {
	Color     color.NRGBA     // of the border
	Tolerance float64         // Euclidean RGB distance that still counts as the colour, 0 to 441
	Region    image.Rectangle // empty: the whole image
	MinWidth  int             // smallest box in pixels; 0 takes DefaultBoxWidth
	MinHeight int             // 0 takes DefaultBoxHeight
	MinArea   int             // fewest pixels of the colour; 0 takes DefaultBoxArea
}

// FoundBox is a rectangle drawn in the colour that was looked for.
type FoundBox struct {
	Bounds   image.Rectangle // outer edges, in the image's coordinates
	Area     int             // pixels of the colour; of boxes that share borders, of their group
	Centroid image.Point     // of the rectangle
	Shared   bool            // its border is also another box's
}

// BoxReport lists what [Boxes] found, from top to bottom, then left to right.
type BoxReport struct {
	Outlined []FoundBox // rectangles with a border in the colour
	Filled   []FoundBox // solid rectangles in the colour
	Small    int        // components below the sizes asked for
	Other    int        // components large enough that are no rectangles
}

// Thresholds on shape, as shares.
const (
	// holeFill is how much of its bounding rectangle an opening must fill to be
	// the inside of a box: rounded corners of a quarter of the shorter side
	// leave 0.95, a round opening 0.79.
	holeFill = 0.88
	// solidFill is the same for a filled rectangle, of which white text may
	// take some.
	solidFill = 0.8
	// ringShare is how much of a box the opening takes at least: borders are
	// thinner than a quarter of each side.
	ringShare = 0.25
)

// Boxes finds rectangles by the colour of their border. A box is an opening
// that such pixels close off and that is rectangular itself, so boxes that touch
// or share borders are counted one by one, and nested ones too. Solid rectangles
// are listed apart.
func Boxes(img image.Image, o BoxOptions) BoxReport {
	o = o.withDefaults()
	r := rasterOf(img).within(o.Region)
	n := newNear(Over(o.Color, white), o.Tolerance)
	borders := labelRuns(n.mask(r, false), Eight, true)
	openings := labelRuns(n.mask(r, true), Four, true)
	return collect(borders, openings, r, o)
}

func (o BoxOptions) withDefaults() BoxOptions {
	if o.MinWidth == 0 {
		o.MinWidth = DefaultBoxWidth
	}
	if o.MinHeight == 0 {
		o.MinHeight = DefaultBoxHeight
	}
	if o.MinArea == 0 {
		o.MinArea = DefaultBoxArea
	}
	return o
}

// opening is an area that one component of the border colour encloses.
type opening struct {
	bounds image.Rectangle
	border int32
	fill   float64 // of its bounding rectangle, each row counted from its first to its last pixel
}

// collect decides what each component of the border colour is.
func collect(borders, openings *labelled, r raster, o BoxOptions) BoxReport {
	var rep BoxReport
	inside := map[int32][]opening{}
	for _, hole := range enclosed(borders, openings, r) {
		inside[hole.border] = append(inside[hole.border], hole)
	}
	for i, a := range borders.areas {
		if borders.parent[i] != int32(i) {
			continue
		}
		if !o.fits(a) {
			rep.Small++
			continue
		}
		boxes := outlines(a, inside[int32(i)], borders, o)
		switch {
		case len(boxes) > 0:
			rep.Outlined = append(rep.Outlined, boxes...)
		case a.fill() >= solidFill:
			rep.Filled = append(rep.Filled, found(a.rect(), a, false))
		default:
			rep.Other++
		}
	}
	for _, list := range [][]FoundBox{rep.Outlined, rep.Filled} {
		for i := range list {
			list[i].Bounds = list[i].Bounds.Add(r.min)
			list[i].Centroid = list[i].Centroid.Add(r.min)
		}
		slices.SortStableFunc(list, func(a, b FoundBox) int {
			if a.Bounds.Min.Y != b.Bounds.Min.Y {
				return a.Bounds.Min.Y - b.Bounds.Min.Y
			}
			return a.Bounds.Min.X - b.Bounds.Min.X
		})
	}
	return rep
}

// fits reports whether a component is as large as was asked for.
func (o BoxOptions) fits(a area) bool {
	return int(a.pixels) >= o.MinArea && int(a.x1-a.x0) >= o.MinWidth && int(a.y1-a.y0) >= o.MinHeight
}

func (a area) rect() image.Rectangle {
	return image.Rect(int(a.x0), int(a.y0), int(a.x1), int(a.y1))
}

// fill is the share of its bounding rectangle that an area covers.
func (a area) fill() float64 {
	return float64(a.pixels) / (float64(a.x1-a.x0) * float64(a.y1-a.y0))
}

func found(r image.Rectangle, a area, shared bool) FoundBox {
	return FoundBox{Bounds: r, Area: int(a.pixels), Shared: shared, Centroid: image.Pt((r.Min.X+r.Max.X-1)/2, (r.Min.Y+r.Max.Y-1)/2)}
}

// enclosed lists the areas without the colour that do not reach the edge of the
// picture, each with the component around it: that of the pixel above its first
// one. What stands inside (text, another box) does not count against its shape.
func enclosed(borders, openings *labelled, r raster) []opening {
	type extent struct {
		border        int32
		y             int
		from, to, sum int32 // of row y so far, and of all rows before
	}
	extents := make([]extent, len(openings.parent))
	for y := range r.h {
		for _, run := range openings.runs[openings.rows[y]:openings.rows[y+1]] {
			root := openings.root(run.label)
			e := &extents[root]
			switch {
			case e.to == 0: // its first run
				*e = extent{border: -1, y: y, from: run.from, to: run.to}
				if y > 0 {
					e.border = borders.at(run.from, y-1)
				}
			case e.y == y:
				e.to = run.to
			default:
				e.sum += e.to - e.from
				e.y, e.from, e.to = y, run.from, run.to
			}
		}
	}
	var list []opening
	for i, a := range openings.areas {
		if openings.parent[i] != int32(i) || a.x0 == 0 || a.y0 == 0 || int(a.x1) == r.w || int(a.y1) == r.h {
			continue
		}
		if e := extents[i]; e.border >= 0 {
			b := a.rect()
			fill := float64(e.sum+e.to-e.from) / float64(b.Dx()*b.Dy())
			list = append(list, opening{bounds: b, border: e.border, fill: fill})
		}
	}
	return list
}

// at is the root label of a pixel, -1 outside the mask.
func (l *labelled) at(x int32, y int) int32 {
	runs := l.runs[l.rows[y]:l.rows[y+1]]
	i, found := slices.BinarySearchFunc(runs, x, func(r labelRun, x int32) int {
		switch {
		case r.to <= x:
			return -1
		case r.from > x:
			return 1
		}
		return 0
	})
	if !found {
		return -1
	}
	return l.root(runs[i].label)
}

// outlines are the boxes that one component of the colour draws: itself around
// its only opening, or one around each opening where borders are shared.
func outlines(a area, holes []opening, borders *labelled, o BoxOptions) []FoundBox {
	var good []image.Rectangle
	for _, h := range holes {
		r := h.bounds
		outer := borders.grow(r)
		wide := outer.Dx() >= o.MinWidth && outer.Dy() >= o.MinHeight
		ring := float64(r.Dx()*r.Dy()) >= ringShare*float64(outer.Dx()*outer.Dy())
		if wide && ring && h.fill >= holeFill {
			good = append(good, outer)
		}
	}
	if len(good) == 1 && float64(good[0].Dx()*good[0].Dy()) >= holeFill*float64(a.rect().Dx()*a.rect().Dy()) {
		return []FoundBox{found(a.rect(), a, false)}
	}
	var list []FoundBox
	for _, r := range good {
		list = append(list, found(r, a, len(good) > 1))
	}
	return list
}

// grow widens an opening by the border around it, measured outwards from the
// middle of each edge.
func (l *labelled) grow(r image.Rectangle) image.Rectangle {
	cx, cy := int32((r.Min.X+r.Max.X)/2), (r.Min.Y+r.Max.Y)/2
	out := r
	for out.Min.Y > 0 && l.at(cx, out.Min.Y-1) >= 0 {
		out.Min.Y--
	}
	for out.Max.Y < len(l.rows)-1 && l.at(cx, out.Max.Y) >= 0 {
		out.Max.Y++
	}
	for out.Min.X > 0 && l.at(int32(out.Min.X-1), cy) >= 0 {
		out.Min.X--
	}
	for l.at(int32(out.Max.X), cy) >= 0 {
		out.Max.X++
	}
	return out
}
