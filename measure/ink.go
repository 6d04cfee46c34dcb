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
	pixels      int
	size        int // height of the tallest glyph
	subpixel    bool
}

// inkOf estimates a run's colour from the pixels of all its glyphs.
func (f *textFinder) inkOf(run *textRun) ink {
	k := ink{}
	weight := 0
	var back [3]int
	for i := range run.glyphs {
		g := &run.glyphs[i]
		k.size = max(k.size, g.height())
		k.pixels += g.pixels
		weight += g.pixels
		for c := range back {
			back[c] += g.back[c] * g.pixels
		}
	}
	for c := range back {
		k.back[c] = (back[c] + weight/2) / weight
	}
	counts := map[uint32]int{}
	off := 0.0
	for i := range run.glyphs {
		g := &run.glyphs[i]
		off += g.offLine * float64(g.pixels)
		f.eachPixel(g, func(p [3]int) {
			counts[uint32(p[0]<<16|p[1]<<8|p[2])]++
		})
	}
	k.subpixel = off/float64(weight) > 0.18
	type found struct {
		c    [3]int
		n, d int
	}
	var list []found
	for key, n := range counts {
		c := [3]int{int(key >> 16), int(key >> 8 & 0xff), int(key & 0xff)}
		list = append(list, found{c, n, apart(c, k.back)})
	}
	slices.SortFunc(list, func(a, b found) int {
		if a.d != b.d {
			return b.d - a.d
		}
		return slices.Compare(a.c[:], b.c[:])
	})
	if k.subpixel {
		k.color = extremes(counts, k.back)
		return k
	}
	k.color = list[0].c
	// The farthest colour that several pixels have, unless it is well nearer.
	for _, e := range list {
		if float64(e.d) < 0.9*0.9*float64(list[0].d) {
			break
		}
		if e.n >= max(2, k.pixels/200) {
			k.color, k.solid = e.c, true
			break
		}
	}
	return k
}

// extremes takes each channel's value farthest from the background: in subpixel
// text the channels reach full coverage at different pixels.
func extremes(counts map[uint32]int, back [3]int) (c [3]int) {
	for ch := range 3 {
		shift := 16 - 8*ch
		var sum [256]int
		for key, n := range counts {
			sum[key>>shift&0xff] += n
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
func (f *textFinder) eachPixel(g *glyph, visit func(p [3]int)) {
	b := g.bounds
	for y := b.Min.Y; y < b.Max.Y; y++ {
		row := f.r.row(y)
		for x := b.Min.X; x < b.Max.X; x++ {
			if f.s.of[y*f.s.w+x] == g.on {
				continue
			}
			if p := levels(row[4*x:]); apart(p, g.back) > sameInk {
				visit(p)
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
