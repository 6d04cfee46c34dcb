package imaging

import (
	"bytes"
	"hash/adler32"
	"image/png"
	"math/rand/v2"
	"testing"
)

// At the fast level a screen takes fewer bytes than image/png writes, and what
// suits image/png's long search better (noise, marks that never repeat, rows
// longer than half of deflate's window) little more. All come back as they were.
func TestFastPNGIsAboutAsSmallAsImagePNG(t *testing.T) {
	for name, c := range map[string]struct {
		m     *Image
		ratio float64
	}{
		"screen":    {screen(900, 500), 1},
		"gray":      {filtered(photo(600, 400), func(m *Image) error { Grayscale(m); return nil }), 1},
		"photo":     {photo(700, 500), 1.02},
		"dashboard": {dashboard(), 1.12},
		"long rows": {dashboardOf(12000, 300), 1.35},
	} {
		m := c.m
		var ours, theirs bytes.Buffer
		if err := EncodePNG(&ours, m, Fast); err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(&theirs, m.NRGBA); err != nil {
			t.Fatal(err)
		}
		if ratio := float64(ours.Len()) / float64(theirs.Len()); ratio > c.ratio {
			t.Errorf("%s: %d bytes, %.3f of image/png's (limit %g)", name, ours.Len(), ratio, c.ratio)
		}
		back, err := png.Decode(&ours)
		if err != nil || !bytes.Equal(FromImage(back).Pix, m.Pix) {
			t.Errorf("%s: the pixels changed, or %v", name, err)
		}
	}
}

// Fibonacci numbers make the deepest tree; its codes must be cut and still be a
// prefix code.
func TestHuffmanKeepsItsLimit(t *testing.T) {
	counts := make([]uint32, 40)
	a, b := uint32(1), uint32(1)
	for i := range counts {
		counts[i] = a
		a, b = b, a+b
	}
	for _, limit := range []int{7, 15} {
		sum := 0
		for s, n := range newHuffman(counts, limit).lengths {
			if n == 0 || int(n) > limit {
				t.Fatalf("limit %d: symbol %d has %d bits", limit, s, n)
			}
			sum += 1 << (limit - int(n))
		}
		if sum > 1<<limit {
			t.Errorf("limit %d: Kraft's sum is %d of %d", limit, sum, 1<<limit)
		}
	}
}

// Each length and distance lies in the range of its symbol.
func TestMatchSymbols(t *testing.T) {
	for length := 3; length <= maxMatch; length++ {
		s := lengthSymbol(length)
		if rest := length - lengthBase(s); s > 28 || rest < 0 || rest >= 1<<lengthExtra(s) {
			t.Fatalf("length %d has symbol %d, base %d", length, s, lengthBase(s))
		}
	}
	for distance := 1; distance <= deflateWindow; distance++ {
		s := distanceSymbol(distance)
		if rest := distance - distanceBase(s); s > 29 || rest < 0 || rest >= 1<<distanceExtra(s) {
			t.Fatalf("distance %d has symbol %d, base %d", distance, s, distanceBase(s))
		}
	}
}

func TestAdlerMatchesHashAdler32(t *testing.T) {
	data := make([]byte, 3*adlerBatch+5)
	rand.NewChaCha8([32]byte{}).Read(data)
	for _, n := range []int{0, 1, 7, 8, 9, adlerBatch, len(data)} {
		s := newAdler()
		s.write(data[:n/3])
		s.write(data[n/3 : n])
		if want := adler32.Checksum(data[:n]); s.sum() != want {
			t.Errorf("%d bytes: %08x, want %08x", n, s.sum(), want)
		}
	}
}
