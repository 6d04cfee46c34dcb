//go:build unix

package imaging

import (
	"bytes"
	"compress/lzw"
	"encoding/binary"
	"hash/crc32"
	"io"
	"testing"

	"github.com/klauspost/compress/zlib"
)

// bomb is an image too large to keep as a file.
type bomb struct {
	name   string
	make   func(t *testing.T) []byte
	expect string // as in the manifest
	frames int    // 0: not checked
}

func bombs() []bomb {
	return []bomb{
		{name: "400 Mpx of RGB zeros", make: func(t *testing.T) []byte { return zeroPNG(t, 20000, 20000, 8, 0) }, expect: "error:pixels"},
		{name: "40 Mpx of RGB zeros", make: func(t *testing.T) []byte { return zeroPNG(t, 8000, 5000, 8, 0) }, expect: "8000x5000"},
		{name: "32 Mpx of 16 bit zeros", make: func(t *testing.T) []byte { return zeroPNG(t, 8000, 4000, 16, 0) }, expect: "8000x4000"},
		{name: "1 GB of surplus IDAT", make: func(t *testing.T) []byte { return zeroPNG(t, 64, 48, 8, 1<<30) }, expect: "64x48|error:corrupt"},
		{name: "922,000 one-byte IDATs", make: byteChunksPNG, expect: "640x480"},
		{name: "200 GIF frames of 16 Mpx", make: func(t *testing.T) []byte { return framesGIF(t, 4000, 4000, 200) }, expect: "4000x4000", frames: 200},
		{name: "20 MB GIF comment", make: commentGIF, expect: "64x48", frames: 1},
		{name: "5 MB of JPEG fill bytes", make: fillJPEG, expect: "150x103|error:corrupt"},
		{name: "900 Mpx TIFF", make: bigTIFF, expect: "error:unsupported"},
		{name: "a scan repeated past the limit", make: func(t *testing.T) []byte { return scansJPEG(5000, 5000, 60) }, expect: "error:scans"},
		{name: "as many scans as are let through", make: func(t *testing.T) []byte { return scansJPEG(5000, 5000, 24) }, expect: "5000x5000"},
		{name: "a baseline scan repeated", make: func(t *testing.T) []byte { return repeatedJPEG(t, 101) }, expect: "error:scans"},
	}
}

func chunkTo(out *bytes.Buffer, kind string, body []byte) {
	binary.Write(out, binary.BigEndian, uint32(len(body)))
	typed := append([]byte(kind), body...)
	out.Write(typed)
	binary.Write(out, binary.BigEndian, crc32.ChecksumIEEE(typed))
}

func startPNG(w, h int, depth byte) *bytes.Buffer {
	out := bytes.NewBufferString(pngMagic)
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	chunkTo(out, "IHDR", append(head, depth, 2, 0, 0, 0))
	return out
}

