package imaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// Decode probes the data and decodes the picture: upright, the first frame of
// an animation on its canvas. ctx stops the decoder where it reads.
//
// # Errors
//
// [*Error] for everything that is wrong with the data, also when a decoder
// panics on it; the cause of ctx when that ended.
func Decode(ctx context.Context, data []byte, lim Limits) (m *Image, info Info, err error) {
	info, err = Probe(data, lim)
	if err != nil {
		return nil, info, err
	}
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, &Error{Class: ClassCorrupt, Format: info.Format, Message: fmt.Sprintf("the decoder failed inside: %v", p)}
		}
	}()
	src, err := decode(&contextReader{ctx, bytes.NewReader(data)}, info)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, info, cause
		}
		return nil, info, decodeError(info.Format, err)
	}
	m = FromImage(src)
	if info.Format == "webp" || info.Format == "gif" {
		m = onCanvas(m, info, src.Bounds().Min)
	}
	if m.Width() != info.StoredWidth || m.Height() != info.StoredHeight {
		return nil, info, refuse(ClassCorrupt, info.Format, "the header says %dx%d and the picture is %dx%d", info.StoredWidth, info.StoredHeight, m.Width(), m.Height())
	}
	return orient(m, info.Orientation), info, nil
}

func decode(r io.Reader, info Info) (image.Image, error) {
	switch info.Format {
	case "png":
		return png.Decode(r)
	case "jpeg":
		return jpeg.Decode(r)
	case "gif":
		return gif.Decode(r)
	case "webp":
		return webp.Decode(bytes.NewReader(info.frame))
	default:
		return bmp.Decode(r)
	}
}

// contextReader ends a decoder's reading when ctx ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// onCanvas puts a first frame that is smaller than its canvas where it belongs.
func onCanvas(m *Image, info Info, at image.Point) *Image {
	if m.Width() == info.StoredWidth && m.Height() == info.StoredHeight {
		return m
	}
	if info.Format == "webp" {
		at = image.Pt(info.frameX, info.frameY)
	}
	canvas := New(info.StoredWidth, info.StoredHeight)
	draw.Draw(canvas.NRGBA, m.Rect.Add(at), m.NRGBA, image.Point{}, draw.Src)
	return canvas
}

func decodeError(format string, err error) error {
	class := ClassCorrupt
	var unsupported jpeg.UnsupportedError
	var pngUnsupported png.UnsupportedError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), strings.Contains(err.Error(), "not enough pixel data"):
		class = ClassTruncated
	case errors.As(err, &unsupported), errors.As(err, &pngUnsupported), errors.Is(err, bmp.ErrUnsupported):
		class = ClassUnsupported
	}
	return &Error{Class: class, Format: format, Message: "the picture cannot be decoded: " + err.Error(), Err: err}
}
