package imaging

// window is the histogram of the pixels around one, with what is left of each
// count after clipping summed up in groups, so that a sum up to a grey level
// takes few steps.
type window struct {
	counts [256]int32
	groups [16]int32 // sums of the clipped counts of 16 grey levels each
	over   int32     // what clipping takes off all counts together
	slope  int32     // count at which a grey level is clipped
}

func (w *window) add(v byte) {
	if w.counts[v]++; w.counts[v] <= w.slope {
		w.groups[v>>4]++
	} else {
		w.over++
	}
}

func (w *window) remove(v byte) {
	if w.counts[v]--; w.counts[v] < w.slope {
		w.groups[v>>4]--
	} else {
		w.over--
	}
}

// upTo is the clipped sum of the counts up to a grey level, and its share of what
// was clipped off, which is spread over all levels evenly.
func (w *window) upTo(v byte) int32 {
	sum := int32(0)
	for _, n := range w.groups[:v>>4] {
		sum += n
	}
	for _, n := range w.counts[v&^15 : int(v)+1] {
		sum += min(n, w.slope)
	}
	return sum + (int32(v)+1)*w.over/256
}

// equaliseWindow equalises the gray image m by a window of width x height pixels
// around each pixel, clipped at slope pixels a grey level (0 for no limit). At
// the edges the image is mirrored. This is hist_local of libvips, whose numbers
// callers of the sharp library know.
func equaliseWindow(m *Image, width, height, slope int) {
	w, h := m.Width(), m.Height()
	area := int32(width * height)
	if slope == 0 {
		slope = width * height
	}
	left, top := width/2, height/2
	columns := mirrored(w, left, width)
	rows := mirrored(h, top, height)
	g := make([]byte, w*h)
	for i := range g {
		g[i] = m.Pix[4*i]
	}
	out := make([]byte, len(g))
	lines := make([][]byte, height)
	for y := range h {
		for i := range lines {
			at := rows[y+i] * w
			lines[i] = g[at : at+w]
		}
		win := window{slope: int32(slope)}
		for _, x := range columns[:width] {
			for _, line := range lines {
				win.add(line[x])
			}
		}
		for x := range w {
			if x > 0 {
				gone, come := columns[x-1], columns[x+width-1]
				for _, line := range lines {
					win.remove(line[gone])
					win.add(line[come])
				}
			}
			out[y*w+x] = byte(min(255, 255*win.upTo(g[y*w+x])/area))
		}
	}
	setGray(m, out)
}

// mirrored maps places from -before to n-before+size-2 to those within n, by
// reflection at the edges.
func mirrored(n, before, size int) []int {
	list := make([]int, n+size-1)
	for i := range list {
		at := (i - before) % (2 * n)
		if at < 0 {
			at += 2 * n
		}
		if at >= n {
			at = 2*n - 1 - at
		}
		list[i] = at
	}
	return list
}
