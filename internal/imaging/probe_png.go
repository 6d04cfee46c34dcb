package imaging

import (
	"encoding/binary"
	"hash/crc32"
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// maxDeflateRatio is how many bytes one byte of deflate can make at most.
const maxDeflateRatio = 1032

// deflateSlack covers the headers and the last partial block.
const deflateSlack = 4096

// chunksBeforeData is more ancillary chunks than any real file has before its
// pixels.
const chunksBeforeData = 10_000

var pngChannels = map[byte]int{0: 1, 2: 3, 3: 1, 4: 2, 6: 4}

// probePNG walks the chunks.
func probePNG(i *Info, data []byte, lim Limits) error {
	rest := data[len(pngMagic):]
	var idat int64
	var seen struct{ header, palette, data, end bool }
	for n := 0; len(rest) > 0 && !seen.end; n++ {
		if n >= lim.Chunks || !seen.data && n >= chunksBeforeData {
			return refuse(ClassFrames, "png", "more than %d chunks (limit %d, %d before the pixels)", n, lim.Chunks, chunksBeforeData)
		}
		if len(rest) < 12 {
			break
		}
		size, kind := int64(binary.BigEndian.Uint32(rest)), string(rest[4:8])
		if size > int64(len(rest)-12) {
			return refuse(ClassTruncated, "png", "the file ends inside a chunk (%q says %d bytes, %d are left)", kind, size, len(rest)-12)
		}
		body := rest[8 : 8+size]
		if !seen.header {
			if kind != "IHDR" {
				return refuse(ClassCorrupt, "png", "the first chunk is %q, not IHDR", kind)
			}
			if err := pngHeader(i, body, rest[4:8+size], binary.BigEndian.Uint32(rest[8+size:]), lim); err != nil {
				return err
			}
			seen.header = true
		}
		switch kind {
		case "PLTE":
			if seen.data {
				return refuse(ClassCorrupt, "png", "the palette comes after the pixels")
			}
			seen.palette = true
		case "IDAT":
			seen.data = true
			idat += size
		case "IEND":
			seen.end = true
		case "acTL":
			if size >= 4 {
				i.Frames = int(min(binary.BigEndian.Uint32(body), 1<<20))
			}
		case "iCCP":
			i.ICC = true
		case "tRNS":
			i.Alpha = true
		case "eXIf":
			i.Orientation = exifOrientation(body)
		}
		rest = rest[12+size:]
	}
	if !seen.header || !seen.data || !seen.end {
		return refuse(ClassTruncated, "png", "the file ends early (header %t, pixels %t, end mark %t)", seen.header, seen.data, seen.end)
	}
	raw := int64(i.StoredHeight) * ((int64(i.StoredWidth)*int64(i.Depth)*int64(i.channels)+7)/8 + 1)
	if idat*maxDeflateRatio+deflateSlack < raw {
		return refuse(ClassTruncated, "png", "%d bytes of data cannot hold the %dx%d pixels that the header claims", idat, i.StoredWidth, i.StoredHeight)
	}
	return nil
}

// pngHeader reads IHDR.
func pngHeader(i *Info, body, typed []byte, sum uint32, lim Limits) error {
	if len(body) != 13 {
		return refuse(ClassCorrupt, "png", "IHDR has %d bytes, not 13", len(body))
	}
	if crc32.ChecksumIEEE(typed) != sum {
		return refuse(ClassCorrupt, "png", "the checksum of IHDR is wrong")
	}
	w, h := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	channels, ok := pngChannels[body[9]]
	if !ok {
		return refuse(ClassCorrupt, "png", "colour type %d does not exist", body[9])
	}
	i.StoredWidth, i.StoredHeight, i.Depth = int(w), int(h), int(body[8])
	i.Alpha = body[9] == 4 || body[9] == 6
	i.channels = channels
	pixelBytes := 4.0
	if i.Depth == 16 {
		pixelBytes = 8
	}
	return i.check(lim, pixelBytes)
}
