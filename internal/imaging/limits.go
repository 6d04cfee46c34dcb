package imaging

import "fmt"

// Limits bound what is decoded. A zero field stands for its default.
type Limits struct {
	Bytes        int64 // encoded size; default 64 MiB
	Side         int   // pixels of the longer side; default 32,767
	Pixels       int64 // width times height; default 40,000,000
	DecodedBytes int64 // memory of the decoder's own pixel type; default 256 MB
	Scans        int   // scans of a progressive JPEG; default 100
	Chunks       int   // chunks of a PNG; default 1,000,000
}

// Defaults of [Limits]. 40 megapixels is five 4K screens. 256 MB is 32 megapixels
// at eight bytes (16 bits a channel) and 34 of a progressive JPEG in 4:2:0; with
// the result beside it a decode stays under 512 MiB.
const (
	DefaultBytes        = 64 << 20
	DefaultSide         = 32767
	DefaultPixels       = 40_000_000
	DefaultDecodedBytes = 256_000_000
	DefaultScans        = 100
	DefaultChunks       = 1_000_000
)

func (l Limits) filled() Limits {
	set := func(v *int64, def int64) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.Bytes, DefaultBytes)
	set(&l.Pixels, DefaultPixels)
	set(&l.DecodedBytes, DefaultDecodedBytes)
	if l.Side == 0 {
		l.Side = DefaultSide
	}
	if l.Scans == 0 {
		l.Scans = DefaultScans
	}
	if l.Chunks == 0 {
		l.Chunks = DefaultChunks
	}
	return l
}

// Class is the kind of an [Error].
type Class string

// The classes of errors.
const (
	ClassBytes       Class = "bytes"       // encoded size over the limit
	ClassDimension   Class = "dimension"   // a side is zero, negative or over the limit
	ClassPixels      Class = "pixels"      // too many pixels, or too much memory for them
	ClassFrames      Class = "frames"      // too many chunks or blocks
	ClassScans       Class = "scans"       // too much progressive refinement
	ClassTruncated   Class = "truncated"   // the file ends early
	ClassCorrupt     Class = "corrupt"     // the file contradicts its format
	ClassUnsupported Class = "unsupported" // an image format that is not decoded here
	ClassNotImage    Class = "not_image"   // no image at all
)

// Error says why an image was refused.
type Error struct {
	Class   Class
	Format  string // "png", "jpeg", ...; "" when unknown
	Message string
	Err     error // the decoder's own error, if any
}

func (e *Error) Error() string {
	if e.Format == "" {
		return e.Message
	}
	return e.Format + ": " + e.Message
}

// Unwrap returns the decoder's error.
func (e *Error) Unwrap() error { return e.Err }

func refuse(c Class, format, message string, args ...any) *Error {
	return &Error{Class: c, Format: format, Message: fmt.Sprintf(message, args...)}
}

// Info is what the headers of an image say.
type Info struct {
	Format       string // "png", "jpeg", "gif", "webp", "bmp"
	MIME         string
	Width        int // upright, in pixels
	Height       int
	StoredWidth  int // as stored, before Orientation
	StoredHeight int
	Orientation  int  // EXIF 1 to 8; 1 when the file says nothing
	Frames       int  // of an animation; 1 for a still
	Depth        int  // bits a channel
	Alpha        bool // the format carries transparency
	ICC          bool // a colour profile is present; it is not applied
	Scans        int  // JPEG: scans in the file

	progressive bool
	channels    int    // PNG: samples a pixel
	decodeBytes int64  // bytes the decoder allocates, without the result
	frame       []byte // WebP: the first frame as a file of its own
	frameX      int    // WebP animation: where it lies on the canvas
	frameY      int
}

// Extension is the usual one of the format's files, without a dot.
func (i Info) Extension() string {
	if i.Format == "jpeg" {
		return "jpg"
	}
	return i.Format
}

// DecodeCost is about how many bytes decoding takes at its peak: the decoder's
// own pixels, the result, and the result turned upright where it lies on its side.
func (i Info) DecodeCost() int64 {
	result := 4 * int64(i.StoredWidth) * int64(i.StoredHeight)
	if i.Orientation > 1 {
		result *= 2
	}
	return i.decodeBytes + result
}

// check applies the limits that every format shares. pixelBytes is what a pixel
// takes in the decoder.
func (i *Info) check(l Limits, pixelBytes float64) error {
	w, h := int64(i.StoredWidth), int64(i.StoredHeight)
	if w <= 0 || h <= 0 {
		return refuse(ClassDimension, i.Format, "the image is %dx%d: a side must be at least 1 pixel", w, h)
	}
	if w > int64(l.Side) || h > int64(l.Side) {
		if w*h > l.Pixels && w < 1<<20 && h < 1<<20 {
			return refuse(ClassPixels, i.Format, "the image is %dx%d, %d pixels (limits: %d pixels, %d a side); scale it down first", w, h, w*h, l.Pixels, l.Side)
		}
		return refuse(ClassDimension, i.Format, "the image is %dx%d: a side may have at most %d pixels", w, h, l.Side)
	}
	if w*h > l.Pixels {
		return refuse(ClassPixels, i.Format, "the image is %dx%d, %d pixels (limit %d pixels); scale it down or cut it first", w, h, w*h, l.Pixels)
	}
	i.decodeBytes = int64(float64(w*h) * pixelBytes)
	if i.decodeBytes > l.DecodedBytes {
		return refuse(ClassPixels, i.Format, "the image is %dx%d and would take %d bytes to decode (limit %d bytes); scale it down or save it with 8 bits a channel", w, h, i.decodeBytes, l.DecodedBytes)
	}
	return nil
}

func (i *Info) upright() {
	i.Width, i.Height = i.StoredWidth, i.StoredHeight
	if i.Orientation < 1 || i.Orientation > 8 {
		i.Orientation = 1
	}
	if i.Orientation >= 5 {
		i.Width, i.Height = i.Height, i.Width
	}
	i.Frames = max(1, i.Frames)
}
