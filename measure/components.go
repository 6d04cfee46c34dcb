package measure

import (
	"encoding/binary"
	"image"
	"math/bits"
)

// Connectivity says which neighbours of a pixel belong together.
type Connectivity int

// The two neighbourhoods of a square grid.
const (
	Four  Connectivity = 4 // left, right, up, down
	Eight Connectivity = 8 // and the diagonals
)

// Component is one connected area of a mask.
type Component struct {
	Bounds image.Rectangle // in the mask's coordinates
	Pixels int
}

// Components finds the connected areas of the pixels of a mask that are not 0,
// ordered by their first pixel, row by row. It joins runs of pixels instead of
// single ones (union-find; Rosenfeld and Pfaltz 1966), so that time goes with
// the runs.
func Components(mask *image.Alpha, c Connectivity) []Component {
	return labelRuns(mask, c, false).components()
}

// labelled is a mask taken apart into runs.
type labelled struct {
	runs   []labelRun // by row; only when they were asked to be kept
	rows   []int      // where each row's runs begin, and the end of the last
	parent []int32    // union-find over labels; a root is its own parent
	areas  []area     // by label, complete at the roots
	min    image.Point
}

// labelRun is pixels [from, to) of one row.
type labelRun struct{ from, to, label int32 }

type area struct{ x0, y0, x1, y1, pixels int32 }

// root finds the label that stands for a component, halving the path.
func (l *labelled) root(i int32) int32 {
	for l.parent[i] != i {
		l.parent[i] = l.parent[l.parent[i]]
		i = l.parent[i]
	}
	return i
}

// join unites two components under the older label, which keeps them in the
// order of their first pixels.
func (l *labelled) join(a, b int32) int32 {
	if a == b {
		return a
	}
	if b < a {
		a, b = b, a
	}
	l.parent[b] = a
	into, from := &l.areas[a], &l.areas[b]
	into.x0, into.x1 = min(into.x0, from.x0), max(into.x1, from.x1)
	into.y0, into.y1 = min(into.y0, from.y0), max(into.y1, from.y1)
	into.pixels += from.pixels
	return a
}

// labelRuns labels a mask row by row; keep stores the runs too.
func labelRuns(mask *image.Alpha, c Connectivity, keep bool) *labelled {
	w, h := mask.Rect.Dx(), mask.Rect.Dy()
	l := &labelled{min: mask.Rect.Min}
	reach := int32(0)
	if c == Eight {
		reach = 1
	}
	var above, current []labelRun
	for y := range h {
		current = appendRuns(current[:0], mask.Pix[y*mask.Stride:][:w])
		l.connect(above, current, int32(y), reach)
		if keep {
			l.rows = append(l.rows, len(l.runs))
			l.runs = append(l.runs, current...)
		}
		above, current = current, above
	}
	if keep {
		l.rows = append(l.rows, len(l.runs))
	}
	return l
}

// connect gives the runs of row y their labels. A run joins every run above
// that it touches, with reach pixels to each side.
func (l *labelled) connect(above, current []labelRun, y, reach int32) {
	first := 0
	for i := range current {
		r := &current[i]
		for first < len(above) && above[first].to+reach <= r.from {
			first++
		}
		r.label = -1
		for _, a := range above[first:] {
			if a.from >= r.to+reach {
				break
			}
			if root := l.root(a.label); r.label < 0 {
				r.label = root
			} else {
				r.label = l.join(r.label, root)
			}
		}
		if r.label < 0 {
			r.label = int32(len(l.parent))
			l.parent = append(l.parent, r.label)
			l.areas = append(l.areas, area{r.from, y, r.to, y + 1, r.to - r.from})
			continue
		}
		a := &l.areas[r.label]
		a.x0, a.x1, a.y1 = min(a.x0, r.from), max(a.x1, r.to), y+1
		a.pixels += r.to - r.from
	}
}

// components lists the roots.
func (l *labelled) components() []Component {
	var list []Component
	for i, a := range l.areas {
		if l.parent[i] == int32(i) {
			r := image.Rect(int(a.x0), int(a.y0), int(a.x1), int(a.y1)).Add(l.min)
			list = append(list, Component{r, int(a.pixels)})
		}
	}
	return list
}

// Masks of a word of eight bytes.
const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// appendRuns lists the runs of bytes that are not 0, eight bytes at a time.
func appendRuns(list []labelRun, row []byte) []labelRun {
	x := 0
	for {
		for x+8 <= len(row) {
			v := binary.LittleEndian.Uint64(row[x:])
			if v != 0 {
				x += bits.TrailingZeros64(v) / 8
				break
			}
			x += 8
		}
		for x < len(row) && row[x] == 0 {
			x++
		}
		if x >= len(row) {
			return list
		}
		from := x
		for x+8 <= len(row) {
			v := binary.LittleEndian.Uint64(row[x:])
			if zero := (v - lowBits) &^ v & highBits; zero != 0 { // its lowest bit marks the first byte that is 0
				x += bits.TrailingZeros64(zero) / 8
				break
			}
			x += 8
		}
		for x < len(row) && row[x] != 0 {
			x++
		}
		list = append(list, labelRun{from: int32(from), to: int32(x)})
	}
}
