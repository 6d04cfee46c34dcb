package imaging

import (
	"bytes"
	"encoding/binary"
)

// JPEG markers (ITU-T T.81, table B.1).
const (
	markerSOF0 = 0xc0
	markerSOF2 = 0xc2
	markerDHT  = 0xc4
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
	markerAPP1 = 0xe1
	markerAPP2 = 0xe2
)

// maxScanWork bounds scans times pixels. 100 scans of 25 megapixels take many
// seconds; encoders write one to ten.
const maxScanWork = 600_000_000

// minJPEGBitsPerBlock is the least that a baseline 8x8 block takes: a code for
// DC and one for the end of the block.
const minJPEGBitsPerBlock = 2

// maxFill bounds the fill bytes (0xff) before a marker, and bytes between
// segments, which decoders skip one at a time.
const maxFill = 64 << 10

// probeJPEG walks the segments and counts the scans.
func probeJPEG(i *Info, data []byte, lim Limits) error {
	w := jpegWalk{i: i, data: data, lim: lim, at: 2}
	for {
		done, err := w.segment()
		if err != nil || done {
			return err
		}
	}
}

type jpegWalk struct {
	i     *Info
	data  []byte
	lim   Limits
	at    int
	frame bool
}

func (w *jpegWalk) short() error {
	return refuse(ClassTruncated, "jpeg", "the file ends early, after %d bytes", len(w.data))
}

// segment reads one marker segment; done is true after the last.
func (w *jpegWalk) segment() (done bool, err error) {
	fill := w.at
	for w.at < len(w.data) && w.data[w.at] != 0xff { // decoders skip stray bytes
		w.at++
	}
	for w.at+1 < len(w.data) && w.data[w.at+1] == 0xff {
		w.at++
	}
	if w.at-fill > maxFill {
		return false, refuse(ClassCorrupt, "jpeg", "%d fill bytes before a marker (limit %d)", w.at-fill, maxFill)
	}
	if w.at+1 >= len(w.data) {
		return false, w.short()
	}
	marker := w.data[w.at+1]
	w.at += 2
	switch {
	case marker == 0 || marker == 1 || marker >= markerRST0 && marker <= markerSOI:
		return false, nil // no body
	case marker == markerEOI:
		if !w.frame || w.i.Scans == 0 {
			return false, refuse(ClassCorrupt, "jpeg", "the file ends before it has a picture")
		}
		return true, nil
	}
	if w.at+2 > len(w.data) {
		return false, w.short()
	}
	size := int(binary.BigEndian.Uint16(w.data[w.at:]))
	if size < 2 {
		return false, refuse(ClassCorrupt, "jpeg", "a segment of length %d", size)
	}
	if w.at+size > len(w.data) {
		return false, w.short()
	}
	body := w.data[w.at+2 : w.at+size]
	w.at += size
	switch {
	case marker >= markerSOF0 && marker <= 0xcf && marker != markerDHT && marker != 0xc8 && marker != 0xcc:
		return false, w.header(marker, body)
	case marker == markerAPP1 && w.i.Orientation == 1 && bytes.HasPrefix(body, []byte("Exif\x00\x00")):
		w.i.Orientation = exifOrientation(body[6:])
	case marker == markerAPP2 && bytes.HasPrefix(body, []byte("ICC_PROFILE\x00")):
		w.i.ICC = true
	case marker == markerSOS:
		return false, w.scan()
	}
	return false, nil
}

func (w *jpegWalk) header(marker byte, body []byte) error {
	if w.frame {
		return refuse(ClassCorrupt, "jpeg", "two frame headers")
	}
	if len(body) < 6 {
		return refuse(ClassCorrupt, "jpeg", "a frame header of %d bytes", len(body))
	}
	w.frame = true
	w.i.Depth = int(body[0])
	w.i.StoredHeight, w.i.StoredWidth = int(binary.BigEndian.Uint16(body[1:])), int(binary.BigEndian.Uint16(body[3:]))
	w.i.progressive = marker == markerSOF2
	pixelBytes := samplesPerPixel(body[5:])
	if w.i.progressive {
		pixelBytes *= 1 + 4 // an int32 coefficient beside each sample
	}
	if err := w.i.check(w.lim, pixelBytes); err != nil {
		return err
	}
	blocks := int64((w.i.StoredWidth+7)/8) * int64((w.i.StoredHeight+7)/8)
	if least := blocks * minJPEGBitsPerBlock / 8; !w.i.progressive && int64(len(w.data)) < least {
		return refuse(ClassTruncated, "jpeg", "%d bytes cannot hold the %dx%d pixels that the header claims", len(w.data), w.i.StoredWidth, w.i.StoredHeight)
	}
	return nil
}

// samplesPerPixel is how many samples the decoder keeps for a pixel: three in
// 4:4:4, one and a half in 4:2:0. components is a frame header from its count on.
func samplesPerPixel(components []byte) float64 {
	n := int(components[0])
	if len(components) < 1+3*n {
		return float64(n)
	}
	sum, wide, high := 0, 1, 1
	for c := range n {
		factors := components[1+3*c+1]
		h, v := int(factors>>4), int(factors&15)
		sum, wide, high = sum+h*v, max(wide, h), max(high, v)
	}
	return max(1, float64(sum)/float64(wide*high))
}

// scan steps over entropy-coded data to the next marker.
func (w *jpegWalk) scan() error {
	w.i.Scans++
	pixels := int64(w.i.StoredWidth) * int64(w.i.StoredHeight)
	if w.i.Scans > w.lim.Scans || int64(w.i.Scans)*pixels > maxScanWork {
		return refuse(ClassScans, "jpeg", "%d scans of %dx%d pixels (limits: %d scans, %d pixels over all scans)", w.i.Scans, w.i.StoredWidth, w.i.StoredHeight, w.lim.Scans, maxScanWork)
	}
	for {
		n := bytes.IndexByte(w.data[w.at:], 0xff)
		if n < 0 || w.at+n+1 >= len(w.data) {
			return w.short()
		}
		w.at += n
		if m := w.data[w.at+1]; m != 0 && m != 0xff && (m < markerRST0 || m > markerRST7) {
			return nil
		}
		w.at++
	}
}
