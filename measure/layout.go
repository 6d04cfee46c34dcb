package measure

import (
	"image"
	"image/color"
)

// DefaultTolerance is the Euclidean RGB distance (0 to 441) within which
// [Boxes] and [Layout] take two colours for the same: the spread of an
// anti-aliased or JPEG-coded flat colour, and half of what tells two greys of a
// page apart.
const DefaultTolerance = 24

// LayoutOptions say what counts as content.
type LayoutOptions struct {
	Region     image.Rectangle // empty: the whole image
	Background *color.NRGBA    // nil: the most frequent colour of the region
	Tolerance  float64         // RGB distance up to which a pixel is background, 0 to 441
}

// LayoutReport is an image's size and where its content lies.
type LayoutReport struct {
	Width, Height int             // of the whole image, in pixels
	AspectRatio   float64         // width over height
	Region        image.Rectangle // that was looked at
	Background    color.NRGBA
	NonBackground int             // pixels of the region that are not background
	Total         int             // pixels of the region
	Content       image.Rectangle // smallest rectangle around them; empty when there are none
}

// Layout measures an image's size and, in a region, how much of it differs from
// the background and where.
func Layout(img image.Image, o LayoutOptions) LayoutReport {
	full := rasterOf(img)
	r := full.within(o.Region)
	rep := LayoutReport{Width: full.w, Height: full.h, Region: r.bounds(), Total: r.w * r.h}
	if full.h > 0 {
		rep.AspectRatio = float64(full.w) / float64(full.h)
	}
	if o.Background != nil {
		rep.Background = Over(*o.Background, white)
	} else {
		rep.Background = histogram(r).mode()
	}
	n := newNear(rep.Background, o.Tolerance)
	box := image.Rectangle{Min: image.Pt(r.w, r.h)}
	for y := range r.h {
		row := r.row(y)
		for x := range r.w {
			if !n.has(row[4*x : 4*x+4]) {
				rep.NonBackground++
				box.Min.X, box.Max.X = min(box.Min.X, x), max(box.Max.X, x+1)
				box.Min.Y, box.Max.Y = min(box.Min.Y, y), y+1
			}
		}
	}
	if rep.NonBackground > 0 {
		rep.Content = box.Add(r.min)
	}
	return rep
}
