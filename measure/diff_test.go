package measure

import (
	"context"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"reflect"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// text writes with its baseline at (x, y), both in parts of a pixel.
func (c canvas) text(x, y float64, s string, size float64, ink color.NRGBA) canvas {
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		panic(err)
	}
	d := font.Drawer{Dst: c, Src: image.NewUniform(ink), Face: face, Dot: fixed.Point26_6{X: fixed.Int26_6(64 * x), Y: fixed.Int26_6(64 * y)}}
	d.DrawString(s)
	return c
}

func diff(t testing.TB, before, after image.Image, o DiffOptions) *DiffReport {
	t.Helper()
	rep, err := Diff(context.Background(), before, after, o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestDiffByTheSumOfChannels(t *testing.T) {
	before := newCanvas(100, 50)
	after := newCanvas(100, 50).
		fill(image.Rect(10, 10, 20, 20), color.NRGBA{250, 250, 250, 255}). // sum 15
		fill(image.Rect(60, 10, 70, 20), color.NRGBA{250, 250, 249, 255}). // sum 16
		fill(image.Rect(60, 45, 64, 50), color.NRGBA{254, 255, 255, 255})  // sum 1
	for _, c := range []struct {
		threshold float64
		changed   int
	}{{0, 220}, {0.9, 220}, {1, 200}, {14, 200}, {15, 100}, {16, 0}, {765, 0}} {
		if rep := diff(t, before, after, DiffOptions{Threshold: c.threshold}); rep.Changed != c.changed || rep.Differing != c.changed || rep.Equal {
			t.Errorf("threshold %g: %d changed, want %d", c.threshold, rep.Changed, c.changed)
		}
	}
	rep := diff(t, before, after, DiffOptions{})
	want := []DiffRegion{{image.Rect(10, 10, 20, 20), 100, 1}, {image.Rect(60, 10, 70, 20), 100, 1}, {image.Rect(60, 45, 64, 50), 20, 1}}
	if !reflect.DeepEqual(rep.Regions, want) || rep.MaxDelta != 6 || rep.ChangedShare != 220.0/5000 || rep.SizeChanged {
		t.Errorf("%+v, want regions %+v", rep, want)
	}
}

func TestDiffOfDifferentSizes(t *testing.T) {
	a, b := newCanvas(100, 40), newCanvas(60, 50)
	for _, pair := range [][2]canvas{{a, b}, {b, a}} {
		for _, m := range []DiffMethod{DiffRGB, DiffPerceptual} {
			rep := diff(t, pair[0], pair[1], DiffOptions{Method: m})
			// 40x40 only in one, 60x10 only in the other; 40x10 in neither.
			if !rep.SizeChanged || rep.Canvas != image.Pt(100, 50) || rep.Changed != 1600+600 || rep.ChangedShare != 2200.0/5000 {
				t.Errorf("method %d: %d changed (%.3f) on %v", m, rep.Changed, rep.ChangedShare, rep.Canvas)
			}
		}
	}
}

func TestDiffIgnoresRegions(t *testing.T) {
	before, after := newCanvas(100, 100), newCanvas(100, 100).fill(image.Rect(0, 0, 50, 100), navy)
	for name, c := range map[string]struct {
		ignore           []image.Rectangle
		changed, ignored int
		share            float64
	}{
		"part":          {[]image.Rectangle{image.Rect(0, 0, 50, 50)}, 2500, 2500, 2500.0 / 7500},
		"twice":         {[]image.Rectangle{image.Rect(0, 0, 50, 50), image.Rect(0, 0, 50, 50)}, 2500, 2500, 2500.0 / 7500},
		"over the edge": {[]image.Rectangle{image.Rect(-10, 90, 500, 500)}, 4500, 1000, 0.5},
		"everything":    {[]image.Rectangle{image.Rect(0, 0, 100, 100)}, 0, 10000, 0},
	} {
		rep := diff(t, before, after, DiffOptions{Ignore: c.ignore})
		if rep.Changed != c.changed || rep.Ignored != c.ignored || rep.ChangedShare != c.share {
			t.Errorf("%s: %d changed, %d ignored, share %g", name, rep.Changed, rep.Ignored, rep.ChangedShare)
		}
	}
}

func TestDiffComparesWhatIsSeen(t *testing.T) {
	clear, half := image.NewNRGBA(image.Rect(0, 0, 8, 8)), image.NewNRGBA(image.Rect(0, 0, 8, 8))
	draw.Draw(clear, clear.Rect, image.NewUniform(color.NRGBA{200, 0, 0, 0}), image.Point{}, draw.Src)
	draw.Draw(half, half.Rect, image.NewUniform(color.NRGBA{0, 0, 0, 128}), image.Point{}, draw.Src)
	if rep := diff(t, clear, newCanvas(8, 8), DiffOptions{}); rep.Changed != 0 {
		t.Errorf("a transparent picture differs from white in %d pixels", rep.Changed)
	}
	if rep := diff(t, half, newCanvas(8, 8).fill(half.Rect, color.NRGBA{127, 127, 127, 255}), DiffOptions{}); rep.Changed != 0 {
		t.Errorf("half transparent black differs from its grey in %d pixels", rep.Changed)
	}
}

func page() canvas {
	c := newCanvas(420, 200).fill(image.Rect(20, 20, 400, 180), color.NRGBA{240, 242, 246, 255})
	for i, s := range []string{"Total of all open invoices 12.77", "Delete this item for ever?", "The quick brown fox jumps over it"} {
		c.text(40, float64(60+40*i), s, 13+2*float64(i), navy)
	}
	return c
}

func TestPerceptualTellsChangesFromDrawing(t *testing.T) {
	shifted := func(dx, dy float64) canvas {
		c := newCanvas(420, 200).fill(image.Rect(20, 20, 400, 180), color.NRGBA{240, 242, 246, 255})
		for i, s := range []string{"Total of all open invoices 12.77", "Delete this item for ever?", "The quick brown fox jumps over it"} {
			c.text(40+dx, float64(60+40*i)+dy, s, 13+2*float64(i), navy)
		}
		return c
	}
	back := color.NRGBA{240, 242, 246, 255}
	digit := newCanvas(420, 200)
	draw.Draw(digit, digit.Rect, page(), image.Point{}, draw.Src)
	digit.fill(image.Rect(40, 40, 400, 70), back).text(40, 60, "Total of all open invoices 17.77", 13, navy)
	for name, c := range map[string]struct {
		after   canvas
		changed bool
	}{
		"the same":                  {page(), false},
		"text a quarter pixel on":   {shifted(0.25, 0), false},
		"text a third of a pixel":   {shifted(0.35, 0.2), false},
		"everything a pixel lower":  {shifted(0, 1), false},
		"one digit":                 {digit, true},
		"text moved by five pixels": {shifted(5, 0), true},
		"a page one level lighter":  {page().fill(image.Rect(0, 0, 420, 18), color.NRGBA{254, 254, 254, 255}), true},
		"a dot that is gone":        {page().fill(image.Rect(300, 52, 306, 60), navy), true},
		"a hair line":               {page().fill(image.Rect(40, 170, 200, 171), slate), true},
		"a caret":                   {page().fill(image.Rect(260, 90, 262, 106), navy), false},
		"three upright bars":        {page().fill(image.Rect(260, 90, 262, 106), navy).fill(image.Rect(280, 90, 282, 106), navy).fill(image.Rect(300, 90, 302, 106), navy), true},
		"another hue as light":      {page().fill(image.Rect(40, 140, 100, 150), color.NRGBA{200, 60, 60, 255}), true},
	} {
		rep := diff(t, page(), c.after, DiffOptions{Method: DiffPerceptual})
		if (rep.Changed > 0) != c.changed || (len(rep.Regions) > 0) != c.changed {
			t.Errorf("%s: %d changed, %d anti-aliased, %d caret, regions %v", name, rep.Changed, rep.AntiAliased, rep.Caret, rep.Regions)
		}
	}
}

func TestAntiAliasedPixelsAreCountedApart(t *testing.T) {
	before, after := newCanvas(60, 60), newCanvas(60, 60)
	before.fill(image.Rect(10, 10, 40, 40), navy)
	after.fill(image.Rect(10, 10, 40, 40), navy)
	half := color.NRGBA{140, 149, 165, 255}
	after.fill(image.Rect(9, 10, 10, 40), half)  // a softer edge: 30 pixels
	after.fill(image.Rect(50, 50, 54, 54), navy) // a new square: 16
	count := diff(t, before, after, DiffOptions{Threshold: 15, CountAntiAliased: true})
	leave := diff(t, before, after, DiffOptions{Threshold: 15, LeaveOutAntiAliased: true})
	if count.Changed != 46 || count.AntiAliased != 30 || count.Differing != 46 {
		t.Errorf("counted: %d changed, %d anti-aliased", count.Changed, count.AntiAliased)
	}
	if leave.Changed != 16 || leave.AntiAliased != 30 || leave.Differing != 46 || len(leave.Regions) != 1 {
		t.Errorf("left out: %d changed, %d anti-aliased, %v", leave.Changed, leave.AntiAliased, leave.Regions)
	}
	keep := diff(t, before, after, DiffOptions{Method: DiffPerceptual, KeepAntiAliased: true})
	if keep.Changed != 46 || keep.AntiAliased != 30 {
		t.Errorf("perceptual, kept: %d changed, %d anti-aliased", keep.Changed, keep.AntiAliased)
	}
}

func TestDiffRefusesAndStops(t *testing.T) {
	m := newCanvas(200, 200)
	for _, threshold := range []float64{-1, 766} {
		if _, err := Diff(context.Background(), m, m, DiffOptions{Threshold: threshold}); err == nil {
			t.Errorf("threshold %g is accepted", threshold)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := Diff(ctx, m, m, DiffOptions{}); !errors.Is(err, stop) {
		t.Errorf("a cancelled diff returns %v", err)
	}
}

// FuzzDiff holds every pair of small pictures and every option to what the
// report promises of itself.
func FuzzDiff(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 5, 6, 7, 8, 9, 9, 9, 9}, uint8(3), uint8(2), 15.0, uint8(0))
	f.Add([]byte("0000000000000000000000000000"), uint8(1), uint8(9), 0.0, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, w, w2 uint8, threshold float64, flags uint8) {
		w, w2 = w%40+1, w2%40+1
		a := &image.NRGBA{Pix: data, Stride: 4 * int(w), Rect: image.Rect(0, 0, int(w), len(data)/4/int(w))}
		b := &image.NRGBA{Pix: data, Stride: 4 * int(w2), Rect: image.Rect(0, 0, int(w2), len(data)/4/int(w2))}
		o := DiffOptions{Method: DiffMethod(flags & 1), Threshold: threshold, CountAntiAliased: flags&2 != 0, LeaveOutAntiAliased: flags&4 != 0, KeepAntiAliased: flags&8 != 0}
		if flags&16 != 0 {
			o.Ignore = []image.Rectangle{image.Rect(1, 1, int(w2), 4), image.Rect(-9, -9, 2, 2)}
		}
		rep, err := Diff(context.Background(), a, b, o)
		if err != nil {
			return
		}
		inRegions := 0
		for _, r := range rep.Regions {
			if !r.Bounds.In(image.Rectangle{Max: rep.Canvas}) || r.Pixels < 1 {
				t.Fatalf("region %+v on %v", r, rep.Canvas)
			}
			inRegions += r.Pixels
		}
		if inRegions != rep.Changed || rep.Changed+rep.Ignored > len(rep.Classes) || rep.Changed > rep.Differing || rep.ChangedShare < 0 || rep.ChangedShare > 1 {
			t.Fatalf("%+v", rep)
		}
		back, err := Diff(context.Background(), b, a, o)
		if err != nil || back.Changed != rep.Changed || !reflect.DeepEqual(back.Regions, rep.Regions) {
			t.Fatalf("the other way round: %d changed, %d before (%v)", back.Changed, rep.Changed, err)
		}
		if same, err := Diff(context.Background(), a, a, o); err != nil || same.Differing != 0 || !same.Equal {
			t.Fatalf("a picture differs from itself: %v", err)
		}
	})
}
