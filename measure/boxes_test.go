package measure

import (
	"image"
	"image/color"
	"image/draw"
	"reflect"
	"testing"
)

// canvas is a picture under construction, on white.
type canvas struct{ *image.NRGBA }

func newCanvas(w, h int) canvas {
	c := canvas{image.NewNRGBA(image.Rect(0, 0, w, h))}
	return c.fill(c.Rect, white)
}

func (c canvas) fill(r image.Rectangle, with color.NRGBA) canvas {
	draw.Draw(c, r, image.NewUniform(with), image.Point{}, draw.Src)
	return c
}

// frame draws the border of r, inwards.
func (c canvas) frame(r image.Rectangle, width int, with color.NRGBA) canvas {
	inner := r.Inset(width)
	c.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, inner.Min.Y), with)
	c.fill(image.Rect(r.Min.X, inner.Max.Y, r.Max.X, r.Max.Y), with)
	c.fill(image.Rect(r.Min.X, inner.Min.Y, inner.Min.X, inner.Max.Y), with)
	return c.fill(image.Rect(inner.Max.X, inner.Min.Y, r.Max.X, inner.Max.Y), with)
}

// disc draws a filled circle.
func (c canvas) disc(at image.Point, radius int, with color.NRGBA) canvas {
	for y := -radius; y <= radius; y++ {
		for x := -radius; x <= radius; x++ {
			if x*x+y*y <= radius*radius {
				c.SetNRGBA(at.X+x, at.Y+y, with)
			}
		}
	}
	return c
}

var (
	navy  = color.NRGBA{0x1a, 0x2b, 0x4c, 255}
	slate = color.NRGBA{0x90, 0x98, 0xa0, 255}
)

func bounds(list []FoundBox) []image.Rectangle {
	out := []image.Rectangle{}
	for _, b := range list {
		out = append(out, b.Bounds)
	}
	return out
}

func TestBoxesAreCountedOneByOne(t *testing.T) {
	r := image.Rect
	for name, c := range map[string]struct {
		picture  canvas
		region   image.Rectangle
		outlined []image.Rectangle
		filled   []image.Rectangle
		small    int
		other    int
	}{
		"three apart, from the top": {
			picture:  newCanvas(400, 300).frame(r(200, 40, 300, 100), 2, navy).frame(r(20, 40, 120, 100), 1, navy).frame(r(20, 150, 120, 260), 4, navy),
			outlined: []image.Rectangle{r(20, 40, 120, 100), r(200, 40, 300, 100), r(20, 150, 120, 260)},
		},
		"other colours do not count": {
			picture:  newCanvas(300, 200).frame(r(20, 20, 120, 100), 2, slate).frame(r(140, 20, 240, 100), 2, navy),
			outlined: []image.Rectangle{r(140, 20, 240, 100)},
		},
		"boxes that share a border are two": {
			picture:  newCanvas(300, 200).frame(r(20, 20, 120, 100), 2, navy).frame(r(118, 20, 218, 100), 2, navy),
			outlined: []image.Rectangle{r(20, 20, 120, 100), r(118, 20, 218, 100)},
		},
		"a box in a box": {
			picture:  newCanvas(300, 200).frame(r(20, 20, 220, 160), 2, navy).frame(r(60, 50, 160, 120), 2, navy),
			outlined: []image.Rectangle{r(20, 20, 220, 160), r(60, 50, 160, 120)},
		},
		"text of the same colour inside does not matter": {
			picture:  newCanvas(300, 200).frame(r(20, 20, 220, 160), 2, navy).fill(r(60, 60, 180, 120), navy),
			outlined: []image.Rectangle{r(20, 20, 220, 160)},
			filled:   []image.Rectangle{r(60, 60, 180, 120)},
		},
		"solid shapes are no outlines, a disc is no box": {
			picture: newCanvas(300, 200).fill(r(20, 20, 120, 100), navy).disc(image.Pt(200, 100), 40, navy),
			filled:  []image.Rectangle{r(20, 20, 120, 100)},
			other:   1,
		},
		"a ring is no box": {
			picture: newCanvas(300, 200).disc(image.Pt(150, 100), 50, navy).disc(image.Pt(150, 100), 46, white),
			other:   1,
		},
		"small ones are counted apart": {
			picture:  newCanvas(300, 200).frame(r(20, 20, 36, 36), 1, navy).frame(r(60, 20, 160, 100), 1, navy).fill(r(200, 20, 204, 24), navy),
			outlined: []image.Rectangle{r(60, 20, 160, 100)},
			small:    2,
		},
		"only in the region": {
			picture:  newCanvas(400, 200).frame(r(20, 20, 120, 100), 1, navy).frame(r(220, 20, 320, 100), 1, navy),
			region:   r(200, 0, 400, 200),
			outlined: []image.Rectangle{r(220, 20, 320, 100)},
		},
	} {
		got := Boxes(c.picture, BoxOptions{Color: navy, Tolerance: DefaultTolerance, Region: c.region})
		if c.outlined == nil {
			c.outlined = []image.Rectangle{}
		}
		if c.filled == nil {
			c.filled = []image.Rectangle{}
		}
		if !reflect.DeepEqual(bounds(got.Outlined), c.outlined) || !reflect.DeepEqual(bounds(got.Filled), c.filled) || got.Small != c.small || got.Other != c.other {
			t.Errorf("%s: %+v\nwant outlined %v, filled %v, %d small, %d other", name, got, c.outlined, c.filled, c.small, c.other)
		}
	}
}

func TestBoxesTellAreaAndCentre(t *testing.T) {
	got := Boxes(newCanvas(300, 200).frame(image.Rect(20, 20, 121, 81), 1, navy), BoxOptions{Color: navy, Tolerance: 1})
	want := []FoundBox{{Bounds: image.Rect(20, 20, 121, 81), Area: 2*101 + 2*59, Centroid: image.Pt(70, 50)}}
	if !reflect.DeepEqual(got.Outlined, want) {
		t.Errorf("%+v, want %+v", got.Outlined, want)
	}
}
