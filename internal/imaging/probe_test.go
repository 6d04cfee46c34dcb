package imaging

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/webp"
)

// Files of testdata/images and what their headers say.
func TestProbeReadsHeaders(t *testing.T) {
	for file, want := range map[string]Info{
		"animated-3f.gif":                 {Format: "gif", MIME: "image/gif", Width: 200, Height: 120, Orientation: 1, Frames: 3, Depth: 8, Alpha: true},
		"animated-3f.webp":                {Format: "webp", MIME: "image/webp", Width: 200, Height: 120, Orientation: 1, Frames: 3, Depth: 8, Alpha: true},
		"base-640x360.png":                {Format: "png", MIME: "image/png", Width: 640, Height: 360, Orientation: 1, Frames: 1, Depth: 8, Alpha: true},
		"exif-orient3.jpg":                {Format: "jpeg", MIME: "image/jpeg", Width: 640, Height: 360, Orientation: 3, Frames: 1, Depth: 8, ICC: true, Scans: 1},
		"exif-orient6-360x640-stored.jpg": {Format: "jpeg", MIME: "image/jpeg", Width: 640, Height: 360, Orientation: 6, Frames: 1, Depth: 8, ICC: true, Scans: 1},
		"interlaced.png":                  {Format: "png", MIME: "image/png", Width: 640, Height: 360, Orientation: 1, Frames: 1, Depth: 8, Alpha: true},
		"jpeg-named.png":                  {Format: "jpeg", MIME: "image/jpeg", Width: 640, Height: 360, Orientation: 1, Frames: 1, Depth: 8, Scans: 1},
		"progressive.jpg":                 {Format: "jpeg", MIME: "image/jpeg", Width: 640, Height: 360, Orientation: 1, Frames: 1, Depth: 8, Scans: 10},
		"trailing-garbage.png":            {Format: "png", MIME: "image/png", Width: 640, Height: 360, Orientation: 1, Frames: 1, Depth: 8, Alpha: true},
	} {
		m, got, err := Decode(context.Background(), readTestdata(t, "images/"+file), Limits{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if got.Orientation < 5 && (got.StoredWidth != got.Width || got.StoredHeight != got.Height) ||
			got.Orientation >= 5 && (got.StoredWidth != got.Height || got.StoredHeight != got.Width) {
			t.Errorf("%s: stored %dx%d, upright %dx%d", file, got.StoredWidth, got.StoredHeight, got.Width, got.Height)
		}
		if !sameHeader(got, want) {
			t.Errorf("%s: %+v\nwant %+v", file, got, want)
		}
		if m.Width() != got.Width || m.Height() != got.Height {
			t.Errorf("%s: probed %dx%d, decoded %dx%d", file, got.Width, got.Height, m.Width(), m.Height())
		}
		if got.DecodeCost() < 4*int64(got.Width)*int64(got.Height) {
			t.Errorf("%s: a cost of %d bytes is less than the result", file, got.DecodeCost())
		}
	}
}

func sameHeader(a, b Info) bool {
	return a.Format == b.Format && a.MIME == b.MIME && a.Width == b.Width && a.Height == b.Height && a.Orientation == b.Orientation &&
		a.Frames == b.Frames && a.Depth == b.Depth && a.Alpha == b.Alpha && a.ICC == b.ICC && a.Scans == b.Scans
}

// A refusal names what came, and the limit or the way out.
func TestRefusalsSayWhatToDo(t *testing.T) {
	for file, want := range map[string]struct {
		class Class
		words string
	}{
		"header-only.heic":                   {ClassUnsupported, "HEIC/HEIF"},
		"html-as.png":                        {ClassNotImage, "HTML page"},
		"truncated.png":                      {ClassTruncated, "ends"},
		"bomb-30000x30000.bmp":               {ClassPixels, "limit 40000000 pixels"},
		"bomb-50000x50000-1bit.png":          {ClassPixels, "50000x50000"},
		"bomb-65535x65535.gif":               {ClassPixels, "65535x65535"},
		"bomb-header-65535x65535-rgba16.png": {ClassPixels, "65535x65535"},
		"pixel-flood-64250.jpg":              {ClassPixels, "64250x64250"},
	} {
		_, err := Probe(readTestdata(t, "images/"+file), Limits{})
		var e *Error
		if !errors.As(err, &e) || e.Class != want.class || !strings.Contains(err.Error(), want.words) {
			t.Errorf("%s: %v (want %s, %q)", file, err, want.class, want.words)
		}
	}
	for data, words := range map[string]string{
		"":                 "empty",
		"hello, I am text": "no image",
		"%PDF-1.7":         "PDF",
		"  <svg xmlns='http://www.w3.org/2000/svg'/>":      "SVG",
		"II*\x00\x08\x00\x00\x00":                          "TIFF",
		"\x00\x00\x00\x1cftypavif\x00\x00\x00\x00":         "AVIF",
		"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1avif": "AVIF",
		"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00mif1heic": "HEIC",
		"RIFF\x00\x00\x00\x00WEBP":                         "no picture",
		"<html><svg/></html>":                              "HTML page",
	} {
		if _, err := Probe([]byte(data), Limits{}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q in it", data, err, words)
		}
	}
}

func TestLimitsOfTheCaller(t *testing.T) {
	data := readTestdata(t, "images/base-640x360.png")
	for want, lim := range map[Class]Limits{
		ClassBytes:     {Bytes: 100},
		ClassDimension: {Side: 639},
		ClassPixels:    {Pixels: 640*360 - 1},
		ClassFrames:    {Chunks: 2},
	} {
		var e *Error
		if _, err := Probe(data, lim); !errors.As(err, &e) || e.Class != want {
			t.Errorf("%+v: %v, want %s", lim, err, want)
		}
	}
	var e *Error
	if _, err := Probe(data, Limits{DecodedBytes: 4*640*360 - 1}); !errors.As(err, &e) || e.Class != ClassPixels {
		t.Errorf("decoded bytes: %v", err)
	}
	if _, err := Probe(data, Limits{Side: 640, Pixels: 640 * 360, DecodedBytes: 4 * 640 * 360}); err != nil {
		t.Errorf("exactly at the limits: %v", err)
	}
}

// The rotated photos show what the upright screenshot shows.
func TestEXIFOrientationIsApplied(t *testing.T) {
	want := decoded(t, "images/jpeg-named.png")
	for _, file := range []string{"images/exif-orient3.jpg", "images/exif-orient6-360x640-stored.jpg"} {
		if d := distance(want, decoded(t, file)); d > 3 {
			t.Errorf("%s differs from the upright picture by %.1f levels on average", file, d)
		}
	}
}

// The same orientation in PNG's eXIf and WebP's EXIF.
func TestOrientationOfPNGAndWebP(t *testing.T) {
	exif := []byte("II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00")
	src := photo(8, 5)
	var buf bytes.Buffer
	if err := EncodePNG(&buf, src, Fast); err != nil {
		t.Fatal(err)
	}
	const afterIHDR = 33
	withEXIF := slices.Concat(buf.Bytes()[:afterIHDR], pngChunk("eXIf", exif), buf.Bytes()[afterIHDR:])
	m, info, err := Decode(context.Background(), withEXIF, Limits{})
	if err != nil || info.Orientation != 6 || !bytes.Equal(m.Pix, Rotate(src, 90).Pix) {
		t.Errorf("PNG: %v, orientation %d", err, info.Orientation)
	}

	file := readTestdata(t, "images/animated-3f.webp")
	plain, _, err := Decode(context.Background(), file, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	file = append(binary.LittleEndian.AppendUint32(append(bytes.Clone(file), "EXIF"...), uint32(len(exif))), exif...)
	binary.LittleEndian.PutUint32(file[4:], uint32(len(file)-8))
	m, info, err = Decode(context.Background(), file, Limits{})
	if err != nil || info.Orientation != 6 || info.Width != 120 || !bytes.Equal(m.Pix, Rotate(plain, 90).Pix) {
		t.Errorf("WebP: %v, orientation %d", err, info.Orientation)
	}
}

// The decoder of golang.org/x/image refuses animations; here the first frame comes.
func TestAnimationsGiveTheirFirstFrame(t *testing.T) {
	file := readTestdata(t, "images/animated-3f.webp")
	if _, err := webp.Decode(bytes.NewReader(file)); err == nil {
		t.Error("x/image/webp decodes animations by now: our own walk can go")
	}
	a, b := decoded(t, "images/animated-3f.webp"), decoded(t, "images/animated-3f.gif")
	if d := distance(a, b); d > 8 {
		t.Errorf("the first frames of the WebP and the GIF differ by %.1f levels on average", d)
	}
}

func TestCMYKAndSixteenBits(t *testing.T) {
	m, _, err := Decode(context.Background(), readTestdata(t, "hostile/jpeg_cmyk.jpeg"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	// Without the profile inks come out darker; inverted they would differ by 100.
	if d := distance(m, decoded(t, "hostile/ok.jpeg")); d > 30 {
		t.Errorf("the CMYK picture differs from its RGB twin by %.1f levels on average", d)
	}
	deep := image.NewNRGBA64(image.Rect(0, 0, 2, 1))
	deep.SetNRGBA64(0, 0, color.NRGBA64{0xffff, 0x8080, 0x0101, 0x8080})
	deep.SetNRGBA64(1, 0, color.NRGBA64{0x80ff, 0x0080, 0x0081, 0xffff})
	var buf bytes.Buffer
	if err := png.Encode(&buf, deep); err != nil {
		t.Fatal(err)
	}
	m, info, err := Decode(context.Background(), buf.Bytes(), Limits{})
	if want := []byte{255, 128, 1, 128, 128, 0, 1, 255}; err != nil || info.Depth != 16 || !bytes.Equal(m.Pix, want) {
		t.Errorf("16 bits: %v %d %v, want %v", err, info.Depth, m.Pix, want)
	}
}

// Every fast conversion agrees with the slow one through color.Color.
func TestFromImageMatchesColorModels(t *testing.T) {
	r := image.Rect(3, 2, 12, 9)
	ycc := image.NewYCbCr(r, image.YCbCrSubsampleRatio420)
	ycca := image.NewNYCbCrA(r, image.YCbCrSubsampleRatio420)
	cmyk, gray16 := image.NewCMYK(r), image.NewGray16(r)
	rgba64, nrgba64, rgba := image.NewRGBA64(r), image.NewNRGBA64(r), image.NewRGBA(r)
	for _, pix := range [][]byte{ycc.Y, ycc.Cb, ycc.Cr, ycca.Y, ycca.Cb, ycca.Cr, ycca.A, cmyk.Pix, gray16.Pix, nrgba64.Pix} {
		for i := range pix {
			pix[i] = byte(i*i*31 + 7*i)
		}
	}
	for i := range ycca.A {
		ycca.A[i] |= 0xc0 // color.Color keeps little of a faint colour
	}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			c := color.NRGBA{byte(x * 20), byte(y * 25), byte(x * y), byte(x*9 + 140)}
			rgba64.Set(x, y, c)
			rgba.Set(x, y, c)
		}
	}
	for _, src := range []image.Image{ycc, ycca, cmyk, gray16, rgba64, nrgba64, rgba, rgba.SubImage(image.Rect(4, 3, 8, 8))} {
		got, want := FromImage(src), New(src.Bounds().Dx(), src.Bounds().Dy())
		fromAny(want, src)
		for i := range want.Pix {
			if d := int(got.Pix[i]) - int(want.Pix[i]); d < -1 || d > 1 {
				t.Fatalf("%T: byte %d is %d, want %d", src, i, got.Pix[i], want.Pix[i])
			}
		}
	}
}

func TestDecodeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("the caller left")
	cancel(cause)
	for _, file := range []string{"images/base-640x360.png", "images/progressive.jpg", "images/animated-3f.gif", "images/animated-3f.webp"} {
		if _, _, err := Decode(ctx, readTestdata(t, file), Limits{}); !errors.Is(err, cause) {
			t.Errorf("%s: %v, want the cause", file, err)
		}
	}
}

// A bomb is refused from its header, long before its pixels would be.
func TestBombsAreRefusedAtOnce(t *testing.T) {
	data := readTestdata(t, "images/bomb-50000x50000-1bit.png")
	least := time.Hour // of several: the machine may be busy with other tests
	for range 20 {
		start := time.Now()
		if _, _, err := Decode(context.Background(), data, Limits{}); err == nil {
			t.Fatal("accepted")
		}
		least = min(least, time.Since(start))
	}
	if least > 5*time.Millisecond {
		t.Errorf("took %v", least)
	}
}

// A solid lossless WebP takes no bits a pixel, and is still a picture.
func TestFlatLosslessWebP(t *testing.T) {
	// VP8L: signature, 14 bits of width-1 and height-1, no alpha, version 0, no
	// transform, no cache, no meta codes, and five codes of one symbol each.
	var bits bitWriter
	bits.put(2000-1, 14)
	bits.put(2000-1, 14)
	bits.put(0, 1+3)
	bits.put(0, 1+1+1)
	for _, symbol := range []uint32{90, 90, 90, 255} { // green, red, blue, alpha
		bits.put(1, 1) // simple code
		bits.put(0, 1) // of one symbol
		bits.put(1, 1) // of 8 bits
		bits.put(symbol, 8)
	}
	bits.put(1, 1)
	bits.put(0, 1+1+1) // distances: symbol 0
	body := append([]byte{0x2f}, bits.out...)
	body = append(body, make([]byte, 8)...)
	file := wrapWebP("VP8L", body, nil, 2000, 2000)
	m, _, err := Decode(context.Background(), file, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if m.Width() != 2000 || m.NRGBAAt(1999, 1999) != (color.NRGBA{90, 90, 90, 255}) {
		t.Errorf("decoded %dx%d, last pixel %v", m.Width(), m.Height(), m.NRGBAAt(1999, 1999))
	}
}

type bitWriter struct {
	out []byte
	n   uint
}

func (w *bitWriter) put(v uint32, bits uint) {
	for i := range bits {
		if w.n%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.n/8] |= byte(v>>i&1) << (w.n % 8)
		w.n++
	}
}

func FuzzProbe(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := Probe(data, Limits{})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("%v has no class", err)
		}
		if err == nil && (info.Width < 1 || info.Height < 1 || info.DecodeCost() < 4) {
			t.Fatalf("accepted %+v", info)
		}
	})
}

