package measure

import (
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"math"
)

// DiffMethod says when two pixels differ.
type DiffMethod int

const (
	// DiffRGB: the sum of the three channel differences exceeds the threshold.
	DiffRGB DiffMethod = iota
	// DiffPerceptual: what a person would be told. Channels are weighed as the
	// eye does, and edges that are only drawn differently (anti-aliasing,
	// subpixel text, coding noise, a shift of up to a pixel) and a blinking text
	// caret are counted apart. A flat area counts from one level on, so the
	// threshold is best left at 0.
	DiffPerceptual
)

// Limit of the threshold of [DiffOptions], and what suits DiffRGB.
const (
	DefaultDiffThreshold = 15  // sum of channel differences: five levels a channel, below what shows
	MaxDiffThreshold     = 765 // from black to white
)

// DiffOptions say what counts as a change.
type DiffOptions struct {
	Method DiffMethod
	// Threshold is the difference that a pixel must exceed, 0 to
	// MaxDiffThreshold: the sum of its channel differences, or for
	// DiffPerceptual the weighed difference on the same scale. 0 is 0: every
	// difference counts.
	Threshold float64
	// CountAntiAliased finds the anti-aliased ones among the changed pixels;
	// DiffPerceptual always does, DiffRGB while less than half of the pixels
	// differ: two unrelated pictures have no edges in common.
	CountAntiAliased bool
	// LeaveOutAntiAliased takes them out of the changed ones, and implies
	// CountAntiAliased. DiffPerceptual does so unless KeepAntiAliased is set.
	LeaveOutAntiAliased, KeepAntiAliased bool
	// Ignore lists rectangles that are not compared, in pixels from the top
	// left of both pictures.
	Ignore []image.Rectangle
}

// DiffClass is what became of one pixel.
type DiffClass = uint8

// The classes of pixels.
const (
	DiffSame DiffClass = iota // 0, so that what is equal is skipped eight pixels at a time
	DiffChanged
	DiffAntiAliased // differs, but only as an edge that is drawn differently
	DiffCaret       // a text caret that is there in one picture alone (DiffPerceptual)
	DiffIgnored
)

// DiffRegion is an area of changes: pixels that lie less than 16 apart.
type DiffRegion struct {
	Bounds  image.Rectangle
	Pixels  int     // changed ones in it
	Density float64 // their share of Bounds, 0 to 1
}

// DiffReport is what [Diff] found. Coordinates count from the top left of both
// pictures, on a canvas that holds the larger of their widths and heights;
// neither is ever resized.
type DiffReport struct {
	Before, After, Canvas image.Point // sizes in pixels
	SizeChanged           bool
	Equal                 bool // every pixel that was compared is equal, and the sizes are
	Changed               int  // without what is counted apart and left out
	AntiAliased           int  // among the pixels that differ, whether left out or not
	Caret                 int  // pixels of carets
	Ignored               int
	Differing             int     // pixels beyond the threshold outside the ignored ones, nothing left out
	ChangedShare          float64 // Changed over the canvas less Ignored, 0 to 1; 0 when all is ignored
	MaxDelta              int     // largest difference of one channel, 0 to 255
	Regions               []DiffRegion
	Classes               []DiffClass // of each pixel of the canvas, row by row
}

// Diff compares two pictures. What only one of them covers has changed; what
// neither covers has not. Transparent pixels are compared as they look on white.
//
// # Errors
//
// A threshold out of range, or the context's.
func Diff(ctx context.Context, before, after image.Image, o DiffOptions) (*DiffReport, error) {
	if !(o.Threshold >= 0 && o.Threshold <= MaxDiffThreshold) {
		return nil, fmt.Errorf("diff: the threshold is %g, want 0 to %d", o.Threshold, MaxDiffThreshold)
	}
	a, b := rasterOf(before), rasterOf(after)
	a.min, b.min = image.Point{}, image.Point{}
	d := &differ{a: a, b: b, o: o, rep: &DiffReport{
		Before: image.Pt(a.w, a.h), After: image.Pt(b.w, b.h), Canvas: image.Pt(max(a.w, b.w), max(a.h, b.h)),
	}}
	d.rep.SizeChanged = d.rep.Before != d.rep.After
	d.rep.Equal = !d.rep.SizeChanged
	d.w, d.h = min(a.w, b.w), min(a.h, b.h)
	d.rep.Classes = make([]DiffClass, d.rep.Canvas.X*d.rep.Canvas.Y)
	d.markIgnored()
	for y := range d.rep.Canvas.Y {
		if y&63 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		d.compareRow(y)
	}
	if err := d.sortOut(ctx); err != nil {
		return nil, err
	}
	d.findRegions()
	return d.rep, nil
}

