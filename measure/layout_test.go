package measure

import (
	"image"
	"image/color"
	"testing"
)

func TestLayout(t *testing.T) {
	m := newCanvas(200, 100).fill(image.Rect(20, 30, 60, 50), navy).fill(image.Rect(150, 80, 151, 81), slate)
	moved := m.SubImage(image.Rect(10, 10, 110, 90)) // its own coordinates begin at (10,10)
	for name, c := range map[string]struct {
		m          image.Image
		o          LayoutOptions
		content    image.Rectangle
		pixels     int
		total      int
		background color.NRGBA
	}{
		"all":                {m, LayoutOptions{Tolerance: DefaultTolerance}, image.Rect(20, 30, 151, 81), 801, 20000, white},
		"a region":           {m, LayoutOptions{Region: image.Rect(100, 50, 200, 100), Tolerance: DefaultTolerance}, image.Rect(150, 80, 151, 81), 1, 5000, white},
		"over the edge":      {m, LayoutOptions{Region: image.Rect(190, 90, 400, 400)}, image.Rectangle{}, 0, 100, white},
		"another background": {m, LayoutOptions{Region: image.Rect(20, 30, 60, 51), Background: &navy}, image.Rect(20, 50, 60, 51), 40, 840, navy},
		"a wide tolerance":   {m, LayoutOptions{Tolerance: 441}, image.Rectangle{}, 0, 20000, white},
		"own coordinates":    {moved, LayoutOptions{}, image.Rect(20, 30, 60, 50), 800, 8000, white},
	} {
		got := Layout(c.m, c.o)
		if got.Content != c.content || got.NonBackground != c.pixels || got.Total != c.total || got.Background != c.background {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := Layout(m, LayoutOptions{}); got.Width != 200 || got.Height != 100 || got.AspectRatio != 2 {
		t.Errorf("%+v", got)
	}
}
