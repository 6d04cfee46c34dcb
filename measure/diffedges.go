package measure

import (
	"context"
	"math"
)

// edgeSlack is by what share of the range around it a pixel may leave that range
// and still be the same edge: a stroke of one pixel that moves by half a pixel
// loses up to half of its peak.
const edgeSlack = 0.5

// findEdges gives the changed pixels that are anti-aliased their class.
func (d *differ) findEdges(ctx context.Context) error {
	for y := range d.h {
		if y&63 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		row := d.classes(y)[:d.w]
		for x, c := range row {
			if c == DiffChanged && d.antiAliased(x, y) {
				row[x] = DiffAntiAliased
			}
		}
	}
	return nil
}

// antiAliased reports whether a pixel differs only as an edge does that is drawn
// with other weights or moved by up to a pixel: in every channel, each picture's
// value lies in the range of the other's 3x3 pixels around, give or take
// edgeSlack of that range. Where the other picture is flat there is no range, so
// what appeared or vanished never passes.
func (d *differ) antiAliased(x, y int) bool {
	return spans(d.b, d.a.row(y)[4*x:], x, y) && spans(d.a, d.b.row(y)[4*x:], x, y)
}

// spans reports whether the pixels of r around a place span a colour.
func spans(r raster, color []byte, x, y int) bool {
	low, high := [3]uint8{255, 255, 255}, [3]uint8{}
	from, to := max(0, x-1), min(r.w, x+2)
	for v := max(0, y-1); v <= min(r.h-1, y+1); v++ {
		row := r.pix[v*r.stride+4*from : v*r.stride+4*to]
		for i := 0; i+4 <= len(row); i += 4 {
			low[0], high[0] = min(low[0], row[i]), max(high[0], row[i])
			low[1], high[1] = min(low[1], row[i+1]), max(high[1], row[i+1])
			low[2], high[2] = min(low[2], row[i+2]), max(high[2], row[i+2])
		}
	}
	for c := range 3 {
		slack := int(math.Round(edgeSlack * float64(high[c]-low[c])))
		if int(color[c]) < int(low[c])-slack || int(color[c]) > int(high[c])+slack {
			return false
		}
	}
	return true
}
