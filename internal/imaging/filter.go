package imaging

import "math"

// Weights of BT.601 luma in 1/65536, the weighting of image/color.
const lumaR, lumaG, lumaB = 19595, 38470, 7471

func luma(p []byte) byte {
	return byte((uint32(p[0])*lumaR + uint32(p[1])*lumaG + uint32(p[2])*lumaB + 1<<15) >> 16)
}

// gray returns one luma byte a pixel.
func gray(m *Image) []byte {
	out := make([]byte, len(m.Pix)/4)
	for i := range out {
		out[i] = luma(m.Pix[4*i : 4*i+3])
	}
	return out
}

// fromGray makes an image of luma bytes with the transparency of like.
func fromGray(g []byte, like *Image) *Image {
	out := newLike(like, like.Width(), like.Height())
	for i, v := range g {
		p := out.Pix[4*i : 4*i+4]
		p[0], p[1], p[2], p[3] = v, v, v, like.Pix[4*i+3]
	}
	return out
}

// Grayscale replaces colours by their BT.601 luma. Transparency stays.
func Grayscale(m *Image) *Image { return fromGray(gray(m), m) }

// Invert turns every colour channel v into 255-v. Transparency stays.
func Invert(m *Image) *Image {
	out := newLike(m, m.Width(), m.Height())
	for i := 0; i < len(m.Pix); i += 4 {
		out.Pix[i], out.Pix[i+1], out.Pix[i+2], out.Pix[i+3] = ^m.Pix[i], ^m.Pix[i+1], ^m.Pix[i+2], m.Pix[i+3]
	}
	return out
}

// Sharpen is a mild 3x3 sharpening when sigma is 0 (kernel 32/24 in the middle,
// -1/24 around), else an unsharp mask: the picture plus its difference from a
// Gaussian blur of that sigma, in pixels. Edge pixels repeat outward;
// transparency stays.
func Sharpen(m *Image, sigma float64) *Image {
	if sigma == 0 {
		return sharpen3(m)
	}
	blurred := gaussian(m, sigma)
	out := newLike(m, m.Width(), m.Height())
	for i := range m.Pix {
		if i%4 == 3 {
			out.Pix[i] = m.Pix[i]
			continue
		}
		out.Pix[i] = clamp8(2*int32(m.Pix[i]) - int32(blurred.Pix[i]))
	}
	return out
}

// sharpen3 works on one plane when the picture is gray, as it is after
// [Grayscale], and else on all four; alpha is put back afterwards.
func sharpen3(m *Image) *Image {
	if isGray(m) {
		plane := make([]byte, len(m.Pix)/4)
		for i := range plane {
			plane[i] = m.Pix[4*i]
		}
		return fromGray(sharpenPlane(plane, m.Width(), m.Height(), 1), m)
	}
	out := newLike(m, m.Width(), m.Height())
	copy(out.Pix, sharpenPlane(m.Pix, m.Width(), m.Height(), 4))
	for i := 3; i < len(out.Pix); i += 4 {
		out.Pix[i] = m.Pix[i]
	}
	return out
}

func isGray(m *Image) bool {
	for i := 0; i+3 < len(m.Pix); i += 4 {
		if p := m.Pix[i : i+3 : i+3]; p[0] != p[1] || p[1] != p[2] {
			return false
		}
	}
	return true
}

// sharpenPlane sharpens samples that lie channels apart. Sums of three rows are
// shared by the three windows that they fall into.
func sharpenPlane(src []byte, w, h, channels int) []byte {
	n := w * channels
	out := make([]byte, len(src))
	sums := make([]int32, n+2*channels) // with the edges repeated
	for y := range h {
		up, mid, down := src[max(0, y-1)*n:][:n], src[y*n:][:n], src[min(h-1, y+1)*n:][:n]
		inner := sums[channels:][:n]
		for i, v := range mid {
			inner[i] = int32(up[i]) + int32(v) + int32(down[i])
		}
		copy(sums, inner[:channels])
		copy(sums[channels+n:], inner[n-channels:])
		left, right, dst := sums[:n], sums[2*channels:][:n], out[y*n:][:n]
		for i, v := range mid {
			s := (33*int32(v) - left[i] - inner[i] - right[i] + 12) / 24
			if uint32(s) > 255 {
				s = int32(clamp8(s))
			}
			dst[i] = byte(s)
		}
	}
	return out
}

