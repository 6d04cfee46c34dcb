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
	if info.Format == "webp" {
		data = info.frame
	}
	if info.Format == "png" {
		if m, err = decodePNG(ctx, data); err != errNotPlain {
			if err != nil {
				return nil, info, decodeFailed(ctx, info.Format, err)
			}
			return orient(m, info.Orientation), info, nil
		}
	}
	src, err := decode(&contextReader{ctx, bytes.NewReader(data)}, info.Format)
	if err != nil {
		return nil, info, decodeFailed(ctx, info.Format, err)
	}
	m = adopt(src)
	if info.Format == "webp" || info.Format == "gif" {
		m = onCanvas(m, info, src.Bounds().Min)
	}
	if m.Width() != info.StoredWidth || m.Height() != info.StoredHeight {
		return nil, info, refuse(ClassCorrupt, info.Format, "the header says %dx%d and the picture is %dx%d", info.StoredWidth, info.StoredHeight, m.Width(), m.Height())
	}
	return orient(m, info.Orientation), info, nil
}

func decode(r io.Reader, format string) (image.Image, error) {
	switch format {
	case "png":
		return png.Decode(r)
	case "jpeg":
		return jpeg.Decode(r)
	case "gif":
		return gif.Decode(r)
	case "webp":
		return webp.Decode(r)
	default:
		return bmp.Decode(r)
	}
}

// adopt makes an Image of what a decoder returned, without a copy where the
// pixels already have the right layout.
func adopt(src image.Image) *Image {
	switch s := src.(type) {
	case *image.NRGBA:
		if s.Rect.Min == (image.Point{}) && s.Stride == 4*s.Rect.Dx() {
			return &Image{NRGBA: s, Opaque: opaque(s.Pix)}
		}
	case *image.RGBA: // opaque: premultiplied and straight are the same
		if s.Rect.Min == (image.Point{}) && s.Stride == 4*s.Rect.Dx() && opaque(s.Pix) {
			return &Image{NRGBA: &image.NRGBA{Pix: s.Pix, Stride: s.Stride, Rect: s.Rect}, Opaque: true}
		}
	}
	return FromImage(src)
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

// decodeFailed prefers the end of ctx to what a decoder made of it.
func decodeFailed(ctx context.Context, format string, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return decodeError(format, err)
}

func decodeError(format string, err error) error {
	class := ClassCorrupt
	var unsupported jpeg.UnsupportedError
	var pngUnsupported png.UnsupportedError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), strings.Contains(err.Error(), "not enough"):
		class = ClassTruncated
	case errors.As(err, &unsupported), errors.As(err, &pngUnsupported), errors.Is(err, bmp.ErrUnsupported):
		class = ClassUnsupported
	}
	return &Error{Class: class, Format: format, Message: "the picture cannot be decoded: " + err.Error(), Err: err}
}
