package imaging

import (
	"context"
	"encoding/binary"
	"math"
)

// Sharpen sharpens m. With sigma 0 it is a mild 3x3 kernel (33/24 in the
// middle, less 1/24 of all nine pixels), else an unsharp mask: the picture plus
// its difference from a Gaussian blur of that sigma, in pixels. Edge pixels
// repeat outward; transparency stays.
//
// # Errors
//
// The cause of ctx when it ends first; m is then sharpened in part.
func Sharpen(ctx context.Context, m *Image, sigma float64) error {
	if sigma > 0 {
		return unsharp(ctx, m, sigma)
	}
	if m.Gray = isGray(m); m.Gray {
		return sharpenGray(ctx, m)
	}
	return sharpenColour(ctx, m)
}

// kernel3 is the 3x3 kernel as a table: the result for 33 times the middle less
// the sum of all nine, from -kernelLow on.
var kernel3 = func() (table [33*255 + kernelLow + 1]byte) {
	for i := range table {
		table[i] = clamp8(int32(math.Floor(float64(i-kernelLow+12) / 24)))
	}
	return table
}()

const kernelLow = 9 * 255

// sharpenGray works on one channel. up, mid and down hold the rows as they were.
func sharpenGray(ctx context.Context, m *Image) error {
	w, h := m.Width(), m.Height()
	up, mid, down := make([]byte, w), make([]byte, w), make([]byte, w)
	load := func(dst []byte, y int) {
		row := m.row(min(h-1, y))
		for i := range dst {
			dst[i] = row[4*i]
		}
	}
	load(up, 0)
	copy(mid, up)
	for y := range h {
		if y%contextRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		load(down, y+1)
		sharpenRow(m.row(y), up[:w], mid[:w], down[:w])
		up, mid, down = mid, down, up
	}
	return nil
}

// sharpenRow moves the sums of three columns along the row.
func sharpenRow(row, up, mid, down []byte) {
	up, down = up[:len(mid)], down[:len(mid)]
	here := int(up[0]) + int(mid[0]) + int(down[0])
	left := here
	for i, v := range mid {
		right := here
		if i+1 < len(mid) {
			right = int(up[i+1]) + int(mid[i+1]) + int(down[i+1])
		}
		s := kernel3[33*int(v)-left-here-right+kernelLow]
		p := row[4*i : 4*i+4 : 4*i+4]
		binary.LittleEndian.PutUint32(p, uint32(s)*0x010101|uint32(p[3])<<24)
		left, here = here, right
	}
}

// sharpenColour works on all four channels alike, and puts transparency back.
// Sums of three rows are shared by the three windows that they fall into.
func sharpenColour(ctx context.Context, m *Image) error {
	const channels = 4
	n, h := m.Width()*channels, m.Height()
	up, mid, down := make([]byte, n), make([]byte, n), make([]byte, n)
	sums := make([]int32, n+2*channels) // with the edges repeated
	copy(up, m.row(0))
	copy(mid, up)
	for y := range h {
		if y%contextRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		copy(down, m.row(min(h-1, y+1)))
		inner := sums[channels:][:n]
		for i, v := range mid {
			inner[i] = int32(up[i]) + int32(v) + int32(down[i])
		}
		copy(sums, inner[:channels])
		copy(sums[channels+n:], inner[n-channels:])
		left, right, row := sums[:n], sums[2*channels:][:n], m.row(y)
		for i, v := range mid {
			row[i] = kernel3[33*int32(v)-left[i]-inner[i]-right[i]+kernelLow]
		}
		for i := 3; i < n; i += channels {
			row[i] = mid[i]
		}
		up, mid, down = mid, down, up
	}
	return nil
}

// Three channels share a 64-bit word, 21 bits each, so that a multiplication
// by a weight serves all three. A channel times weights that add up to
// 1<<blurBits, with rounding, stays below 1<<laneBits.
const (
	laneBits  = 21
	blurBits  = laneBits - 8
	laneBytes = 0xff | 0xff<<laneBits | 0xff<<(2*laneBits)
	laneHalf  = (1 | 1<<laneBits | 1<<(2*laneBits)) << (blurBits - 1)
)

// unsharp adds to each pixel its difference from the blurred picture. Rows
// blurred across are kept in a ring for as long as the kernel reaches.
func unsharp(ctx context.Context, m *Image, sigma float64) error {
	weights := gaussian(sigma)
	reach := len(weights) / 2
	w, h := m.Width(), m.Height()
	padded := make([]uint64, w+2*reach)
	ring := make([][]uint64, len(weights))
	for i := range ring {
		ring[i] = make([]uint64, w)
	}
	acc := make([]uint64, w)
	ahead := 0 // rows that the ring has had
	for y := range h {
		if y%contextRows == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for ; ahead < h && ahead <= y+reach; ahead++ {
			blurRow(ring[ahead%len(ring)], padded, m.row(ahead), weights)
		}
		for i := range acc {
			acc[i] = laneHalf
		}
		for k, weight := range weights {
			for i, v := range ring[max(0, min(h-1, y+k-reach))%len(ring)] {
				acc[i] += v * weight
			}
		}
		row := m.row(y)
		for i, v := range acc {
			v = v >> blurBits & laneBytes
			p := row[4*i : 4*i+3 : 4*i+3]
			p[0] = clamp8(2*int32(p[0]) - int32(v&0xff))
			p[1] = clamp8(2*int32(p[1]) - int32(v>>laneBits&0xff))
			p[2] = clamp8(2*int32(p[2]) - int32(v>>(2*laneBits)))
		}
	}
	return nil
}

// blurRow blurs a row across, into packed pixels. padded is scratch.
func blurRow(dst, padded []uint64, row []byte, weights []uint64) {
	reach := len(weights) / 2
	inner := padded[reach:][:len(dst)]
	for i := range inner {
		p := row[4*i : 4*i+3 : 4*i+3]
		inner[i] = uint64(p[0]) | uint64(p[1])<<laneBits | uint64(p[2])<<(2*laneBits)
	}
	for i := range reach {
		padded[i], padded[reach+len(dst)+i] = inner[0], inner[len(inner)-1]
	}
	for i := range dst {
		dst[i] = laneHalf
	}
	for k, weight := range weights {
		for i, v := range padded[k:][:len(dst)] {
			dst[i] += v * weight
		}
	}
	for i, v := range dst {
		dst[i] = v >> blurBits & laneBytes
	}
}

// gaussian returns a kernel of three sigmas to each side, in 1/(1<<blurBits).
func gaussian(sigma float64) []uint64 {
	reach := int(math.Ceil(3 * sigma))
	curve := make([]float64, 2*reach+1)
	sum := 0.0
	for i := range curve {
		curve[i] = math.Exp(-float64((i-reach)*(i-reach)) / (2 * sigma * sigma))
		sum += curve[i]
	}
	weights := make([]uint64, len(curve))
	left := 1 << blurBits
	for i, v := range curve {
		weights[i] = uint64(math.Round(v / sum * (1 << blurBits)))
		left -= int(weights[i])
	}
	weights[reach] = uint64(int(weights[reach]) + left)
	return weights
}