// gaussian blurs with a kernel of three sigmas to each side.
func gaussian(m *Image, sigma float64) *Image {
	reach := int(math.Ceil(3 * sigma))
	weights := make([]int32, 2*reach+1)
	sum := 0.0
	for i := range weights {
		sum += math.Exp(-float64((i-reach)*(i-reach)) / (2 * sigma * sigma))
	}
	left := int32(1 << weightBits)
	for i := range weights {
		weights[i] = int32(math.Round(math.Exp(-float64((i-reach)*(i-reach))/(2*sigma*sigma)) / sum * (1 << weightBits)))
		left -= weights[i]
	}
	weights[reach] += left
	w, h := m.Width(), m.Height()
	across, out := newLike(m, w, h), newLike(m, w, h)
	for y := range h {
		row, to := m.row(y), across.row(y)
		for x := range w {
			for c := range 4 {
				acc := int32(1 << (weightBits - 1))
				for k, wt := range weights {
					acc += wt * int32(row[4*max(0, min(w-1, x+k-reach))+c])
				}
				to[4*x+c] = clamp8(acc >> weightBits)
			}
		}
	}
	acc := make([]int32, 4*w)
	for y := range h {
		for i := range acc {
			acc[i] = 1 << (weightBits - 1)
		}
		for k, wt := range weights {
			for i, v := range across.row(max(0, min(h-1, y+k-reach))) {
				acc[i] += wt * int32(v)
			}
		}
		to := out.row(y)
		for i, v := range acc {
			to[i] = clamp8(v >> weightBits)
		}
	}
	return out
}

// Median replaces each colour channel by the median of the square of that
// radius in pixels (1 is 3x3). The window is cut at the edges; transparency
// stays. Sliding histograms keep the cost linear in the radius (Huang, Yang,
// Tang 1979).
func Median(m *Image, radius int) *Image {
	w, h := m.Width(), m.Height()
	out := newLike(m, w, h)
	for i := 3; i < len(m.Pix); i += 4 {
		out.Pix[i] = m.Pix[i]
	}
	for c := range 3 {
		for y := range h {
			top, bottom := max(0, y-radius), min(h-1, y+radius)
			var s slidingMedian
			for x := range min(radius, w) {
				s.column(m, x, top, bottom, c, 1)
			}
			for x := range w {
				if x+radius < w {
					s.column(m, x+radius, top, bottom, c, 1)
				}
				if x > radius {
					s.column(m, x-radius-1, top, bottom, c, -1)
				}
				out.Pix[y*out.Stride+4*x+c] = s.median()
			}
		}
	}
	return out
}

// slidingMedian keeps a histogram and the count below its current level.
type slidingMedian struct {
	counts [256]int32
	total  int32
	level  int
	below  int32
}

func (s *slidingMedian) column(m *Image, x, top, bottom, c int, by int32) {
	for at := top*m.Stride + 4*x + c; at <= bottom*m.Stride+4*x+c; at += m.Stride {
		v := int(m.Pix[at])
		s.counts[v] += by
		s.total += by
		if v < s.level {
			s.below += by
		}
	}
}

func (s *slidingMedian) median() byte {
	half := s.total / 2
	for s.below > half {
		s.level--
		s.below -= s.counts[s.level]
	}
	for s.below+s.counts[s.level] <= half {
		s.below += s.counts[s.level]
		s.level++
	}
	return byte(s.level)
}
