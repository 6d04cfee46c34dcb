package imaging

import "math"

// weightBits is the precision of the integer weights of a resize.
const weightBits = 14

// lanczosLobes is the support of the Lanczos kernel in source pixels.
const lanczosLobes = 3

// taps are the source pixels that make one target pixel.
type taps struct {
	first   int
	weights []int32
}

// Resize scales the image to w x h pixels with a Lanczos kernel of three lobes,
// widened when it shrinks so that nothing is skipped. Transparent pixels lend
// no colour. A side under 1 is taken for 1; an unchanged size returns m itself.
func Resize(m *Image, w, h int) *Image {
	w, h = max(1, w), max(1, h)
	if w == m.Width() && h == m.Height() {
		return m
	}
	src := m
	if !m.Opaque {
		src = premultiplied(m)
	}
	across, down := kernel(m.Width(), w), kernel(m.Height(), h)
	out := newLike(m, w, h)
	// Rows are shrunk across once, as they come into reach of a target row.
	ring := make(map[int][]int32, len(down[0].weights))
	for y := range h {
		t := &down[y]
		for sy := range ring {
			if sy < t.first {
				delete(ring, sy)
			}
		}
		for k := range t.weights {
			if sy := t.first + k; ring[sy] == nil {
				ring[sy] = shrinkRow(src.row(sy), across)
			}
		}
		blendRows(out.row(y), t, ring)
	}
	if !m.Opaque {
		straighten(out)
	}
	return out
}

func kernel(from, to int) []taps {
	scale := float64(from) / float64(to)
	wide := max(scale, 1)
	reach := lanczosLobes * wide
	list := make([]taps, to)
	for i := range list {
		center := (float64(i)+0.5)*scale - 0.5
		first, last := max(0, int(math.Ceil(center-reach))), min(from-1, int(math.Floor(center+reach)))
		raw := make([]float64, last-first+1)
		sum := 0.0
		for k := range raw {
			raw[k] = lanczos((float64(first+k) - center) / wide)
			sum += raw[k]
		}
		t := taps{first: first, weights: make([]int32, len(raw))}
		left := int32(1 << weightBits)
		for k, v := range raw {
			t.weights[k] = int32(math.Round(v / sum * (1 << weightBits)))
			left -= t.weights[k]
		}
		t.weights[len(raw)/2] += left // rounding must not brighten or darken
		list[i] = t
	}
	return list
}

func lanczos(x float64) float64 {
	if x == 0 {
		return 1
	}
	if x <= -lanczosLobes || x >= lanczosLobes {
		return 0
	}
	p := math.Pi * x
	return lanczosLobes * math.Sin(p) * math.Sin(p/lanczosLobes) / (p * p)
}

// shrinkRow resamples one row, keeping two bits of precision below a level.
func shrinkRow(row []byte, across []taps) []int32 {
	out := make([]int32, 4*len(across))
	for x := range across {
		t := &across[x]
		var r, g, b, a int32
		p := row[4*t.first:]
		for k, w := range t.weights {
			q := p[4*k : 4*k+4 : 4*k+4]
			r += w * int32(q[0])
			g += w * int32(q[1])
			b += w * int32(q[2])
			a += w * int32(q[3])
		}
		const half = 1 << (weightBits - 3)
		o := out[4*x : 4*x+4 : 4*x+4]
		o[0], o[1], o[2], o[3] = (r+half)>>(weightBits-2), (g+half)>>(weightBits-2), (b+half)>>(weightBits-2), (a+half)>>(weightBits-2)
	}
	return out
}

func blendRows(dst []byte, t *taps, ring map[int][]int32) {
	acc := make([]int32, len(dst))
	for k, w := range t.weights {
		for i, v := range ring[t.first+k] {
			acc[i] += w * v
		}
	}
	for i, v := range acc {
		dst[i] = clamp8((v + 1<<(weightBits+1)) >> (weightBits + 2))
	}
}

func clamp8(v int32) byte { return byte(max(0, min(255, v))) }

func premultiplied(m *Image) *Image {
	out := New(m.Width(), m.Height())
	for i := 0; i < len(m.Pix); i += 4 {
		a := uint32(m.Pix[i+3])
		for c := range 3 {
			out.Pix[i+c] = byte((uint32(m.Pix[i+c])*a + 127) / 255)
		}
		out.Pix[i+3] = byte(a)
	}
	return out
}

func straighten(m *Image) {
	for i := 0; i < len(m.Pix); i += 4 {
		a := uint32(m.Pix[i+3])
		if a == 0 || a == 255 {
			continue
		}
		for c := range 3 {
			m.Pix[i+c] = byte(min(255, (uint32(m.Pix[i+c])*255+a/2)/a))
		}
	}
}
