package measure

import (
	"encoding/binary"
	"image"
	"image/color"
	"iter"
	"slices"
)

// ColorCount is a colour and how many pixels have exactly it.
type ColorCount struct {
	Color color.NRGBA // opaque
	Count int
}

// ColorHistogram counts every colour of an image exactly.
type ColorHistogram struct {
	list  []keyCount // in the order of keys
	total int
}

type keyCount struct {
	key   uint32
	count uint32
}

// Histogram counts the exact colours of an image (24 bits; transparent pixels
// as they look on white). Time is linear in the pixels; memory grows with the
// colours, up to 64 MiB.
func Histogram(img image.Image) *ColorHistogram { return histogram(rasterOf(img)) }

func histogram(r raster) *ColorHistogram {
	var t countTable
	for y := range r.h {
		t.countRow(r.row(y))
	}
	return &ColorHistogram{list: t.counts(), total: r.w * r.h}
}

// Len is how many different colours there are.
func (h *ColorHistogram) Len() int { return len(h.list) }

// Total is how many pixels were counted.
func (h *ColorHistogram) Total() int { return h.total }

// Count is how many pixels have a colour; alpha is ignored.
func (h *ColorHistogram) Count(c color.NRGBA) int {
	k := uint32(c.R)<<16 | uint32(c.G)<<8 | uint32(c.B)
	i, found := slices.BinarySearchFunc(h.list, k, func(e keyCount, k uint32) int { return int(e.key) - int(k) })
	if !found {
		return 0
	}
	return int(h.list[i].count)
}

// All yields every colour and its count, by red, then green, then blue.
func (h *ColorHistogram) All() iter.Seq2[color.NRGBA, int] {
	return func(yield func(color.NRGBA, int) bool) {
		for _, e := range h.list {
			if !yield(colorOf(e.key), int(e.count)) {
				return
			}
		}
	}
}

// Top returns the n most frequent colours, most frequent first; of equally
// frequent ones the lower red, green, blue comes first. n over Len is Len.
func (h *ColorHistogram) Top(n int) []ColorCount {
	var best []keyCount // most frequent first; short, so insertion is cheap
	for _, e := range h.list {
		if len(best) == n && (n == 0 || e.count <= best[n-1].count) {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, e, func(b, e keyCount) int {
			if b.count >= e.count { // equal counts stay in the order of keys
				return -1
			}
			return 1
		})
		if len(best) == n {
			best = best[:n-1]
		}
		best = slices.Insert(best, at, e)
	}
	out := make([]ColorCount, len(best))
	for i, e := range best {
		out[i] = ColorCount{colorOf(e.key), int(e.count)}
	}
	return out
}

// mode is the most frequent colour; of equally frequent ones the lowest. An
// empty image has the zero colour.
func (h *ColorHistogram) mode() color.NRGBA {
	var best keyCount
	for _, e := range h.list {
		if e.count > best.count {
			best = e
		}
	}
	if best.count == 0 {
		return color.NRGBA{}
	}
	return colorOf(best.key)
}

// countTable counts colours in pages of 256 blues, one for each red and green
// that occur together. Colours of a picture lie close to each other, so few of
// the pages exist and most stay in the processor's cache.
type countTable struct {
	pages [1 << 16]*[256]uint32
}

// add counts colour k n times.
func (t *countTable) add(k, n uint32) {
	page := t.pages[k>>8]
	if page == nil {
		page = new([256]uint32)
		t.pages[k>>8] = page
	}
	page[k&0xff] += n
}

// countRow counts eight pixels at once where they are equal.
func (t *countTable) countRow(p []byte) {
	for len(p) >= 32 {
		eight := p[:32:32]
		first := binary.LittleEndian.Uint64(eight)
		if uint32(first) == uint32(first>>32) && binary.LittleEndian.Uint64(eight[8:]) == first && binary.LittleEndian.Uint64(eight[16:]) == first && binary.LittleEndian.Uint64(eight[24:]) == first {
			n := 32
			for n+8 <= len(p) && binary.LittleEndian.Uint64(p[n:]) == first {
				n += 8
			}
			t.add(key(p), uint32(n)/4)
			p = p[n:]
			continue
		}
		for i := 0; i < 32; i += 4 {
			t.add(key(eight[i:i+4:i+4]), 1)
		}
		p = p[32:]
	}
	for ; len(p) >= 4; p = p[4:] {
		t.add(key(p), 1)
	}
}

// counts lists the colours in the order of their keys.
func (t *countTable) counts() []keyCount {
	var list []keyCount
	for i := range t.pages {
		page := t.pages[i]
		if page == nil {
			continue
		}
		for blue, n := range page {
			if n != 0 {
				list = append(list, keyCount{uint32(i)<<8 | uint32(blue), n})
			}
		}
	}
	return list
}
