package measure

import (
	"encoding/binary"
	"image"
	"slices"
)

// regionGap is the distance in pixels from which two changes are two regions:
// under it lie the words of a line and the lines of a paragraph.
const regionGap = 24

// findRegions lists where pixels changed, most pixels first.
func (d *differ) findRegions() {
	l := d.cluster(regionGap)
	for _, g := range d.tally(l) {
		share := float64(g.pixels) / float64(g.bounds.Dx()*g.bounds.Dy())
		d.rep.Regions = append(d.rep.Regions, DiffRegion{g.bounds, g.pixels, share})
	}
	slices.SortStableFunc(d.rep.Regions, func(a, b DiffRegion) int {
		switch {
		case a.Pixels != b.Pixels:
			return b.Pixels - a.Pixels
		case a.Bounds.Min.Y != b.Bounds.Min.Y:
			return a.Bounds.Min.Y - b.Bounds.Min.Y
		}
		return a.Bounds.Min.X - b.Bounds.Min.X
	})
}

// outside reports whether a rectangle reaches what only one picture covers.
func (d *differ) outside(r image.Rectangle) bool { return r.Max.X > d.w || r.Max.Y > d.h }

// group is the changed pixels that lie together.
type group struct {
	label  int32
	bounds image.Rectangle
	pixels int
}

// cluster labels the runs of changed pixels; those that lie less than reach
// apart in both directions get the same label.
func (d *differ) cluster(reach int) *labelled {
	l := &labelled{}
	for y := range d.rep.Canvas.Y {
		begin := len(l.runs)
		l.rows = append(l.rows, begin)
		l.runs = appendChanged(l.runs, d.classes(y), int32(reach))
		current := l.runs[begin:]
		if len(current) == 0 {
			continue
		}
		for up := y - 1; up >= max(0, y-reach); up-- {
			l.touch(l.runs[l.rows[up]:l.rows[up+1]], current, int32(reach))
		}
		for i := range current {
			r := &current[i]
			if r.label < 0 {
				r.label = int32(len(l.parent))
				l.parent = append(l.parent, r.label)
				l.areas = append(l.areas, area{x0: r.from, y0: int32(y), x1: r.to})
			}
			a := &l.areas[l.root(r.label)]
			a.x0, a.x1, a.y1 = min(a.x0, r.from), max(a.x1, r.to), int32(y)+1
		}
	}
	l.rows = append(l.rows, len(l.runs))
	return l
}

// touch joins the runs of two rows that lie less than reach apart.
func (l *labelled) touch(above, current []labelRun, reach int32) {
	first := 0
	for i := range current {
		r := &current[i]
		for first < len(above) && above[first].to+reach <= r.from {
			first++
		}
		for _, a := range above[first:] {
			if a.from >= r.to+reach {
				break
			}
			if root := l.root(a.label); r.label < 0 {
				r.label = root
			} else {
				r.label = l.join(l.root(r.label), root)
			}
		}
	}
}

// appendChanged lists the runs of changed pixels, with gaps under reach closed
// and without labels.
func appendChanged(list []labelRun, row []DiffClass, reach int32) []labelRun {
	begin := len(list)
	for x := 0; x < len(row); x++ {
		for x+8 <= len(row) && binary.LittleEndian.Uint64(row[x:]) == 0 {
			x += 8
		}
		if x >= len(row) {
			break
		}
		if row[x] != DiffChanged {
			continue
		}
		if n := len(list); n > begin && int32(x)-list[n-1].to < reach {
			list[n-1].to = int32(x) + 1
		} else {
			list = append(list, labelRun{from: int32(x), to: int32(x) + 1, label: -1})
		}
	}
	return list
}

// tally lists the groups of a clustering with their pixels.
func (d *differ) tally(l *labelled) []group {
	var groups []group
	index := make([]int32, len(l.parent))
	for i, a := range l.areas {
		if l.parent[i] == int32(i) {
			index[i] = int32(len(groups))
			groups = append(groups, group{label: int32(i), bounds: a.rect()})
		}
	}
	for y := range d.rep.Canvas.Y {
		row := d.classes(y)
		for _, run := range l.runs[l.rows[y]:l.rows[y+1]] {
			n := 0
			for _, c := range row[run.from:run.to] {
				if c == DiffChanged {
					n++
				}
			}
			groups[index[l.root(run.label)]].pixels += n
		}
	}
	return groups
}

// each visits the changed pixels of a group.
func (d *differ) each(l *labelled, g *group, visit func(x, y int)) {
	for y := g.bounds.Min.Y; y < g.bounds.Max.Y; y++ {
		row := d.classes(y)
		runs := l.runs[l.rows[y]:l.rows[y+1]]
		first, _ := slices.BinarySearchFunc(runs, int32(g.bounds.Min.X), func(r labelRun, x int32) int { return int(r.from - x) })
		for _, run := range runs[first:] {
			if int(run.from) >= g.bounds.Max.X {
				break
			}
			if l.root(run.label) != g.label {
				continue
			}
			for x := run.from; x < run.to; x++ {
				if row[x] == DiffChanged {
					visit(int(x), y)
				}
			}
		}
	}
}

// turn gives the pixels of a group another class.
func (d *differ) turn(l *labelled, g *group, class DiffClass) {
	d.each(l, g, func(x, y int) { d.classes(y)[x] = class })
}
