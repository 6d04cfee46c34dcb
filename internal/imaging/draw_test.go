package imaging

import (
	"image"
	"image/color"
	"math"
	"testing"

	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
)

var (
	paper   = color.NRGBA{255, 255, 255, 255}
	crimson = color.NRGBA{200, 20, 40, 255}
)

func sheet(w, h int) *Image {
	m := New(w, h)
	FillRect(m, m.Rect, paper)
	m.Opaque = true
	return m
}

// inked counts pixels that are not paper, and those fully of a colour.
func inked(m *Image, c color.NRGBA) (touched, full int) {
	for i := 0; i < len(m.Pix); i += 4 {
		p := color.NRGBA{m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3]}
		if p != paper {
			touched++
		}
		if p == c {
			full++
		}
	}
	return touched, full
}

func TestRectangles(t *testing.T) {
	for name, c := range map[string]struct {
		draw func(*Image)
		want int
	}{
		"filled":              {func(m *Image) { FillRect(m, image.Rect(10, 10, 30, 20), crimson) }, 200},
		"outlined":            {func(m *Image) { StrokeRect(m, image.Rect(10, 10, 30, 20), 2, crimson) }, 200 - 16*6},
		"borders that meet":   {func(m *Image) { StrokeRect(m, image.Rect(10, 10, 30, 20), 6, crimson) }, 200},
		"half outside":        {func(m *Image) { FillRect(m, image.Rect(-10, -10, 5, 5), crimson) }, 25},
		"border half outside": {func(m *Image) { StrokeRect(m, image.Rect(-5, -5, 5, 5), 1, crimson) }, 9},
		"no width":            {func(m *Image) { StrokeRect(m, image.Rect(10, 10, 30, 20), 0, crimson) }, 0},
	} {
		m := sheet(50, 40)
		c.draw(m)
		if touched, full := inked(m, crimson); touched != c.want || full != c.want {
			t.Errorf("%s: %d pixels, %d full, want %d", name, touched, full, c.want)
		}
	}
}

func TestLinesAreAntiAliased(t *testing.T) {
	m := sheet(100, 100)
	Line(m, Point{10, 10}, Point{90, 70}, 3, crimson)
	ink := 0.0
	for i := 0; i < len(m.Pix); i += 4 {
		ink += float64(255-m.Pix[i+1]) / float64(255-crimson.G)
	}
	if want := 100.0 * 3; math.Abs(ink-want) > want/100 {
		t.Errorf("a line of 100 by 3 covers %.1f pixels", ink)
	}
	if touched, full := inked(m, crimson); touched == full || full == 0 {
		t.Errorf("%d pixels touched, %d full", touched, full)
	}
	before := *Clone(m)
	Line(m, Point{math.NaN(), 0}, Point{5, 5}, 2, crimson)
	Line(m, Point{1e9, 0}, Point{5, 5}, 2, crimson)
	Line(m, Point{5, 5}, Point{5, 5}, 2, crimson)
	if string(before.Pix) != string(m.Pix) {
		t.Error("a line that is none left marks")
	}
}

func TestPolygonsWithHoles(t *testing.T) {
	m := sheet(40, 40)
	FillPolygon(m, crimson, []Point{{5, 5}, {35, 5}, {35, 35}, {5, 35}}, []Point{{10, 10}, {10, 30}, {30, 30}, {30, 10}})
	if _, full := inked(m, crimson); full != 900-400 {
		t.Errorf("%d pixels, want 500", full)
	}
}

func TestColoursAreLaidOver(t *testing.T) {
	m := sheet(4, 4)
	FillRect(m, m.Rect, color.NRGBA{0, 0, 0, 128})
	if got := m.NRGBAAt(0, 0); got != (color.NRGBA{127, 127, 127, 255}) {
		t.Errorf("half black on white is %v", got)
	}
	clear := New(4, 4)
	FillRect(clear, clear.Rect, color.NRGBA{200, 20, 40, 100})
	if got := clear.NRGBAAt(0, 0); got != (color.NRGBA{200, 20, 40, 100}) {
		t.Errorf("a colour on nothing is %v", got)
	}
	FillRect(clear, clear.Rect, color.NRGBA{0, 0, 0, 255})
	if got := clear.NRGBAAt(0, 0); got != (color.NRGBA{0, 0, 0, 255}) {
		t.Errorf("black on it is %v", got)
	}
}

func TestTextIsDrawnAndMissingLettersAreTold(t *testing.T) {
	l, err := NewLettering(20)
	if err != nil {
		t.Fatal(err)
	}
	m := sheet(200, 40)
	if missing := l.Draw(m, image.Pt(5, 5), "4.5:1 漢é漢", crimson); string(missing) != "漢" {
		t.Errorf("missing %q", string(missing))
	}
	size := l.Size("4.5:1 漢é漢")
	touched, full := inked(m, crimson)
	if touched < 300 || full < 100 || size.X < 80 || size.X > 160 || size.Y < 20 || size.Y > 30 {
		t.Errorf("%d pixels touched, %d full, size %v", touched, full, size)
	}
	for y := range m.Height() {
		for x := range m.Width() {
			if m.NRGBAAt(x, y) != paper && !image.Pt(x, y).In(image.Rectangle{image.Pt(5, 5), image.Pt(5, 5).Add(size)}) {
				t.Fatalf("ink at %d,%d outside of %v", x, y, size)
			}
		}
	}
	regular, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewLettering(12, regular); err != nil {
		t.Error(err)
	}
}

func TestLabelsStayInside(t *testing.T) {
	l, err := NewLettering(14)
	if err != nil {
		t.Fatal(err)
	}
	m := sheet(120, 60)
	for _, at := range []image.Point{{0, 0}, {119, 59}, {-50, 30}, {60, 500}} {
		r := l.Label(m, at, "2.31:1", crimson)
		if !r.In(m.Rect) || r.Dx() < 30 || r.Dy() < 14 {
			t.Errorf("a label at %v lies at %v", at, r)
		}
	}
	if inkOn(color.NRGBA{255, 220, 0, 255}).R != 0 || inkOn(crimson).R != 255 {
		t.Error("ink does not stand out on its plate")
	}
}
