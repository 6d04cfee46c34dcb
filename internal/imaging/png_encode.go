package imaging

import (
	"encoding/binary"
	"hash/crc32"
	"io"
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
	filterAverage
	filterPaeth
)

// EncodePNG writes the image losslessly, in the smallest of the colour types
// that hold it: gray, a palette up to 256 colours, RGB when opaque, else RGBA.
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

	colorType byte
	err       error
}

// PNG colour types (PNG specification, section 11.2.1).
const (
	colorGray      = 0
	colorRGB       = 2
	colorPalette   = 3
	colorRGBA      = 6
	zlibHeader     = "\x78\x01" // deflate, 32 KiB window (RFC 1950)
	bitsPerChannel = 8
)

func (e *pngEncoder) chooseType() {
	switch {
	case !e.m.Opaque:
		e.colorType, e.bpp = colorRGBA, 4
	case isGray(e.m):
		e.colorType, e.bpp = colorGray, 1
	default:
		e.colorType, e.bpp = colorRGB, 3
		if e.palette, e.index = palettize(e.m); e.palette != nil {
			e.colorType, e.bpp = colorPalette, 1
		}
	}
}

func (e *pngEncoder) header() {
	_, err := io.WriteString(e.w, pngMagic)
	e.err = err
	head := binary.BigEndian.AppendUint32(nil, uint32(e.m.Width()))
	head = binary.BigEndian.AppendUint32(head, uint32(e.m.Height()))
	e.chunk("IHDR", append(head, bitsPerChannel, e.colorType, 0, 0, 0))
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
	out := &bitStream{w: &idatWriter{e: e, buf: make([]byte, 0, idatSize+8)}}
	out.w.buf = append(out.w.buf, zlibHeader...)
	width := e.m.Width() * e.bpp
	z := newDeflater(out, level, e.bpp, width+1)
	b := newBands(e, level, width)
	sum := newAdler()
	for y := range e.m.Height() {
		if y%bandRows == 0 {
			b.choose(y)
			z.suit(b.use)
		}
		line := b.row(y)
		sum.write(line)
		z.write(line)
	}
	z.close()
	out.w.buf = binary.BigEndian.AppendUint32(out.w.buf, sum.sum())
	out.w.flush()
}

// packRow writes row y in the file's pixel layout.
func (e *pngEncoder) packRow(dst []byte, y int) {
	row := e.m.row(y)
	switch e.colorType {
	case colorPalette:
		copy(dst, e.index[y*len(dst):])
	case colorGray:
		for i := range dst {
			dst[i] = row[4*i]
		}
	case colorRGBA:
		copy(dst, row)
	default:
		for i, j := 0, 0; i < len(row); i, j = i+4, j+3 {
			d, p := dst[j:j+3:j+3], row[i:i+3:i+3]
			d[0], d[1], d[2] = p[0], p[1], p[2]
		}
	}
}

// idatSize is the least size of an IDAT chunk but the last, large enough for its overhead to vanish.
const idatSize = 64 << 10

// idatWriter collects the compressed stream and cuts it into chunks.
type idatWriter struct {
	e   *pngEncoder
	buf []byte
}

func (w *idatWriter) flush() {
	w.e.chunk("IDAT", w.buf)
	w.buf = w.buf[:0]
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
