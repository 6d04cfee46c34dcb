package imaging

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// Bounds of deflate (RFC 1951, 3.2.5), and of this encoder.
const (
	deflateWindow = 32 << 10 // farthest match, in bytes
	maxMatch      = 258
	minMatch      = 4
	farMatch      = 6   // least length of a match from farther than farDistance: a shorter one costs more than its literals
	farDistance   = 256 // bytes
	hashBits      = 15
	hashedBytes   = 5
	blockTokens   = 32 << 10 // tokens that share a Huffman code: long, since screens compress to few tokens
	inputBytes    = 256 << 10
	denseInsert   = 6 // positions at either end of a long match that later matches can find
	skipShift     = 7 // literals in a row, as a power of two, after which every other position is searched
)

// effort says how hard matches are searched for.
type effort struct {
	probes int // earlier positions that are compared
	lazy   int // a match shorter than this may give way to a longer one that starts a byte later
	nice   int // a match this long ends the search
}

// efforts are by strategy: repeats of a gradient's differences are worth a long
// search, a photograph has next to none.
var efforts = [strategies]effort{
	unfiltered: {probes: 2, lazy: 16, nice: 64},
	leftOnly:   {probes: 12, lazy: 8, nice: 64},
	perRow:     {probes: 0, lazy: 0, nice: 16},
}

// smallFactor is how many times as many probes [Small] makes.
const smallFactor = 8

// deflater compresses filtered rows (RFC 1951). It knows what a general encoder
// does not: that the same bytes are likely a pixel to the left and in the row
// above, so that these are compared first. Its blocks are longer than those of
// fast general encoders, whose headers outweigh the data of a flat screen.
type deflater struct {
	effort
	level       Level
	bpp, stride int // distances of a pixel and of a row, in bytes
	out         *bitStream

	buf   []byte // up to a window of what was encoded, and what waits
	next  int    // where in buf encoding goes on
	base  int    // position in the stream of buf[0]
	head  [1 << hashBits]int32
	chain [deflateWindow]int32 // position before, by position; both are one too high, 0 is none
	quiet int                  // literals since the last match

	tokens   []uint32 // literals, or matchToken with length and distance
	literals [286]uint32
	offsets  [30]uint32
}

const matchToken = 1 << 31

// newDeflater returns an encoder of rows of stride bytes. Without out it only
// counts.
func newDeflater(out *bitStream, level Level, bpp, stride int) *deflater {
	d := &deflater{level: level, bpp: bpp, stride: stride, out: out}
	d.suit(unfiltered)
	if out != nil {
		d.buf = make([]byte, 0, deflateWindow+inputBytes+stride)
		d.tokens = make([]uint32, 0, blockTokens)
	}
	return d
}

// suit sets how hard to search in rows that are filtered so.
func (d *deflater) suit(s strategy) {
	d.effort = efforts[s]
	if d.level >= Small {
		d.probes *= smallFactor
		d.lazy *= smallFactor
	}
}

// write takes the next bytes.
func (d *deflater) write(p []byte) {
	d.buf = append(d.buf, p...)
	if len(d.buf)-d.next >= inputBytes {
		d.encode(len(d.buf) - maxMatch)
		if drop := d.next - deflateWindow; drop > 0 {
			d.buf = d.buf[:copy(d.buf, d.buf[drop:])]
			d.base += drop
			d.next -= drop
		}
	}
}

// close encodes what waits and ends the stream.
func (d *deflater) close() {
	d.encode(len(d.buf))
	d.block(true)
	d.out.align()
}

// cost estimates how many bits the rows in data take, without what was before.
func (d *deflater) cost(data []byte) float64 {
	d.base += len(d.buf) + deflateWindow // earlier positions are out of reach
	d.buf, d.next, d.quiet = data, 0, 0
	d.literals, d.offsets = [286]uint32{}, [30]uint32{}
	d.encode(len(data))
	sum := entropy(d.literals[:]) + entropy(d.offsets[:])
	for i, n := range d.literals[257:] {
		sum += float64(n) * float64(lengthExtra(i))
	}
	for i, n := range d.offsets {
		sum += float64(n) * float64(distanceExtra(i))
	}
	return sum
}

