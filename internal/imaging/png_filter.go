package imaging

import "encoding/binary"

// rowFilter filters one row after the other, each by the filter with the
// smallest sum of absolute differences, or none of them by any.
type rowFilter struct {
	bpp      int
	adaptive bool
	lines    [4][]byte // candidates: filter byte and row
}

var rowFilters = [4]byte{filterNone, filterUp, filterSub, filterPaeth}

func newRowFilter(width, bpp int, adaptive bool) *rowFilter {
	f := &rowFilter{bpp: bpp, adaptive: adaptive}
	n := 1
	if adaptive {
		n = len(rowFilters)
	}
	for i := range n {
		f.lines[i] = make([]byte, width+1)
		f.lines[i][0] = rowFilters[i]
	}
	return f
}

// apply returns the filtered row with its filter byte, valid until the next call.
func (f *rowFilter) apply(cur, prev []byte) []byte {
	copy(f.lines[0][1:], cur)
	if !f.adaptive {
		return f.lines[0]
	}
	bpp := f.bpp
	subtract(f.lines[1][1:], cur, prev)
	sub := f.lines[2][1:]
	copy(sub, cur[:bpp])
	subtract(sub[bpp:], cur[bpp:], cur[:len(cur)-bpp])
	paethRow(f.lines[3][1:], cur, prev, bpp)
	best, least := 0, distortion(f.lines[0][1:])
	for i := 1; i < len(f.lines); i++ {
		if d := distortion(f.lines[i][1:]); d < least {
			best, least = i, d
		}
	}
	return f.lines[best]
}

const highBits = 0x8080808080808080

// subtract writes a-b byte by byte, eight at a time.
func subtract(dst, a, b []byte) {
	n := len(dst) &^ 7
	for i := 0; i < n; i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		d := (x | highBits) - y&^highBits
		binary.LittleEndian.PutUint64(dst[i:], d^(x^^y)&highBits)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = a[i] - b[i]
	}
}

func paethRow(dst, cur, prev []byte, bpp int) {
	for i := range bpp {
		dst[i] = cur[i] - prev[i]
	}
	for i := bpp; i < len(cur); i++ {
		a, b, c := int(cur[i-bpp]), int(prev[i]), int(prev[i-bpp])
		pa, pb := b-c, a-c
		pc := pa + pb
		pa, pb, pc = max(pa, -pa), max(pb, -pb), max(pc, -pc)
		p := c
		if pa <= pb && pa <= pc {
			p = a
		} else if pb <= pc {
			p = b
		}
		dst[i] = cur[i] - byte(p)
	}
}

// distortion is the sum of absolute values of the bytes as signed numbers, the
// heuristic of the PNG specification, section 12.8.
func distortion(b []byte) int {
	sum := 0
	for _, v := range b {
		d := int(int8(v))
		sum += max(d, -d)
	}
	return sum
}
