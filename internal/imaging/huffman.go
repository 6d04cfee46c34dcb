package imaging

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// huffman is a canonical prefix code (RFC 1951, 3.2.2).
type huffman struct {
	lengths []uint8
	codes   []uint16 // bits reversed, as they are written
}

// newHuffman makes the code for symbols of these counts, none longer than limit
// bits. Symbols that do not occur have none; a lone symbol gets one bit.
func newHuffman(counts []uint32, limit int) *huffman {
	h := &huffman{lengths: make([]uint8, len(counts)), codes: make([]uint16, len(counts))}
	type leaf struct {
		count  uint32
		symbol int
	}
	var leaves []leaf
	for s, n := range counts {
		if n > 0 {
			leaves = append(leaves, leaf{n, s})
		}
	}
	slices.SortFunc(leaves, func(a, b leaf) int {
		return cmp.Or(cmp.Compare(a.count, b.count), cmp.Compare(a.symbol, b.symbol))
	})
	sorted := make([]uint32, len(leaves))
	for i, l := range leaves {
		sorted[i] = l.count
	}
	perLength := limited(depths(sorted), limit)
	// The rarest symbols come first and take the longest codes.
	at := 0
	for n := limit; n > 0; n-- {
		for range perLength[n] {
			h.lengths[leaves[at].symbol] = uint8(n)
			at++
		}
	}
	code := 0
	var next [16]int
	for n := 1; n <= limit; n++ {
		code = (code + perLength[n-1]) << 1
		next[n] = code
	}
	for s, n := range h.lengths {
		if n > 0 {
			h.codes[s] = bits.Reverse16(uint16(next[n])) >> (16 - n)
			next[n]++
		}
	}
	return h
}

// depths counts the leaves of a Huffman tree by their depth. counts ascend, so
// that two queues, of leaves and of inner nodes, are both in order.
func depths(counts []uint32) []int {
	n := len(counts)
	perDepth := make([]int, max(2, n+1))
	if n < 2 {
		perDepth[1] = n
		return perDepth
	}
	weights := make([]uint64, n-1) // of inner nodes
	parents := make([]int, 2*n-1)  // of leaves, then of inner nodes
	leaf, inner := 0, 0
	for made := range n - 1 {
		for range 2 {
			if leaf < n && (inner == made || uint64(counts[leaf]) <= weights[inner]) {
				weights[made] += uint64(counts[leaf])
				parents[leaf] = n + made
				leaf++
			} else {
				weights[made] += weights[inner]
				parents[n+inner] = n + made
				inner++
			}
		}
	}
	depth := make([]int, 2*n-1)
	for i := 2*n - 3; i >= 0; i-- {
		depth[i] = depth[parents[i]] + 1
		if i < n {
			perDepth[depth[i]]++
		}
	}
	return perDepth
}

// limited moves leaves that lie deeper than limit up, and makes room for them by
// moving others one down (Kraft's sum must not exceed one).
func limited(perDepth []int, limit int) []int {
	out := make([]int, limit+1)
	sum := 0
	for n, leaves := range perDepth {
		out[min(n, limit)] += leaves
	}
	for n := 1; n <= limit; n++ {
		sum += out[n] << (limit - n)
	}
	for sum > 1<<limit {
		out[limit]--
		for n := limit - 1; n > 0; n-- {
			if out[n] > 0 {
				out[n]--
				out[n+1] += 2
				break
			}
		}
		sum--
	}
	return out
}

// bitStream packs bits from the lowest up.
type bitStream struct {
	w   *idatWriter
	acc uint64
	n   int // bits in acc, under 32 between calls
}

// put writes the n low bits of v, at most 32.
func (b *bitStream) put(v uint64, n int) {
	b.acc |= v << b.n
	if b.n += n; b.n >= 32 {
		b.w.buf = binary.LittleEndian.AppendUint32(b.w.buf, uint32(b.acc))
		b.acc >>= 32
		b.n -= 32
	}
}

func (b *bitStream) code(h *huffman, symbol int) {
	b.put(uint64(h.codes[symbol]), int(h.lengths[symbol]))
}

