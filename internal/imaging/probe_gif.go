package imaging

import "encoding/binary"

// maxGIFBlocks bounds the blocks of one GIF: frames, comments, extensions.
const maxGIFBlocks = 1_000_000

// probeGIF walks the blocks; frames are counted, not decoded.
func probeGIF(i *Info, data []byte, lim Limits) error {
	if len(data) < 13 {
		return refuse(ClassTruncated, "gif", "the file has only %d bytes", len(data))
	}
	i.StoredWidth, i.StoredHeight = int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))
	i.Alpha = true
	if err := i.check(lim, 1+4); err != nil {
		return err
	}
	global := data[10]&0x80 != 0
	at := 13
	if global {
		at += 3 << (data[10]&7 + 1)
	}
	frames, ended := 0, false
	for n := 0; at < len(data) && !ended; n++ {
		if n > maxGIFBlocks {
			return refuse(ClassFrames, "gif", "more than %d blocks", maxGIFBlocks)
		}
		switch data[at] {
		case 0x3b:
			ended = true
		case 0x21:
			at = skipSubBlocks(data, at+2)
		case 0x2c:
			if at+10 > len(data) {
				return firstOr(frames, refuse(ClassTruncated, "gif", "the file ends inside a frame header"))
			}
			if frames == 0 {
				if err := gifFrame(i, data[at:], global); err != nil {
					return err
				}
			}
			flags := data[at+9]
			at += 10
			if flags&0x80 != 0 {
				at += 3 << (flags&7 + 1)
			}
			frames++
			at = skipSubBlocks(data, at+1)
		default:
			if frames > 0 {
				ended = true // trailing bytes after the last frame
				break
			}
			return refuse(ClassCorrupt, "gif", "an unknown block 0x%02x", data[at])
		}
	}
	if frames == 0 {
		return refuse(ClassCorrupt, "gif", "the file has no frame")
	}
	i.Frames = frames
	return nil
}

// firstOr forgives damage after the first frame, the only one that is decoded.
func firstOr(frames int, err error) error {
	if frames > 0 {
		return nil
	}
	return err
}

// gifFrame checks the first frame against its canvas.
func gifFrame(i *Info, b []byte, global bool) error {
	x, y := int(binary.LittleEndian.Uint16(b[1:])), int(binary.LittleEndian.Uint16(b[3:]))
	w, h := int(binary.LittleEndian.Uint16(b[5:])), int(binary.LittleEndian.Uint16(b[7:]))
	if w == 0 || h == 0 || x+w > i.StoredWidth || y+h > i.StoredHeight {
		return refuse(ClassCorrupt, "gif", "the first frame, %dx%d at %d,%d, does not lie on its %dx%d canvas", w, h, x, y, i.StoredWidth, i.StoredHeight)
	}
	if !global && b[9]&0x80 == 0 {
		return refuse(ClassCorrupt, "gif", "the first frame has no colour table")
	}
	return nil
}

func skipSubBlocks(data []byte, at int) int {
	for at < len(data) && data[at] != 0 {
		at += int(data[at]) + 1
	}
	return at + 1
}
