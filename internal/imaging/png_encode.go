package imaging

import (
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// Level trades time for size in [EncodePNG].
type Level int

// The levels: Fast for pictures inside an answer, Small for files.
const (
	Fast  Level = 1
	Small Level = 6
)

// PNG filter types (PNG specification, section 9.2).
const (
	filterNone = iota
	filterSub
	filterUp
	_
	filterPaeth
)

// EncodePNG writes the image losslessly, in the smallest of the colour types
// that hold it: a palette up to 256 colours, RGB when opaque, else RGBA.
func EncodePNG(w io.Writer, m *Image, level Level) error {
	e := &pngEncoder{w: w, m: m}
	e.chooseType()
	e.header()
	e.data(level)
	e.chunk("IEND", nil)
	return e.err
}

type pngEncoder struct {
	w       io.Writer
	m       *Image
	palette []uint32 // colours as little-endian RGBA
	index   []byte   // a palette index a pixel
	bpp     int      // bytes a pixel in the file
	err     error
}

func (e *pngEncoder) chooseType() {
	if e.m.Opaque {
		if e.palette, e.index = palettize(e.m); e.palette != nil {
			e.bpp = 1
			return
		}
		e.bpp = 3
		return
	}
	e.bpp = 4
}

func (e *pngEncoder) header() {
	_, err := io.WriteString(e.w, pngMagic)
	e.err = err
	colorType := map[int]byte{1: 3, 3: 2, 4: 6}[e.bpp]
	head := binary.BigEndian.AppendUint32(nil, uint32(e.m.Width()))
	head = binary.BigEndian.AppendUint32(head, uint32(e.m.Height()))
	e.chunk("IHDR", append(head, 8, colorType, 0, 0, 0))
	if e.palette != nil {
		table := make([]byte, 0, 3*len(e.palette))
		for _, c := range e.palette {
			table = append(table, byte(c), byte(c>>8), byte(c>>16))
		}
		e.chunk("PLTE", table)
	}
}

func (e *pngEncoder) chunk(kind string, body []byte) {
	if e.err != nil {
		return
	}
	head := binary.BigEndian.AppendUint32(make([]byte, 0, 8), uint32(len(body)))
	head = append(head, kind...)
	sum := crc32.Update(crc32.ChecksumIEEE(head[4:]), crc32.IEEETable, body)
	for _, part := range [][]byte{head, body, binary.BigEndian.AppendUint32(nil, sum)} {
		if _, err := e.w.Write(part); err != nil {
			e.err = err
			return
		}
	}
}

// data compresses the filtered rows into IDAT chunks.
func (e *pngEncoder) data(level Level) {
	out := &idatWriter{e: e, buf: make([]byte, 0, idatSize)}
	out.Write([]byte{0x78, 0x01}) // zlib header: deflate, 32 KiB window (RFC 1950)
	z, err := flate.NewWriter(out, int(level))
	if err != nil {
		e.err = err
		return
	}
	sum := adler32.New()
	width := e.m.Width() * e.bpp
	f := newRowFilter(width, e.bpp, e.adaptive())
	prev, cur := make([]byte, width), make([]byte, width)
	for y := range e.m.Height() {
		e.packRow(cur, y)
		line := f.apply(cur, prev)
		sum.Write(line)
		if _, err := z.Write(line); err != nil {
			e.err = err
			return
		}
		prev, cur = cur, prev
	}
	if err := z.Close(); err != nil && e.err == nil {
		e.err = err
	}
	out.Write(sum.Sum(nil))
	out.flush()
}

// packRow writes row y in the file's pixel layout.
func (e *pngEncoder) packRow(dst []byte, y int) {
	row := e.m.row(y)
	switch e.bpp {
	case 1:
		copy(dst, e.index[y*len(dst):])
	case 4:
		copy(dst, row)
	default:
		for i, j := 0, 0; i < len(row); i, j = i+4, j+3 {
			dst[j], dst[j+1], dst[j+2] = row[i], row[i+1], row[i+2]
		}
	}
}

// sampledRows is how many rows the choice of filters looks at.
const sampledRows = 64

// flatShare is the share of pixels equal to their left neighbour above which a
// picture is drawn, not photographed: unfiltered rows compress better and much
// faster then.
const flatShare = 0.3

// adaptive reports whether rows want filters: yes for photos, no for screens.
func (e *pngEncoder) adaptive() bool {
	if e.bpp == 1 {
		return false
	}
	step := max(1, e.m.Height()/sampledRows)
	equal, total := 0, 0
	for y := 0; y < e.m.Height(); y += step {
		row := e.m.row(y)
		for x := 4; x < len(row); x += 4 {
			if binary.LittleEndian.Uint32(row[x:]) == binary.LittleEndian.Uint32(row[x-4:]) {
				equal++
			}
			total++
		}
	}
	return float64(equal) < flatShare*float64(total)
}

// idatSize is the size of an IDAT chunk, large enough for its overhead to vanish.
const idatSize = 64 << 10

// idatWriter cuts the compressed stream into chunks.
type idatWriter struct {
	e   *pngEncoder
	buf []byte
}

func (w *idatWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		room := min(len(p), idatSize-len(w.buf))
		w.buf = append(w.buf, p[:room]...)
		p = p[room:]
		if len(w.buf) == idatSize {
			w.flush()
		}
	}
	return n, w.e.err
}

func (w *idatWriter) flush() {
	if len(w.buf) > 0 {
		w.e.chunk("IDAT", w.buf)
		w.buf = w.buf[:0]
	}
}

// palettize maps an opaque image to at most 256 colours; nil when it has more.
func palettize(m *Image) (palette []uint32, index []byte) {
	const slots = 1024 // open addressing, at most a quarter full
	var keys [slots]uint32
	var values [slots]int16 // index + 1, 0 for a free slot
	pix := m.Pix
	index = make([]byte, len(pix)/4)
	last, lastIndex := uint32(0), byte(0) // every colour here has alpha 255, so 0 is none
	for i := range index {
		c := binary.LittleEndian.Uint32(pix[4*i:])
		if c != last {
			h := c * 0x9e3779b1 >> 22
			for values[h] != 0 && keys[h] != c {
				h = (h + 1) % slots
			}
			if values[h] == 0 {
				if len(palette) == 256 {
					return nil, nil
				}
				palette = append(palette, c)
				keys[h], values[h] = c, int16(len(palette))
			}
			last, lastIndex = c, byte(values[h]-1)
		}
		index[i] = lastIndex
	}
	return palette, index
}