func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, info, err := Decode(context.Background(), data, Limits{Pixels: 1 << 20})
		var e *Error
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%v has no class", err)
			}
			return
		}
		if m.Width() != info.Width || m.Height() != info.Height || m.Opaque != opaque(m.Pix) || m.Stride != 4*m.Width() || len(m.Pix) != m.Stride*m.Height() {
			t.Fatalf("probed %+v, decoded %dx%d", info, m.Width(), m.Height())
		}
		if m.Gray && !isGray(&Image{NRGBA: m.NRGBA}) {
			t.Fatal("a picture with colours says that it is gray")
		}
		if std, err := png.Decode(bytes.NewReader(data)); info.Format == "png" && info.Orientation == 1 && (err != nil || !bytes.Equal(FromImage(std).Pix, m.Pix)) {
			t.Fatalf("image/png sees another picture: %v", err)
		}
		var buf bytes.Buffer
		if err := EncodePNG(&buf, m, Fast); err != nil {
			t.Fatal(err)
		}
		back, err := png.Decode(&buf)
		if err != nil || !bytes.Equal(FromImage(back).Pix, m.Pix) {
			t.Fatalf("the round trip through PNG changed it: %v", err)
		}
	})
}

func seed(f *testing.F) {
	for _, name := range []string{
		"hostile/ok_small.png", "hostile/apng_3frames.png", "hostile/gray16.png", "hostile/ok.gif", "hostile/bmp_topdown.bmp", "hostile/bmp_16bit.bmp",
		"hostile/ok.jpeg", "hostile/jpeg_exif6.jpeg", "hostile/jpeg_cmyk.jpeg", "hostile/ok.tiff", "images/animated-3f.webp", "images/animated-3f.gif",
		"images/progressive.jpg", "images/palette.png", "images/header-only.heic", "images/html-as.png",
	} {
		f.Add(readTestdata(f, name))
	}
}

func decoded(t *testing.T, name string) *Image {
	t.Helper()
	m, _, err := Decode(context.Background(), readTestdata(t, name), Limits{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return m
}

// distance is the mean absolute difference of two images in levels.
func distance(a, b *Image) float64 {
	if a.Rect != b.Rect {
		return 255
	}
	sum := 0
	for i := range a.Pix {
		d := int(a.Pix[i]) - int(b.Pix[i])
		sum += max(d, -d)
	}
	return float64(sum) / float64(len(a.Pix))
}

func pngChunk(kind string, body []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(body)))
	out = append(append(out, kind...), body...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}
