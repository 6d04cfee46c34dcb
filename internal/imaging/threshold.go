package imaging

// ThresholdOtsu turns m black and white at the luma level that best
// separates two classes (Otsu 1979). Lighter than the level is white.
func ThresholdOtsu(m *Image) {
	g := gray(m)
	var counts [256]uint64
	for _, v := range g {
		counts[v]++
	}
	level := otsu(&counts)
	for i, v := range g {
		g[i] = 0
		if int(v) > level {
			g[i] = 255
		}
	}
	setGray(m, g)
}

// otsu returns the level with the largest variance between the classes.
func otsu(counts *[256]uint64) int {
	var n, sum uint64
	for i, c := range counts {
		n += c
		sum += uint64(i) * c
	}
	best, level := -1.0, 0
	var dark, darkSum uint64
	for i, c := range counts {
		dark += c
		darkSum += uint64(i) * c
		light := n - dark
		if dark == 0 || light == 0 {
			continue
		}
		d := float64(darkSum)/float64(dark) - float64(sum-darkSum)/float64(light)
		if v := float64(dark) * float64(light) * d * d; v > best {
			best, level = v, i
		}
	}
	return level
}

// Parameters of the adaptive threshold: a window of 31x31 pixels suits text of
// 8 to 40 pixels, and ink must be 10 levels darker than its surroundings.
const (
	adaptiveRadius = 15
	adaptiveOffset = 10
)

// ThresholdAdaptive turns m black and white against the mean luma of
// the 31x31 pixels around: black where it is more than 10 levels darker.
func ThresholdAdaptive(m *Image) {
	w, h := m.Width(), m.Height()
	g := gray(m)
	out := make([]byte, len(g))
	columns := make([]int64, w) // sums over the window's rows
	add := func(y int, sign int64) {
		for x, v := range g[y*w : y*w+w] {
			columns[x] += sign * int64(v)
		}
	}
	for y := range min(adaptiveRadius, h) {
		add(y, 1)
	}
	for y := range h {
		if y+adaptiveRadius < h {
			add(y+adaptiveRadius, 1)
		}
		if y > adaptiveRadius {
			add(y-adaptiveRadius-1, -1)
		}
		rows := int64(min(h-1, y+adaptiveRadius) - max(0, y-adaptiveRadius) + 1)
		var sum int64
		for x := range min(adaptiveRadius, w) {
			sum += columns[x]
		}
		for x := range w {
			if x+adaptiveRadius < w {
				sum += columns[x+adaptiveRadius]
			}
			if x > adaptiveRadius {
				sum -= columns[x-adaptiveRadius-1]
			}
			n := rows * int64(min(w-1, x+adaptiveRadius)-max(0, x-adaptiveRadius)+1)
			if (int64(g[y*w+x])+adaptiveOffset)*n >= sum {
				out[y*w+x] = 255
			}
		}
	}
	setGray(m, out)
}

// CLAHE equalises the luma of m locally: tiles x tiles histograms, each clipped at
// clip times its mean bin and blended bilinearly (Zuiderveld 1994). The result
// is gray. tiles is cut to the image's sides.
func CLAHE(m *Image, tiles int, clip float64) {
	w, h := m.Width(), m.Height()
	tx, ty := max(1, min(tiles, w)), max(1, min(tiles, h))
	g := gray(m)
	tables := make([][256]byte, tx*ty)
	for j := range ty {
		for i := range tx {
			tables[j*tx+i] = equalised(g, w, w*i/tx, h*j/ty, w*(i+1)/tx, h*(j+1)/ty, clip)
		}
	}
	out := make([]byte, len(g))
	columns := blendAxis(w, tx)
	for y, b := range blendAxis(h, ty) {
		upper, lower := tables[b.low*tx:], tables[b.high*tx:]
		for x, a := range columns {
			v := g[y*w+x]
			t := int32(upper[a.low][v])*(256-a.part) + int32(upper[a.high][v])*a.part
			u := int32(lower[a.low][v])*(256-a.part) + int32(lower[a.high][v])*a.part
			out[y*w+x] = byte((t*(256-b.part) + u*b.part + 1<<15) >> 16)
		}
	}
	setGray(m, out)
}

// equalised is the lookup table of one tile.
func equalised(g []byte, stride, x0, y0, x1, y1 int, clip float64) (table [256]byte) {
	var counts [256]uint32
	for y := y0; y < y1; y++ {
		for _, v := range g[y*stride+x0 : y*stride+x1] {
			counts[v]++
		}
	}
	n := uint64((x1 - x0) * (y1 - y0))
	limit := max(1, uint32(clip*float64(n)/256))
	var excess uint64
	for i, c := range counts {
		if c > limit {
			excess += uint64(c - limit)
			counts[i] = limit
		}
	}
	var sum uint64 // scaled by 256, so that the excess spreads evenly
	for i, c := range counts {
		sum += uint64(c)*256 + excess
		table[i] = byte(min(255, sum*255/(n*256)))
	}
	return table
}

// blend is a position between two tile centres.
type blend struct {
	low, high int
	part      int32 // of high, in 1/256
}

func blendAxis(n, tiles int) []blend {
	list := make([]blend, n)
	for i := range list {
		at := (float64(i)+0.5)*float64(tiles)/float64(n) - 0.5
		low := max(0, int(at))
		list[i] = blend{low: low, high: min(low+1, tiles-1), part: int32(max(0, at-float64(low)) * 256)}
	}
	return list
}