// differ is one comparison at work.
type differ struct {
	a, b raster
	w, h int // what both pictures cover
	o    DiffOptions
	rep  *DiffReport
}

func (d *differ) classes(y int) []DiffClass {
	return d.rep.Classes[y*d.rep.Canvas.X:][:d.rep.Canvas.X]
}

func (d *differ) markIgnored() {
	canvas := image.Rectangle{Max: d.rep.Canvas}
	for _, r := range d.o.Ignore {
		r = r.Intersect(canvas)
		for y := r.Min.Y; y < r.Max.Y; y++ {
			row := d.classes(y)[r.Min.X:r.Max.X]
			for x := range row {
				row[x] = DiffIgnored
			}
		}
	}
}

// compareRow marks the pixels of one row that differ.
func (d *differ) compareRow(y int) {
	row := d.classes(y)
	both := 0
	if y < d.h {
		both = d.w
		if d.o.Method == DiffPerceptual {
			d.perceivedRow(y, row[:both])
		} else {
			d.rgbRow(y, row[:both])
		}
	}
	end := both // of the wider picture in this row
	for _, r := range []raster{d.a, d.b} {
		if y < r.h {
			end = max(end, r.w)
		}
	}
	for x := both; x < end; x++ {
		if row[x] != DiffIgnored {
			row[x] = DiffChanged
			d.rep.MaxDelta = math.MaxUint8
		}
	}
}

// rgbRow applies the rule of DiffRGB, two pixels at a time while they are equal.
func (d *differ) rgbRow(y int, row []DiffClass) {
	p, q := d.a.row(y)[:4*len(row)], d.b.row(y)[:4*len(row)]
	limit := int32(d.o.Threshold)
	maxDelta := int32(d.rep.MaxDelta)
	for x := 0; x < len(row); x++ {
		for x+2 <= len(row) && binary.LittleEndian.Uint64(p[4*x:]) == binary.LittleEndian.Uint64(q[4*x:]) {
			x += 2
		}
		if x >= len(row) {
			break
		}
		u, v := p[4*x:4*x+4:4*x+4], q[4*x:4*x+4:4*x+4]
		r, g, b := gap(u[0], v[0]), gap(u[1], v[1]), gap(u[2], v[2])
		if r+g+b == 0 || row[x] == DiffIgnored {
			continue
		}
		d.rep.Equal = false
		if r+g+b > limit {
			row[x] = DiffChanged
			maxDelta = max(maxDelta, r, g, b)
		}
	}
	d.rep.MaxDelta = int(maxDelta)
}

func gap(a, b uint8) int32 {
	d := int32(a) - int32(b)
	if d < 0 {
		return -d
	}
	return d
}

// sortOut finds the edges and carets among the pixels that differ, and counts.
func (d *differ) sortOut(ctx context.Context) error {
	perceptual := d.o.Method == DiffPerceptual
	leaveOut := d.o.LeaveOutAntiAliased || perceptual && !d.o.KeepAntiAliased
	var err error
	if perceptual {
		err = d.judge(ctx)
	} else if (leaveOut || d.o.CountAntiAliased) && d.changedShare() < maxEdgeShare {
		err = d.findEdges(ctx)
	}
	if err != nil {
		return err
	}
	sums := d.sums()
	r := d.rep
	r.Changed, r.AntiAliased, r.Caret, r.Ignored = sums[DiffChanged], sums[DiffAntiAliased], sums[DiffCaret], sums[DiffIgnored]
	r.Differing = r.Changed + r.AntiAliased + r.Caret
	if !leaveOut && r.AntiAliased > 0 {
		r.Changed += r.AntiAliased
		for i, c := range r.Classes {
			if c == DiffAntiAliased {
				r.Classes[i] = DiffChanged
			}
		}
	}
	if compared := len(r.Classes) - r.Ignored; compared > 0 {
		r.ChangedShare = float64(r.Changed) / float64(compared)
	}
	return nil
}

// maxEdgeShare is the share of changed pixels from which edges are not looked
// for.
const maxEdgeShare = 0.5

// changedShare is the share of the canvas that has changed so far.
func (d *differ) changedShare() float64 {
	return float64(d.sums()[DiffChanged]) / float64(max(1, len(d.rep.Classes)))
}

// sums counts the classes; pixels that are the same may be left out.
func (d *differ) sums() (sums [DiffIgnored + 1]int) {
	list := d.rep.Classes
	for len(list) >= 8 {
		if binary.LittleEndian.Uint64(list) != 0 {
			for _, c := range list[:8] {
				sums[c]++
			}
		}
		list = list[8:]
	}
	for _, c := range list {
		sums[c]++
	}
	return sums
}
