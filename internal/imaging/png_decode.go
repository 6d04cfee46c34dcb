package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"io"

	"github.com/klauspost/compress/flate"
)

// errNotPlain says that a PNG is of a kind that image/png has to decode.
var errNotPlain = errors.New("not a plain PNG")

// pngReader decodes the kinds of PNG that screenshots are: 8 bits a channel,
// gray, RGB, RGBA or palette, not interlaced, without a transparent colour.
// It makes the pixels that image/png would, in half of its time: rows go
// straight to the layout of [Image].
type pngReader struct {
	colorType byte
	bpp       int         // bytes a pixel in the file
	palette   [256]uint32 // as little-endian RGBA, all 0 without one
	zlib      *bytes.Reader
	inflate   io.ReadCloser
	sum       adler
}

// decodePNG decodes what [Probe] has passed. The error is errNotPlain for the
// kinds that it leaves to image/png.
func decodePNG(ctx context.Context, data []byte) (*Image, error) {
	r := &pngReader{sum: newAdler()}
	size, err := r.chunks(data[len(pngMagic):])
	if err != nil {
		return nil, err
	}
	var head [2]byte
	if _, err := io.ReadFull(r.zlib, head[:]); err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	const deflate, preset = 8, 0x20
	if head[0]&0x0f != deflate || head[0]>>4 > 7 || binary.BigEndian.Uint16(head[:])%31 != 0 || head[1]&preset != 0 {
		return nil, errors.New("the compressed pixels do not start with a zlib header")
	}
	r.inflate = flate.NewReader(r.zlib)
	defer r.inflate.Close()
	m := &Image{NRGBA: image.NewNRGBA(image.Rectangle{Max: size}), Opaque: r.colorType != colorRGBA, Gray: r.colorType == colorGray}
	if err := r.rows(ctx, m); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, err
	}
	if !m.Opaque {
		m.Opaque = opaque(m.Pix)
	}
	return m, r.end()
}

// chunks reads the header and the palette, checks the checksums and joins the
// compressed pixels.
func (r *pngReader) chunks(rest []byte) (size image.Point, err error) {
	var idat [][]byte
	for len(rest) >= 12 {
		n := int(binary.BigEndian.Uint32(rest))
		if n > len(rest)-12 {
			return size, io.ErrUnexpectedEOF
		}
		kind, body := string(rest[4:8]), rest[8:8+n]
		if crc32.ChecksumIEEE(rest[4:8+n]) != binary.BigEndian.Uint32(rest[8+n:]) {
			return size, fmt.Errorf("the checksum of chunk %q is wrong", kind)
		}
		rest = rest[12+n:]
		switch kind {
		case "IHDR":
			const interlace = 12
			r.colorType = body[9]
			r.bpp = pngChannels[r.colorType]
			if body[8] != bitsPerChannel || r.colorType == colorGrayAlpha || body[10] != 0 || body[11] != 0 || body[interlace] != 0 {
				return size, errNotPlain
			}
			size = image.Pt(int(binary.BigEndian.Uint32(body)), int(binary.BigEndian.Uint32(body[4:])))
		case "PLTE":
			if n == 0 || n%3 != 0 || n > 3*len(r.palette) {
				return size, fmt.Errorf("the palette has %d bytes", n)
			}
			for i := range r.palette { // an index beyond it is black
				r.palette[i] = opaqueBits
				if 3*i < n {
					r.palette[i] |= uint32(body[3*i]) | uint32(body[3*i+1])<<8 | uint32(body[3*i+2])<<16
				}
			}
		case "tRNS":
			return size, errNotPlain
		case "IDAT":
			idat = append(idat, body)
		case "IEND":
			rest = nil
		}
	}
	if r.colorType == colorPalette && r.palette[0] == 0 {
		return size, errors.New("the palette is missing")
	}
	joined := bytes.Join(idat, nil)
	if len(idat) == 1 {
		joined = idat[0]
	}
	r.zlib = bytes.NewReader(joined)
	return size, nil
}

// colorGrayAlpha is left to image/png, and opaqueBits is alpha 255 in a pixel
// read as a little-endian number.
const (
	colorGrayAlpha = 4
	opaqueBits     = 0xff << 24
)

// contextRows is after how many rows a decoder looks at its context.
const contextRows = 64

func (r *pngReader) rows(ctx context.Context, m *Image) error {
	width := m.Width() * r.bpp
	cur, prev := make([]byte, width+1), make([]byte, width+1)
	for y := range m.Height() {
		if y%contextRows == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := io.ReadFull(r.inflate, cur); err != nil {
			return truncatedPixels(err)
		}
		r.sum.write(cur)
		if err := unfilter(cur[0], cur[1:], prev[1:], r.bpp); err != nil {
			return err
		}
		r.expand(m.row(y), cur[1:])
		cur, prev = prev, cur
	}
	return nil
}

