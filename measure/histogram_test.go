package measure

import (
	"image"
	"image/color"
	"maps"
	"reflect"
	"testing"
)

// plainCounts is the histogram in its simplest form.
func plainCounts(m image.Image) map[color.NRGBA]int {
	counts := map[color.NRGBA]int{}
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			counts[Over(color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA), white)]++
		}
	}
	return counts
}

func TestHistogramIsExact(t *testing.T) {
	see := newCanvas(50, 40)
	for i := range see.Pix {
		see.Pix[i] = uint8(i * 7)
	}
	for name, m := range map[string]image.Image{
		"few colours":       screenshot(640, 480),
		"many colours":      photo(600, 400),
		"part of a picture": screenshot(640, 480).SubImage(image.Rect(33, 41, 540, 402)),
		"transparent":       see,
		"gray":              &image.Gray{Pix: []byte{1, 2, 2, 3, 255, 255}, Stride: 3, Rect: image.Rect(0, 0, 3, 2)},
		"empty":             image.NewNRGBA(image.Rect(5, 5, 5, 9)),
	} {
		h := Histogram(m)
		want := plainCounts(m)
		if got := maps.Collect(h.All()); !reflect.DeepEqual(got, want) || h.Len() != len(want) || h.Total() != m.Bounds().Dx()*m.Bounds().Dy() {
			t.Errorf("%s: %d colours of %d pixels, want %d", name, h.Len(), h.Total(), len(want))
		}
		for c, n := range want {
			if h.Count(c) != n {
				t.Errorf("%s: %v is counted %d times, want %d", name, c, h.Count(c), n)
			}
			break
		}
	}
}

func TestMostFrequentColours(t *testing.T) {
	m := newCanvas(10, 10).fill(image.Rect(0, 0, 10, 3), navy).fill(image.Rect(0, 3, 5, 4), slate).fill(image.Rect(5, 3, 10, 4), color.NRGBA{1, 2, 3, 255})
	want := []ColorCount{{white, 60}, {navy, 30}, {color.NRGBA{1, 2, 3, 255}, 5}, {slate, 5}}
	for n := range 6 {
		if got := Histogram(m).Top(n); !reflect.DeepEqual(got, want[:min(n, 4)]) && n > 0 || len(got) != min(n, 4) {
			t.Errorf("top %d: %v", n, got)
		}
	}
	got := Colors(m, image.Rect(0, 3, 10, 5), 1)
	if len(got) != 1 || got[0] != (ColorShare{white, 10, 0.5}) {
		t.Errorf("colours of a region: %v", got)
	}
	if c := Histogram(m).Count(color.NRGBA{9, 9, 9, 255}); c != 0 {
		t.Errorf("a colour that is not there is counted %d times", c)
	}
}
