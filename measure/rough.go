package measure

import "slices"

// Areas without exact colours: gradients that were dithered, noise, photographs.
const (
	// deepRadius is how far from any surface a pixel lies to count as rough; the
	// edges of text on flat ground never do.
	deepRadius = 3
	// minDeep is how many such pixels an image must have to be looked at.
	minDeep = 1500
	// noiseStep is the step between neighbours, as a multiple of their usual one
	// (75th percentile), from which it is an edge.
	noiseStep = 3
	maxStep   = 10 // levels: more than this and edges of text are stepped over
	// minRoughInterior is the share of a rough surface that has it all around.
	minRoughInterior = 0.3
	minRough         = 400 // pixels
	smallPlate       = 64  // plates below this inside of rough areas belong to them, as do thin ones: the bands of gradients
)

// addRough finds surfaces in the areas that exact colours leave open: pixels
// that pass into each other by small steps once noise is averaged out.
func (s *surfaces) addRough(r raster) {
	open := make([]bool, len(s.of))
	for i, c := range s.of {
		open[i] = c < 0 || s.list[c].area < smallPlate || s.list[c].bands == 1 && 2*s.list[c].interior < s.list[c].area
	}
	deep := s.deep(open)
	if deep == nil {
		return
	}
	soft := smooth(r)
	step := s.usualStep(soft, deep)
	step = max(bandStep, min(maxStep, noiseStep*step))
	parent := make([]int32, len(s.of))
	for i := range parent {
		parent[i] = int32(i)
	}
	join := func(a, b int) {
		if !open[a] || !open[b] || !stepWithin(soft[3*a:3*a+3], soft[3*b:3*b+3], step) {
			return
		}
		x, y := findRoot(parent, int32(a)), findRoot(parent, int32(b))
		if x != y {
			parent[max(x, y)] = min(x, y)
		}
	}
	for y := range s.h {
		for x := range s.w {
			i := y*s.w + x
			if x > 0 {
				join(i-1, i)
			}
			if y > 0 {
				join(i-s.w, i)
			}
		}
	}
	s.adopt(parent, open, step)
}

// deep marks the pixels that have only open ones within deepRadius, nil when
// they are too few.
func (s *surfaces) deep(open []bool) []bool {
	across := make([]bool, len(open))
	for y := range s.h {
		run := 0
		for x := range s.w {
			i := y*s.w + x
			if run++; !open[i] {
				run = 0
			}
			if run > 2*deepRadius {
				across[i-deepRadius] = true
			}
		}
	}
	deep := make([]bool, len(open))
	n := 0
	for x := range s.w {
		run := 0
		for y := range s.h {
			i := y*s.w + x
			if run++; !across[i] {
				run = 0
			}
			if run > 2*deepRadius {
				deep[i-deepRadius*s.w] = true
				n++
			}
		}
	}
	if n < minDeep {
		return nil
	}
	return deep
}

// smooth is the mean of 3x3 pixels, three bytes a pixel.
func smooth(r raster) []byte {
	out := make([]byte, 3*r.w*r.h)
	for y := range r.h {
		rows := [3][]byte{r.row(max(0, y-1)), r.row(y), r.row(min(r.h-1, y+1))}
		for x := range r.w {
			left, right := 4*max(0, x-1), 4*min(r.w-1, x+1)
			for c := range 3 {
				sum := 0
				for _, row := range rows {
					sum += int(row[left+c]) + int(row[4*x+c]) + int(row[right+c])
				}
				out[3*(y*r.w+x)+c] = byte((sum + 4) / 9)
			}
		}
	}
	return out
}

// usualStep is the 75th percentile of the steps between deep neighbours.
func (s *surfaces) usualStep(soft []byte, deep []bool) int {
	var counts [256]int
	total := 0
	for i := 1; i < len(deep); i++ {
		if deep[i] && deep[i-1] {
			d := 0
			for c := range 3 {
				d = max(d, int(gap(soft[3*i+c], soft[3*i-3+c])))
			}
			counts[d]++
			total++
		}
	}
	seen := 0
	for d, n := range counts {
		if seen += n; 4*seen >= 3*total {
			return d
		}
	}
	return 0
}

func stepWithin(a, b []byte, step int) bool {
	for c := range 3 {
		if int(gap(a[c], b[c])) > step {
			return false
		}
	}
	return true
}

// adopt makes surfaces of the joined areas that are no mere edges.
func (s *surfaces) adopt(parent []int32, open []bool, step int) {
	size := map[int32]*surface{}
	var roots []int32
	inside := func(i, root int) bool {
		return open[i] && int(findRoot(parent, int32(i))) == root
	}
	for y := range s.h {
		for x := range s.w {
			i := y*s.w + x
			if !open[i] {
				continue
			}
			root := findRoot(parent, int32(i))
			f := size[root]
			if f == nil {
				f = &surface{bounds: pixelAt(x, y), bands: 2, noise: step}
				size[root] = f
				roots = append(roots, root)
			}
			f.area++
			f.bounds = f.bounds.Union(pixelAt(x, y))
			if x > 0 && y > 0 && x+1 < s.w && y+1 < s.h && inside(i-1, int(root)) && inside(i+1, int(root)) && inside(i-s.w, int(root)) && inside(i+s.w, int(root)) {
				f.interior++
			}
		}
	}
	number := map[int32]int32{}
	slices.Sort(roots)
	for _, root := range roots {
		if f := size[root]; f.area >= minRough && float64(f.interior) >= minRoughInterior*float64(f.area) {
			number[root] = int32(len(s.list))
			s.list = append(s.list, *f)
		}
	}
	for i := range s.of {
		if open[i] {
			if n, ok := number[findRoot(parent, int32(i))]; ok {
				s.of[i] = n
			}
		}
	}
}