// tokens writes what [deflater] collected. It keeps the bits in registers, since
// it runs once a byte in photographs.
func (b *bitStream) tokens(tokens []uint32, literals, offsets *huffman) {
	var packed [286]uint32 // the code, and its length from bit 16 on
	for s, n := range literals.lengths {
		packed[s] = uint32(literals.codes[s]) | uint32(n)<<16
	}
	buf, acc, n := b.w.buf, b.acc, b.n
	for _, t := range tokens {
		if t < matchToken {
			p := packed[t&0xff]
			acc |= uint64(p&0xffff) << n
			if n += int(p >> 16); n >= 32 {
				buf = binary.LittleEndian.AppendUint32(buf, uint32(acc))
				acc >>= 32
				n -= 32
			}
			continue
		}
		b.w.buf, b.acc, b.n = buf, acc, n
		b.match(int(t>>16&0x1ff), int(t&0x7fff)+1, literals, offsets)
		buf, acc, n = b.w.buf, b.acc, b.n
	}
	b.w.buf, b.acc, b.n = buf, acc, n
}

func (b *bitStream) match(length, distance int, literals, offsets *huffman) {
	s := lengthSymbol(length)
	b.code(literals, 257+s)
	b.put(uint64(length-lengthBase(s)), lengthExtra(s))
	s = distanceSymbol(distance)
	b.code(offsets, s)
	b.put(uint64(distance-distanceBase(s)), distanceExtra(s))
}

// align fills the last byte with zeros and hands on all bytes.
func (b *bitStream) align() {
	for ; b.n > 0; b.n -= 8 {
		b.w.buf = append(b.w.buf, byte(b.acc))
		b.acc >>= 8
	}
	b.acc, b.n = 0, 0
}

// lengthOrder is the order in which the lengths of code length codes are
// written (RFC 1951, 3.2.7).
var lengthOrder = [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// blockHeader starts a block with codes of its own (RFC 1951, 3.2.7).
func (b *bitStream) blockHeader(last bool, literals, offsets *huffman) {
	nl, nd := used(literals.lengths, 257), used(offsets.lengths, 1)
	runs := runLengths(append(slices.Clone(literals.lengths[:nl]), offsets.lengths[:nd]...))
	var counts [19]uint32
	for _, r := range runs {
		counts[r.symbol]++
	}
	h := newHuffman(counts[:], 7)
	n := len(lengthOrder)
	for n > 4 && h.lengths[lengthOrder[n-1]] == 0 {
		n--
	}
	const dynamic = 2
	head := uint64(dynamic << 1)
	if last {
		head |= 1
	}
	b.put(head, 3)
	b.put(uint64(nl-257), 5)
	b.put(uint64(nd-1), 5)
	b.put(uint64(n-4), 4)
	for _, s := range lengthOrder[:n] {
		b.put(uint64(h.lengths[s]), 3)
	}
	for _, r := range runs {
		b.code(h, r.symbol)
		b.put(uint64(r.extra), r.bits)
	}
}

// used is the number of lengths up to the last that is not zero, at least least.
func used(lengths []uint8, least int) int {
	n := len(lengths)
	for n > least && lengths[n-1] == 0 {
		n--
	}
	return n
}

// run is one symbol of the code lengths' own alphabet.
type run struct{ symbol, extra, bits int }

// runLengths shortens repeated lengths (RFC 1951, 3.2.7).
func runLengths(lengths []uint8) []run {
	var runs []run
	for i := 0; i < len(lengths); {
		v, n := lengths[i], 1
		for i+n < len(lengths) && lengths[i+n] == v {
			n++
		}
		i += n
		if v != 0 {
			runs = append(runs, run{symbol: int(v)})
			n--
		}
		for n > 0 {
			switch {
			case n < 3:
				runs = append(runs, run{symbol: int(v)})
				n--
			case v != 0:
				k := min(n, 6)
				runs = append(runs, run{16, k - 3, 2})
				n -= k
			case n <= 10:
				runs = append(runs, run{17, n - 3, 3})
				n = 0
			default:
				k := min(n, 138)
				runs = append(runs, run{18, k - 11, 7})
				n -= k
			}
		}
	}
	return runs
}
