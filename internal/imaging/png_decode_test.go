package imaging

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"testing"
)

// TestPNGDecodesAsImagePNGDoes holds the fast path to image/png: every filter
// type, colour type and width, bytes by random.
func TestPNGDecodesAsImagePNGDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, channels := range []int{colorGray, colorRGB, colorPalette, colorRGBA} {
		bpp := pngChannels[byte(channels)]
		for width := 1; width <= 20; width++ {
			const height = 12
			var raw bytes.Buffer
			for y := range height {
				raw.WriteByte(byte((y + width) % 5))
				for range width * bpp {
					raw.WriteByte(byte(random.IntN(256)))
				}
			}
			var palette []byte // with indices beyond it
			if channels == colorPalette {
				for i := range 3 * 200 {
					palette = append(palette, byte(i*7))
				}
			}
			file := rawPNG(width, height, byte(channels), palette, raw.Bytes())
			want, err := png.Decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodePNG(t.Context(), file)
			if err != nil {
				t.Fatalf("colour type %d, width %d: %v", channels, width, err)
			}
			if !bytes.Equal(got.Pix, adopt(want).Pix) || got.Opaque != adopt(want).Opaque {
				t.Fatalf("colour type %d, width %d: other pixels than image/png", channels, width)
			}
		}
	}
}

// TestPNGKinds checks that the kinds that the fast path leaves to image/png,
// and those it takes, come back the same through Decode.
func TestPNGKinds(t *testing.T) {
	rect := image.Rect(0, 0, 33, 21)
	gray, gray16, alpha16 := image.NewGray(rect), image.NewGray16(rect), image.NewNRGBA64(rect)
	clear := image.NewPaletted(rect, color.Palette{color.NRGBA{}, color.NRGBA{200, 10, 30, 128}, color.White})
	for i := range gray.Pix {
		gray.Pix[i], clear.Pix[i] = byte(i), byte(i%3)
	}
	for i := range gray16.Pix {
		gray16.Pix[i] = byte(i * 3)
	}
	for i := range alpha16.Pix {
		alpha16.Pix[i] = byte(i * 5)
	}
	for name, m := range map[string]image.Image{"gray": gray, "gray 16": gray16, "alpha 16": alpha16, "palette with alpha": clear, "rgb": photo(33, 21).NRGBA} {
		var file bytes.Buffer
		if err := png.Encode(&file, m); err != nil {
			t.Fatal(err)
		}
		got, _, err := Decode(t.Context(), file.Bytes(), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(got.Pix, FromImage(m).Pix) {
			t.Errorf("%s: other pixels", name)
		}
	}
}

func TestPNGRefusesDamage(t *testing.T) {
	good := rawPNG(4, 2, colorRGB, nil, bytes.Repeat([]byte{0}, 2*13))
	damaged := func(kind string, change func(body []byte) []byte) []byte { return replaceChunk(t, good, kind, change) }
	for name, c := range map[string]struct {
		file  []byte
		class Class
	}{
		"a wrong checksum of the pixels": {damaged("IDAT", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }), ClassCorrupt},
		"no zlib header":                 {damaged("IDAT", func(b []byte) []byte { b[0] = 0; return b }), ClassCorrupt},
		"too few rows":                   {rawPNG(4, 2, colorRGB, nil, bytes.Repeat([]byte{0}, 13)), ClassTruncated},
		"too many rows":                  {rawPNG(4, 2, colorRGB, nil, bytes.Repeat([]byte{0}, 3*13)), ClassCorrupt},
		"a filter that does not exist":   {rawPNG(4, 2, colorRGB, nil, bytes.Repeat([]byte{9}, 2*13)), ClassCorrupt},
		"no palette":                     {rawPNG(4, 2, colorPalette, nil, bytes.Repeat([]byte{0}, 2*5)), ClassCorrupt},
		"a deflate stream cut short":     {damaged("IDAT", func(b []byte) []byte { return b[:len(b)-6] }), ClassTruncated},
		"the checksum missing":           {damaged("IDAT", func(b []byte) []byte { return b[:len(b)-4] }), ClassTruncated},
	} {
		_, _, err := Decode(t.Context(), c.file, Limits{})
		var e *Error
		if !errors.As(err, &e) || e.Class != c.class {
			t.Errorf("%s: %v, want class %v", name, err, c.class)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrClosedPipe)
	if _, _, err := Decode(ctx, good, Limits{}); err != io.ErrClosedPipe {
		t.Errorf("a context that has ended: %v, want its cause", err)
	}
}

// rawPNG makes a file of filtered rows. palette is nil for none.
func rawPNG(w, h int, colorType byte, palette, rows []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = append(binary.BigEndian.AppendUint32(head, uint32(h)), bitsPerChannel, colorType, 0, 0, 0)
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(rows)
	z.Close()
	file := append([]byte(pngMagic), pngChunk("IHDR", head)...)
	if palette != nil {
		file = append(file, pngChunk("PLTE", palette)...)
	}
	return append(append(file, pngChunk("IDAT", packed.Bytes())...), pngChunk("IEND", nil)...)
}

// replaceChunk changes the body of one chunk, and its checksum with it.
func replaceChunk(t *testing.T, file []byte, kind string, change func([]byte) []byte) []byte {
	t.Helper()
	at := bytes.Index(file, []byte(kind))
	if at < 0 {
		t.Fatalf("no chunk %s", kind)
	}
	n := int(binary.BigEndian.Uint32(file[at-4:]))
	body := change(bytes.Clone(file[at+4 : at+4+n]))
	return append(append(bytes.Clone(file[:at-4]), pngChunk(kind, body)...), file[at+8+n:]...)
}
