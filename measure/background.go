package measure

import (
	"encoding/binary"
	"image"
)

// Sizes of plates and surfaces, in pixels.
const (
	// minPlate is the least area of one exact colour that can join a gradient:
	// the pixels of a glyph's edge form smaller ones.
	minPlate = 20
	// bandStep is how far, in levels a channel, neighbouring bands of a gradient
	// lie apart at most.
	bandStep = 2
	// minInterior is how many pixels of a surface have it all around them:
	// lines and the strokes of small text have none.
	minInterior = 6
	minSurface  = 40
)

// surface is an area of one colour, or of bands that pass into each other. What
// is text lies on one.
type surface struct {
	bounds   image.Rectangle // from the raster's corner
	area     int
	interior int
	color    uint32 // key of the most frequent colour of its plates
	bands    int    // plates that it is made of
	hasText  bool
	holed    bool // marks lie on it
	noise    int  // levels by which neighbouring pixels of it may differ, 0 for exact colours
}

func pixelAt(x, y int) image.Rectangle { return image.Rect(x, y, x+1, y+1) }

// surfaces is the partition of a raster: which surface each pixel belongs to, -1
// for none.
type surfaces struct {
	w, h  int
	of    []int32
	list  []surface
	rough int // pixels in areas without any surface, such as photographs
}

// plate is a connected area of exactly one colour.
type plate struct {
	area
	key uint32
}

// findSurfaces takes a raster apart into surfaces.
func findSurfaces(r raster) *surfaces {
	s := &surfaces{w: r.w, h: r.h}
	plates, label := exactPlates(r)
	parent := make([]int32, len(plates))
	for i := range parent {
		parent[i] = int32(i)
	}
	joinBands(r, plates, label, parent)
	s.collect(plates, parent)
	index := make([]int32, len(plates))
	count := int32(0)
	for i := range plates {
		index[i] = -1
		if findRoot(parent, int32(i)) == int32(i) && int(plates[i].pixels) >= minPlate {
			index[i] = count
			count++
		}
	}
	for i, l := range label {
		label[i] = index[findRoot(parent, l)]
	}
	s.of = label
	s.countInterior()
	s.addRough(r)
	for _, c := range s.of {
		if c < 0 {
			s.rough++
		}
	}
	return s
}

func findRoot(parent []int32, i int32) int32 {
	for parent[i] != i {
		parent[i] = parent[parent[i]]
		i = parent[i]
	}
	return i
}

// exactPlates labels the four-connected areas of equal colour.
func exactPlates(r raster) ([]plate, []int32) {
	l := &labelled{}
	var keys []uint32
	label := make([]int32, r.w*r.h)
	type run struct {
		from, to, label int32
		key             uint32
	}
	var above, current []run
	for y := range r.h {
		row := r.row(y)
		current = current[:0]
		for x := 0; x < r.w; {
			c := binary.LittleEndian.Uint32(row[4*x:])
			from := x
			for x++; x < r.w && binary.LittleEndian.Uint32(row[4*x:]) == c; x++ {
			}
			current = append(current, run{int32(from), int32(x), -1, key(row[4*from:])})
		}
		first := 0
		for i := range current {
			c := &current[i]
			for first < len(above) && above[first].to <= c.from {
				first++
			}
			for _, a := range above[first:] {
				if a.from >= c.to {
					break
				}
				if a.key != c.key {
					continue
				}
				if root := l.root(a.label); c.label < 0 {
					c.label = root
				} else {
					c.label = l.join(l.root(c.label), root)
				}
			}
			if c.label < 0 {
				c.label = int32(len(l.parent))
				l.parent = append(l.parent, c.label)
				l.areas = append(l.areas, area{c.from, int32(y), c.to, int32(y) + 1, 0})
				keys = append(keys, c.key)
			}
			a := &l.areas[c.label]
			a.x0, a.x1, a.y1 = min(a.x0, c.from), max(a.x1, c.to), int32(y)+1
			a.pixels += c.to - c.from
			out := label[y*r.w:]
			for x := c.from; x < c.to; x++ {
				out[x] = c.label
			}
		}
		above, current = current, above
	}
	plates := make([]plate, len(l.areas))
	for i := range l.areas {
		if plates[i] = (plate{l.areas[i], keys[i]}); l.parent[i] != int32(i) {
			plates[i].pixels = 0 // its root has them
		}
	}
	for i := range label {
		label[i] = l.root(label[i])
	}
	return plates, label
}

// joinBands unites plates that touch and lie at most bandStep apart: the bands
// of a gradient.
func joinBands(r raster, plates []plate, label, parent []int32) {
	join := func(a, b int32) {
		if a == b || plates[a].pixels < minPlate || plates[b].pixels < minPlate || !closeBands(plates[a].key, plates[b].key) {
			return
		}
		a, b = findRoot(parent, a), findRoot(parent, b)
		if a != b {
			parent[max(a, b)] = min(a, b)
		}
	}
	for y := range r.h {
		row := label[y*r.w:][:r.w]
		for x := 1; x < r.w; x++ {
			if row[x] != row[x-1] {
				join(row[x-1], row[x])
			}
		}
		if y+1 == r.h {
			continue
		}
		below := label[(y+1)*r.w:][:r.w]
		for x := range row {
			if row[x] != below[x] {
				join(row[x], below[x])
			}
		}
	}
}

func closeBands(a, b uint32) bool {
	for shift := 0; shift < 24; shift += 8 {
		if d := int(a>>shift&0xff) - int(b>>shift&0xff); d > bandStep || d < -bandStep {
			return false
		}
	}
	return true
}

// collect sums the plates of each surface, in the order of their roots.
func (s *surfaces) collect(plates []plate, parent []int32) {
	at := make(map[int32]int)
	largest := make([]int32, 0)
	for i := range plates {
		root := findRoot(parent, int32(i))
		if root == int32(i) && int(plates[i].pixels) >= minPlate {
			at[root] = len(s.list)
			s.list = append(s.list, surface{bounds: plates[i].rect(), color: plates[i].key})
			largest = append(largest, 0)
		}
	}
	for i := range plates {
		n, ok := at[findRoot(parent, int32(i))]
		if !ok || plates[i].pixels == 0 {
			continue
		}
		p, f := &plates[i], &s.list[n]
		f.area += int(p.pixels)
		f.bands++
		f.bounds = f.bounds.Union(p.rect())
		if p.pixels > largest[n] {
			largest[n], f.color = p.pixels, p.key
		}
	}
}

// countInterior counts each surface's pixels that have it on all eight sides.
func (s *surfaces) countInterior() {
	for y := 1; y+1 < s.h; y++ {
		up, row, down := s.of[(y-1)*s.w:][:s.w], s.of[y*s.w:][:s.w], s.of[(y+1)*s.w:][:s.w]
		for x := 1; x+1 < s.w; x++ {
			c := row[x]
			if c < 0 || row[x-1] != c || row[x+1] != c || up[x] != c || down[x] != c || up[x-1] != c || up[x+1] != c || down[x-1] != c || down[x+1] != c {
				continue
			}
			s.list[c].interior++
		}
	}
}
