package ocr_test

import (
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// written draws lines of text, 24 px high and 40 apart, from 20,20.
func written(t testing.TB, w, h int, ink, ground color.Color, lines ...string) *image.NRGBA {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(m, m.Rect, image.NewUniform(ground), image.Point{}, draw.Src)
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 24, DPI: 72})
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range lines {
		d := font.Drawer{Dst: m, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(20, 40+40*i)}
		d.DrawString(line)
	}
	return m
}

func read(t *testing.T, r *ocr.Recognizer, m image.Image, o ocr.Options) *ocr.Result {
	t.Helper()
	res, err := r.Recognize(t.Context(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// wordAt returns the box of a word.
func wordAt(t *testing.T, res *ocr.Result, text string) image.Rectangle {
	t.Helper()
	for _, w := range res.Words {
		if w.Text == text {
			return w.Box
		}
	}
	t.Fatalf("%q is not among the words of %q", text, res.Text)
	return image.Rectangle{}
}

func TestBoxesAreThoseOfThePicture(t *testing.T) {
	r := recognizer(t)
	m := written(t, 640, 240, color.Black, color.White, "Invoice number", "harbor 4711", "Total amount due")
	where := image.Rect(18, 58, 105, 90) // of "harbor"
	for name, c := range map[string]struct {
		picture image.Image
		region  image.Rectangle
		want    image.Rectangle
	}{
		"whole":          {m, image.Rectangle{}, where},
		"region":         {m, image.Rect(10, 50, 400, 160), where},
		"shifted bounds": {m.SubImage(image.Rect(0, 45, 640, 240)), image.Rectangle{}, where.Sub(image.Pt(0, 45))},
		"turned by 90":   {imaging.Rotate(imaging.FromImage(m), 90), image.Rectangle{}, image.Rect(240-where.Max.Y, where.Min.X, 240-where.Min.Y, where.Max.X)},
		"turned by 180":  {imaging.Rotate(imaging.FromImage(m), 180), image.Rectangle{}, image.Rect(640-where.Max.X, 240-where.Max.Y, 640-where.Min.X, 240-where.Min.Y)},
		"turned by 270":  {imaging.Rotate(imaging.FromImage(m), 270), image.Rectangle{}, image.Rect(where.Min.Y, 640-where.Max.X, where.Max.Y, 640-where.Min.X)},
	} {
		t.Run(name, func(t *testing.T) {
			res := read(t, r, c.picture, ocr.Options{Region: c.region})
			got := wordAt(t, res, "harbor")
			if !got.In(c.want) || got.Dx()*2 < c.want.Dx() && got.Dy()*2 < c.want.Dy() || c.want.Dx()-got.Dx() > 20 || c.want.Dy()-got.Dy() > 20 {
				t.Errorf("harbor is at %v, want within %v (%v)", got, c.want, res.Applied)
			}
		})
	}
}

func TestInkOfEveryColourOnEveryGround(t *testing.T) {
	r := recognizer(t)
	clear := color.NRGBA{}
	for name, c := range map[string]struct {
		ink, ground color.Color
		step        string
	}{
		"black on white":         {color.Black, color.White, ""},
		"white on black":         {color.White, color.Black, ""},
		"grey on dark":           {color.Gray{150}, color.Gray{40}, ""},
		"black on transparent":   {color.Black, clear, "white"},
		"white on transparent":   {color.White, clear, "black"},
		"red on blue, as bright": {color.NRGBA{230, 40, 40, 255}, color.NRGBA{40, 90, 255, 255}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			res := read(t, r, written(t, 500, 120, c.ink, c.ground, "Harbor master report"), ocr.Options{})
			if res.Text != "Harbor master report" || res.Confidence < 0.8 {
				t.Errorf("read %q with confidence %.2f (%v)", res.Text, res.Confidence, res.Applied)
			}
			if !strings.Contains(strings.Join(res.Applied, ", "), c.step) {
				t.Errorf("the ground %s is not disclosed: %v", c.step, res.Applied)
			}
		})
	}
}

func TestNothingToRead(t *testing.T) {
	r := recognizer(t)
	for name, size := range map[string]image.Point{"1x1": {1, 1}, "7 wide": {7, 500}, "a strip": {3000, 9}, "blank": {400, 300}, "long": {40_000, 20}} {
		res := read(t, r, written(t, size.X, size.Y, color.Black, color.White), ocr.Options{})
		if res.Text != "" || len(res.Words) != 0 || res.Confidence != 0 {
			t.Errorf("%s: read %q", name, res.Text)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	r := recognizer(t)
	m := written(t, 200, 60, color.Black, color.White, "x")
	for name, c := range map[string]struct {
		o    ocr.Options
		want error
		says string
	}{
		"mode":               {ocr.Options{Mode: "guess"}, ocr.ErrInvalid, "auto"},
		"region":             {ocr.Options{Region: image.Rect(0, 0, 201, 10)}, ocr.ErrInvalid, "200x60"},
		"confidence":         {ocr.Options{MinConfidence: 1.5}, ocr.ErrInvalid, "0 to 1"},
		"language":           {ocr.Options{Languages: []string{"eng", "xyz"}}, ocr.ErrLanguage, "installed:"},
		"language elsewhere": {ocr.Options{Languages: []string{"../../../etc/passwd"}}, ocr.ErrLanguage, "no language code"},
		"many languages":     {ocr.Options{Languages: strings.Split("aa,ab,ac,ad,ae,af,ag,ah,ai", ",")}, ocr.ErrLanguage, "limit 8"},
	} {
		if _, err := r.Recognize(t.Context(), m, c.o); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", name, err, c.want, c.says)
		}
	}
	if _, err := r.Recognize(t.Context(), image.NewUniform(color.White), ocr.Options{}); !errors.Is(err, ocr.ErrTooLarge) {
		t.Errorf("a picture without end: %v", err)
	}
}

func TestNoEngine(t *testing.T) {
	r := ocr.New(ocr.Config{Engine: ocr.First(program.New(program.Config{Path: "/nowhere/tesseract"}), program.New(program.Config{DataDir: t.TempDir()}))})
	defer r.Close()
	_, err := r.Recognize(t.Context(), written(t, 100, 40, color.Black, color.White), ocr.Options{})
	if !errors.Is(err, ocr.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install") || !strings.Contains(err.Error(), "/nowhere/tesseract") {
		t.Errorf("%v, want ErrUnavailable naming what was tried and what to install", err)
	}
	if _, err := ocr.New(ocr.Config{}).Recognize(t.Context(), written(t, 100, 40, color.Black, color.White), ocr.Options{}); !errors.Is(err, ocr.ErrUnavailable) {
		t.Errorf("no engine at all: %v", err)
	}
}

func TestOtherLanguages(t *testing.T) {
	r := recognizer(t)
	for language, text := range map[string]string{"deu": "Straßenübergänge für Fußgänger", "spa": "¿Dónde está la estación mañana?"} {
		res := read(t, r, written(t, 640, 100, color.Black, color.White, text), ocr.Options{Languages: []string{language}})
		if res.Text != text {
			t.Errorf("%s: read %q, want %q", language, res.Text, text)
		}
	}
}

func TestTablesKeepTheirRows(t *testing.T) {
	r := recognizer(t)
	m := written(t, 700, 240, color.Black, color.White)
	for row, cells := range [][]string{{"Name", "City", "Price"}, {"Anna", "Bergen", "12.50"}, {"Otto", "Lisbon", "7.25"}, {"Mara", "Dublin", "90.00"}} {
		for column, cell := range cells {
			part := written(t, 200, 60, color.Black, color.White, cell)
			draw.Draw(m, part.Rect.Add(image.Pt(column*230, row*45)), part, image.Point{}, draw.Src)
		}
	}
	want := "Name\tCity\tPrice\nAnna\tBergen\t12.50\nOtto\tLisbon\t7.25\nMara\tDublin\t90.00"
	for _, mode := range []ocr.Mode{ocr.Auto, ocr.Screenshot, ocr.Table} {
		if res := read(t, r, m, ocr.Options{Mode: mode}); res.Text != want {
			t.Errorf("%s: read\n%s\nwant\n%s", mode, res.Text, want)
		}
	}
}

func TestCancelAndTimeout(t *testing.T) {
	r := recognizer(t)
	m := load(t, "testdata/d016_ui_mixed.png")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(30*time.Millisecond, cancel)
	start := time.Now()
	if _, err := r.Recognize(ctx, m, ocr.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := r.Recognize(t.Context(), m, ocr.Options{Timeout: 30 * time.Millisecond}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "30ms") {
		t.Errorf("timed out: %v", err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("both took %s", took)
	}
}

func TestManyAtOnceReadTheSame(t *testing.T) {
	r := recognizer(t)
	m := load(t, "testdata/d004_ui_light.png")
	want := read(t, r, m, ocr.Options{Mode: ocr.Fast})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			res, err := r.Recognize(t.Context(), m, ocr.Options{Mode: ocr.Fast})
			if err != nil || !reflect.DeepEqual(res.Words, want.Words) || res.Text != want.Text {
				t.Errorf("another reading (%v)", err)
			}
		})
	}
	wait.Wait()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.Recognize(t.Context(), m, ocr.Options{}); !errors.Is(err, ocr.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Hostile pictures that decode are read or refused, and nothing ends.
func TestPicturesOfEveryKind(t *testing.T) {
	r := recognizer(t)
	files, err := filepath.Glob("../internal/imaging/testdata/images/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no pictures (%v)", err)
	}
	decoded := 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := imaging.Decode(t.Context(), data, imaging.Limits{})
		if err != nil {
			continue
		}
		decoded++
		if _, err := r.Recognize(t.Context(), m, ocr.Options{Mode: ocr.Fast}); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if decoded == 0 {
		t.Error("no picture was decoded")
	}
}
