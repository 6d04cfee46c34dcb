package imaging

import "encoding/binary"

// probeWebP walks the RIFF chunks. For an animation the first frame is made a
// file of its own, since the decoder knows only stills.
func probeWebP(i *Info, data []byte, lim Limits) error {
	size := int64(binary.LittleEndian.Uint32(data[4:])) + 8
	if size > int64(len(data)) {
		return refuse(ClassTruncated, "webp", "the file says %d bytes and has %d", size, len(data))
	}
	var canvas bool
	var alpha []byte
	for at := 12; at+8 <= int(size); {
		kind, n := string(data[at:at+4]), int64(binary.LittleEndian.Uint32(data[at+4:]))
		if int64(at)+8+n > size {
			return refuse(ClassTruncated, "webp", "the file ends inside a chunk (%q says %d bytes)", kind, n)
		}
		body := data[at+8 : at+8+int(n)]
		switch kind {
		case "VP8X":
			if n < 10 {
				return refuse(ClassCorrupt, "webp", "VP8X has %d bytes", n)
			}
			canvas = true
			i.Alpha, i.ICC = body[0]&0x10 != 0, body[0]&0x20 != 0
			i.StoredWidth, i.StoredHeight = uint24(body[4:])+1, uint24(body[7:])+1
			if err := i.check(lim, webpPixelBytes); err != nil {
				return err
			}
		case "EXIF":
			i.Orientation = exifOrientation(trimExif(body))
		case "ANMF":
			if i.Frames++; i.Frames == 1 {
				if err := webpFrame(i, body, lim); err != nil {
					return err
				}
			}
		case "ALPH":
			alpha = body
		case "VP8 ", "VP8L":
			if i.Frames == 0 {
				if err := webpBitstream(i, kind, body, canvas, lim); err != nil {
					return err
				}
				i.frame = wrapWebP(kind, body, alpha, i.StoredWidth, i.StoredHeight)
				i.Frames = 1
			}
		}
		at += 8 + int(n+n&1)
	}
	if i.frame == nil {
		return refuse(ClassCorrupt, "webp", "the file has no picture")
	}
	return nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

func trimExif(b []byte) []byte {
	if len(b) > 6 && string(b[:6]) == "Exif\x00\x00" {
		return b[6:]
	}
	return b
}

// webpFrame takes the first frame out of an animation.
func webpFrame(i *Info, b []byte, lim Limits) error {
	const header = 16
	if len(b) < header {
		return refuse(ClassCorrupt, "webp", "a frame of %d bytes", len(b))
	}
	x, y := 2*uint24(b), 2*uint24(b[3:])
	w, h := uint24(b[6:])+1, uint24(b[9:])+1
	if x+w > i.StoredWidth || y+h > i.StoredHeight {
		return refuse(ClassCorrupt, "webp", "the first frame, %dx%d at %d,%d, does not lie on its %dx%d canvas", w, h, x, y, i.StoredWidth, i.StoredHeight)
	}
	i.frameX, i.frameY = x, y
	var alpha []byte
	for at := header; at+8 <= len(b); {
		kind, n := string(b[at:at+4]), int(binary.LittleEndian.Uint32(b[at+4:]))
		if n < 0 || n > len(b)-at-8 {
			return refuse(ClassTruncated, "webp", "the first frame ends early")
		}
		body := b[at+8 : at+8+n]
		switch kind {
		case "ALPH":
			alpha = body
		case "VP8 ", "VP8L":
			frame := Info{Format: "webp"}
			if err := webpBitstream(&frame, kind, body, false, lim); err != nil {
				return err
			}
			if frame.StoredWidth != w || frame.StoredHeight != h {
				return refuse(ClassCorrupt, "webp", "the first frame says %dx%d and holds %dx%d", w, h, frame.StoredWidth, frame.StoredHeight)
			}
			i.frame = wrapWebP(kind, body, alpha, w, h)
			return nil
		}
		at += 8 + n + n&1
	}
	return refuse(ClassCorrupt, "webp", "the first frame has no picture")
}

// webpPixelBytes is what a pixel takes in the decoder: NRGBA when lossless, less
// when lossy.
const webpPixelBytes = 4

// maxVP8Ratio is how many pixels a byte of a lossy WebP stream may stand for
// before the claim is taken for a lie: flat pictures reach a few thousand.
// Lossless streams have no such bound: one colour takes no bits at all.
const maxVP8Ratio = 20_000

// webpBitstream reads the size out of a VP8 or VP8L stream.
func webpBitstream(i *Info, kind string, b []byte, canvas bool, lim Limits) error {
	if len(b) < 10 {
		return refuse(ClassTruncated, "webp", "the picture has only %d bytes", len(b))
	}
	var w, h int
	if kind == "VP8L" {
		if b[0] != 0x2f {
			return refuse(ClassCorrupt, "webp", "no lossless signature")
		}
		bits := binary.LittleEndian.Uint32(b[1:])
		w, h = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
		i.Alpha = i.Alpha || bits>>28&1 != 0
	} else {
		if b[3] != 0x9d || b[4] != 0x01 || b[5] != 0x2a {
			return refuse(ClassCorrupt, "webp", "no key frame")
		}
		w, h = int(binary.LittleEndian.Uint16(b[6:])&0x3fff), int(binary.LittleEndian.Uint16(b[8:])&0x3fff)
	}
	if canvas && (w != i.StoredWidth || h != i.StoredHeight) {
		return refuse(ClassCorrupt, "webp", "the canvas is %dx%d and the picture %dx%d", i.StoredWidth, i.StoredHeight, w, h)
	}
	i.StoredWidth, i.StoredHeight = w, h
	if err := i.check(lim, webpPixelBytes); err != nil {
		return err
	}
	if kind == "VP8 " && int64(w)*int64(h) > int64(len(b))*maxVP8Ratio {
		return refuse(ClassTruncated, "webp", "%d bytes cannot hold the %dx%d pixels that the header claims", len(b), w, h)
	}
	return nil
}

// wrapWebP makes a still file of one bitstream.
func wrapWebP(kind string, body, alpha []byte, w, h int) []byte {
	chunk := func(out []byte, kind string, body []byte) []byte {
		out = append(out, kind...)
		out = binary.LittleEndian.AppendUint32(out, uint32(len(body)))
		out = append(out, body...)
		if len(body)%2 == 1 {
			out = append(out, 0)
		}
		return out
	}
	out := append(make([]byte, 0, len(body)+len(alpha)+64), "RIFF\x00\x00\x00\x00WEBP"...)
	if alpha != nil && kind == "VP8 " {
		head := []byte{0x10, 0, 0, 0, byte(w - 1), byte((w - 1) >> 8), byte((w - 1) >> 16), byte(h - 1), byte((h - 1) >> 8), byte((h - 1) >> 16)}
		out = chunk(chunk(out, "VP8X", head), "ALPH", alpha)
	}
	out = chunk(out, kind, body)
	binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
	return out
}