// entropy is the least number of bits that symbols of these counts take.
func entropy(counts []uint32) float64 {
	total, sum := 0.0, 0.0
	for _, n := range counts {
		if n > 0 {
			total += float64(n)
			sum -= float64(n) * math.Log2(float64(n))
		}
	}
	if total == 0 {
		return 0
	}
	return sum + total*math.Log2(total)
}

// encode makes tokens of the bytes from next up to end, or a match beyond.
func (d *deflater) encode(end int) {
	i := d.next
	for i < end {
		if d.probes == 0 {
			from := i
			if i = d.unmatched(i, min(end, len(d.buf)-8)); i > from {
				continue
			}
		}
		length, distance := d.longest(i)
		d.insert(i)
		if length == 0 {
			d.literal(d.buf[i])
			i++
			d.quiet++
			for skip := d.quiet >> skipShift; skip > 0 && i < end; skip-- {
				d.literal(d.buf[i])
				i++
			}
			continue
		}
		d.quiet = 0
		for length < d.lazy && i+1 < end {
			l, far := d.longest(i + 1)
			if l <= length {
				break
			}
			d.literal(d.buf[i])
			i++
			d.insert(i)
			length, distance = l, far
		}
		d.match(length, distance)
		last := i + length
		for k := i + 1; k < last; k++ {
			if k == i+denseInsert && last-denseInsert > k {
				k = last - denseInsert
			}
			d.insert(k)
		}
		i = last
	}
	d.next = i
}

// unmatched makes literals of the bytes from i on, as long as neither the pixel to
// the left nor the row above has the same ones, and returns where it stopped.
func (d *deflater) unmatched(i, end int) int {
	from := i
	if d.stride > deflateWindow || i < d.stride {
		return i
	}
	for i < end {
		want := binary.LittleEndian.Uint32(d.buf[i:])
		if binary.LittleEndian.Uint32(d.buf[i-d.bpp:]) == want || binary.LittleEndian.Uint32(d.buf[i-d.stride:]) == want {
			break
		}
		i++
	}
	d.literalRun(d.buf[from:i])
	return i
}

func (d *deflater) literalRun(p []byte) {
	for _, b := range p {
		d.literals[b]++
	}
	for len(p) > 0 && d.out != nil {
		n := min(len(p), blockTokens-len(d.tokens))
		at := len(d.tokens)
		d.tokens = d.tokens[:at+n]
		for k, b := range p[:n] {
			d.tokens[at+k] = uint32(b)
		}
		if p = p[n:]; len(d.tokens) == blockTokens {
			for _, b := range p { // they belong to the next block
				d.literals[b]--
			}
			d.block(false)
			for _, b := range p {
				d.literals[b]++
			}
		}
	}
}

// longest returns the best match for the bytes at i; length 0 is none.
func (d *deflater) longest(i int) (length, distance int) {
	buf := d.buf
	limit := min(maxMatch, len(buf)-i)
	if limit < 8 {
		return 0, 0
	}
	best := minMatch - 1
	nice := min(d.nice, limit)
	want := binary.LittleEndian.Uint32(buf[i:])
	for _, far := range [2]int{d.bpp, d.stride} {
		if far > i || far > deflateWindow || binary.LittleEndian.Uint32(buf[i-far:]) != want {
			continue
		}
		if n := d.same(i-far, i, limit); n > best {
			best, distance = n, far
		}
		if best >= nice {
			return best, distance
		}
	}
	if d.probes == 0 {
		return best * min(distance, 1), distance
	}
	// A longer match has the same bytes up to and with the one after the best so
	// far: the last four of them tell most others apart.
	reach := min(deflateWindow, i)
	tail := binary.LittleEndian.Uint32(buf[i+best-3:])
	at := d.base + i + 1
	from := int(d.head[d.hash(i)])
	for range d.probes {
		far := at - from
		if from == 0 || far > reach || far <= 0 {
			break
		}
		if j := i - far; binary.LittleEndian.Uint32(buf[j+best-3:]) == tail {
			if n := d.same(j, i, limit); n > best && (n >= farMatch || far <= farDistance) {
				best, distance = n, far
				if best >= nice {
					break
				}
				tail = binary.LittleEndian.Uint32(buf[i+best-3:])
			}
		}
		from = int(d.chain[(from-1)%deflateWindow])
	}
	if distance == 0 {
		return 0, 0
	}
	return best, distance
}