// zeros is n bytes of zlib-compressed zeros.
func zeros(t *testing.T, n int64) []byte {
	t.Helper()
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := io.CopyN(z, zeroReader{}, n); err != nil {
		t.Fatal(err)
	}
	z.Close()
	return packed.Bytes()
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// zeroPNG is black, with surplus bytes of pixels after the last row.
func zeroPNG(t *testing.T, w, h int, depth byte, surplus int64) []byte {
	out := startPNG(w, h, depth)
	chunkTo(out, "IDAT", zeros(t, int64(h)*(int64(w)*3*int64(depth)/8+1)+surplus))
	chunkTo(out, "IEND", nil)
	return out.Bytes()
}

// byteChunksPNG holds 640x480 uncompressed pixels, one byte a chunk.
func byteChunksPNG(t *testing.T) []byte {
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(z, zeroReader{}, 480*(640*3+1)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	out := startPNG(640, 480, 8)
	for _, b := range packed.Bytes() {
		chunkTo(out, "IDAT", []byte{b})
	}
	if packed.Len() < 922_000 {
		t.Fatalf("only %d chunks", packed.Len())
	}
	chunkTo(out, "IEND", nil)
	return out.Bytes()
}

func startGIF(w, h int) *bytes.Buffer {
	out := bytes.NewBufferString("GIF89a")
	binary.Write(out, binary.LittleEndian, [2]uint16{uint16(w), uint16(h)})
	out.Write([]byte{0x80, 0, 0, 0, 0, 0, 255, 255, 255}) // two colours
	return out
}

func subBlocks(out *bytes.Buffer, body []byte) {
	for len(body) > 0 {
		n := min(255, len(body))
		out.WriteByte(byte(n))
		out.Write(body[:n])
		body = body[n:]
	}
	out.WriteByte(0)
}

func frameTo(out *bytes.Buffer, w, h int, packed []byte) {
	out.WriteByte(0x2c)
	binary.Write(out, binary.LittleEndian, [4]uint16{0, 0, uint16(w), uint16(h)})
	out.Write([]byte{0, 2})
	subBlocks(out, packed)
}

func framesGIF(t *testing.T, w, h, n int) []byte {
	var packed bytes.Buffer
	z := lzw.NewWriter(&packed, lzw.LSB, 2)
	if _, err := io.CopyN(z, zeroReader{}, int64(w)*int64(h)); err != nil {
		t.Fatal(err)
	}
	z.Close()
	out := startGIF(w, h)
	for range n {
		frameTo(out, w, h, packed.Bytes())
	}
	out.WriteByte(0x3b)
	return out.Bytes()
}

func commentGIF(t *testing.T) []byte {
	one := framesGIF(t, 64, 48, 1)
	const header = 13 + 6
	out := bytes.NewBuffer(bytes.Clone(one[:header]))
	out.Write([]byte{0x21, 0xfe})
	subBlocks(out, make([]byte, 20<<20))
	out.Write(one[header:])
	return out.Bytes()
}

func fillJPEG(t *testing.T) []byte {
	ok := readTestdata(t, "hostile/ok.jpeg")
	return append(append(bytes.Clone(ok[:2]), bytes.Repeat([]byte{0xff}, 5<<20)...), ok[2:]...)
}

func bigTIFF(*testing.T) []byte {
	out := bytes.NewBufferString("II*\x00")
	binary.Write(out, binary.LittleEndian, uint32(8))
	tags := [][4]uint32{{256, 4, 1, 30000}, {257, 4, 1, 30000}, {258, 3, 1, 8}, {262, 3, 1, 1}, {273, 4, 1, 8}, {278, 4, 1, 30000}, {279, 4, 1, 900_000_000}}
	binary.Write(out, binary.LittleEndian, uint16(len(tags)))
	for _, tag := range tags {
		binary.Write(out, binary.LittleEndian, [2]uint16{uint16(tag[0]), uint16(tag[1])})
		binary.Write(out, binary.LittleEndian, [2]uint32{tag[2], tag[3]})
	}
	out.Write(make([]byte, 4))
	return out.Bytes()
}

func segmentTo(out *bytes.Buffer, marker byte, body ...byte) {
	out.Write([]byte{0xff, marker})
	binary.Write(out, binary.BigEndian, uint16(len(body)+2))
	out.Write(body)
}

// scansJPEG is a gray progressive JPEG: one scan of DC and then n-1 that refine
// AC coefficients, each a run of ends of block.
func scansJPEG(w, h, n int) []byte {
	out := bytes.NewBufferString("\xff\xd8")
	segmentTo(out, 0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	segmentTo(out, markerSOF2, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 1, 1, 0x11, 0)
	dc := make([]byte, 18)
	dc[1] = 1 // one code of one bit: category 0
	segmentTo(out, markerDHT, dc...)
	ac := make([]byte, 18)
	ac[0], ac[1] = 0x10, 1 // one code of one bit: end of block
	segmentTo(out, markerDHT, ac...)
	blocks := ((w + 7) / 8) * ((h + 7) / 8)
	scan := func(from, to, approximation byte) {
		segmentTo(out, markerSOS, 1, 1, 0, from, to, approximation)
		out.Write(make([]byte, blocks/8+1)) // one bit a block
	}
	scan(0, 0, 0)
	for range n - 1 {
		scan(1, 63, 0x10) // from bit 1 to bit 0
	}
	out.Write([]byte{0xff, markerEOI})
	return out.Bytes()
}

// repeatedJPEG repeats the one scan of a baseline file.
func repeatedJPEG(t *testing.T, n int) []byte {
	ok := readTestdata(t, "hostile/ok.jpeg")
	at := bytes.Index(ok, []byte{0xff, markerSOS})
	scan := ok[at : len(ok)-2]
	return append(append(bytes.Clone(ok[:at]), bytes.Repeat(scan, n)...), ok[len(ok)-2:]...)
}