func truncatedPixels(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("not enough pixel data: %w", io.ErrUnexpectedEOF)
	}
	return err
}

// expand writes a row of the file as four bytes a pixel.
func (r *pngReader) expand(dst, src []byte) {
	switch r.colorType {
	case colorRGBA:
		copy(dst, src)
	case colorRGB:
		n := len(dst)/4 - 1 // the last pixel has no byte after it
		for i := range n {
			binary.LittleEndian.PutUint32(dst[4*i:], binary.LittleEndian.Uint32(src[3*i:])|opaqueBits)
		}
		copy(dst[4*n:], src[3*n:])
		dst[4*n+3] = 255
	case colorGray:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v)*0x010101|opaqueBits)
		}
	default:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], r.palette[v])
		}
	}
}

// end checks that the compressed stream ends after the last row, with the right
// checksum.
func (r *pngReader) end() error {
	var more [1]byte
	if n, err := io.ReadFull(r.inflate, more[:]); n > 0 {
		return errors.New("there are more pixels than the header says")
	} else if err != io.EOF {
		return truncatedPixels(err)
	}
	var sum [4]byte
	if _, err := io.ReadFull(r.zlib, sum[:]); err != nil {
		return io.ErrUnexpectedEOF
	}
	if binary.BigEndian.Uint32(sum[:]) != r.sum.sum() {
		return errors.New("the checksum of the pixels is wrong")
	}
	return nil
}

// unfilter turns a filtered row into the row it was made of (PNG
// specification, section 9.2).
func unfilter(kind byte, cur, prev []byte, bpp int) error {
	switch kind {
	case filterNone:
	case filterSub:
		for i := bpp; i < len(cur); i++ {
			cur[i] += cur[i-bpp]
		}
	case filterUp:
		add(cur, prev)
	case filterAverage:
		for i := range bpp {
			cur[i] += prev[i] / 2
		}
		for i := bpp; i < len(cur); i++ {
			cur[i] += byte((int(cur[i-bpp]) + int(prev[i])) / 2)
		}
	case filterPaeth:
		if bpp == 3 {
			unpaeth3(cur, prev)
		} else {
			unpaeth(cur, prev, bpp)
		}
	default:
		return fmt.Errorf("filter type %d does not exist", kind)
	}
	return nil
}

// paeth predicts a byte from those to the left, above, and above to the left
// (PNG specification, section 9.4).
func paeth(a, b, c int) int {
	pa, pb := b-c, a-c
	pc := pa + pb
	pa, pb, pc = max(pa, -pa), max(pb, -pb), max(pc, -pc)
	p, least := a, pa // conditional moves: branches here cannot be predicted
	if pb < least {
		p, least = b, pb
	}
	if pc < least {
		p = c
	}
	return p
}

// unpaeth works on every bpp-th byte in turn.
func unpaeth(cur, prev []byte, bpp int) {
	for from := range bpp {
		a, c := 0, 0
		for i := from; i < len(cur) && i < len(prev); i += bpp {
			b := int(prev[i])
			a = (int(cur[i]) + paeth(a, b, c)) & 0xff
			cur[i] = byte(a)
			c = b
		}
	}
}

// unpaeth3 is for RGB. The three channels wait for their left neighbours at the
// same time, not in turn.
func unpaeth3(cur, prev []byte) {
	var a0, a1, a2, c0, c1, c2 int
	for i := 0; i+3 <= len(cur) && i+3 <= len(prev); i += 3 {
		p, q := cur[i:i+3:i+3], prev[i:i+3:i+3]
		b0, b1, b2 := int(q[0]), int(q[1]), int(q[2])
		if b0 == c0 && b1 == c1 && b2 == c2 { // flat above: the prediction is the left
			a0, a1, a2 = (a0+int(p[0]))&0xff, (a1+int(p[1]))&0xff, (a2+int(p[2]))&0xff
			p[0], p[1], p[2] = byte(a0), byte(a1), byte(a2)
			continue
		}
		a0 = (int(p[0]) + paeth(a0, b0, c0)) & 0xff
		a1 = (int(p[1]) + paeth(a1, b1, c1)) & 0xff
		a2 = (int(p[2]) + paeth(a2, b2, c2)) & 0xff
		p[0], p[1], p[2] = byte(a0), byte(a1), byte(a2)
		c0, c1, c2 = b0, b1, b2
	}
}

// add adds b to a byte by byte, eight at a time.
func add(a, b []byte) {
	n := len(a) &^ 7
	for i := 0; i < n; i += 8 {
		x, y := binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(a[i:], (x&^highBits+y&^highBits)^(x^y)&highBits)
	}
	for i := n; i < len(a); i++ {
		a[i] += b[i]
	}
}