// same counts the equal bytes at j and i, at most limit.
func (d *deflater) same(j, i, limit int) int {
	a, b := d.buf[j:j+limit], d.buf[i:i+limit]
	n := 0
	for ; n+8 <= limit; n += 8 {
		if x := binary.LittleEndian.Uint64(a[n:]) ^ binary.LittleEndian.Uint64(b[n:]); x != 0 {
			return n + bits.TrailingZeros64(x)/8
		}
	}
	for n < limit && a[n] == b[n] {
		n++
	}
	return n
}

// hash is of the hashedBytes at i, of which eight must be there.
func (d *deflater) hash(i int) uint64 {
	const prime = 0x9e3779b185ebca87
	return binary.LittleEndian.Uint64(d.buf[i:]) << (64 - 8*hashedBytes) * prime >> (64 - hashBits)
}

// insert lets later matches find position i.
func (d *deflater) insert(i int) {
	if d.probes == 0 || i+8 > len(d.buf) {
		return
	}
	at, h := d.base+i, d.hash(i)
	d.chain[at%deflateWindow] = d.head[h]
	d.head[h] = int32(at + 1)
}

func (d *deflater) literal(b byte) {
	d.literals[b]++
	d.token(uint32(b))
}

func (d *deflater) match(length, distance int) {
	d.literals[257+lengthSymbol(length)]++
	d.offsets[distanceSymbol(distance)]++
	d.token(matchToken | uint32(length)<<16 | uint32(distance-1))
}

func (d *deflater) token(t uint32) {
	if d.out == nil {
		return
	}
	d.tokens = append(d.tokens, t)
	if len(d.tokens) == blockTokens {
		d.block(false)
	}
}

// block writes the tokens so far with a Huffman code of their own.
func (d *deflater) block(last bool) {
	const endOfBlock = 256
	d.literals[endOfBlock] = 1
	literals, offsets := newHuffman(d.literals[:], 15), newHuffman(d.offsets[:], 15)
	d.out.blockHeader(last, literals, offsets)
	d.out.tokens(d.tokens, literals, offsets)
	d.out.code(literals, endOfBlock)
	if len(d.out.w.buf) >= idatSize {
		d.out.w.flush()
	}
	d.tokens = d.tokens[:0]
	d.literals, d.offsets = [286]uint32{}, [30]uint32{}
}

// The symbols of lengths and distances (RFC 1951, 3.2.5): past the first few,
// four lengths and two distances share their number of extra bits. Length 258
// has a symbol to itself.

func lengthSymbol(length int) int {
	n := length - 3
	switch {
	case length == maxMatch:
		return 28
	case n < 8:
		return n
	}
	extra := bits.Len(uint(n)) - 3
	return 4*extra + n>>extra
}

func lengthExtra(symbol int) int {
	if symbol < 8 || symbol == 28 {
		return 0
	}
	return symbol/4 - 1
}

func lengthBase(symbol int) int {
	switch {
	case symbol == 28:
		return maxMatch
	case symbol < 8:
		return symbol + 3
	}
	return (4+symbol%4)<<lengthExtra(symbol) + 3
}

func distanceSymbol(distance int) int {
	n := distance - 1
	if n < 4 {
		return n
	}
	extra := bits.Len(uint(n)) - 2
	return 2*extra + n>>extra
}

func distanceExtra(symbol int) int { return max(0, symbol/2-1) }

func distanceBase(symbol int) int {
	if symbol < 4 {
		return symbol + 1
	}
	return (2+symbol%2)<<distanceExtra(symbol) + 1
}
