package measure

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
)

// Verdict is what [Contrast] makes of all text together.
type Verdict string

// The verdicts.
const (
	Clean      Verdict = "clean"      // text was found, and all of it passes for certain
	Failing    Verdict = "failing"    // some text fails for certain
	Unverified Verdict = "unverified" // neither can be said; the reasons tell why
)

// Ratios of WCAG 2.2: success criteria 1.4.3 and 1.4.11.
const (
	DefaultMinRatio     = 4.5
	DefaultLargeRatio   = 3
	DefaultGraphicRatio = 3
)

// ContrastOptions say what to measure and against what. The zero value measures
// the whole image by WCAG 2.2 AA.
type ContrastOptions struct {
	Region           image.Rectangle // empty: the whole image
	MinRatio         float64         // of text; 0 is DefaultMinRatio
	LargeRatio       float64         // of large text (24 px, or 18.66 px and bold); 0 is DefaultLargeRatio
	GraphicRatio     float64         // of graphics; 0 is DefaultGraphicRatio
	DecorativeColors []color.NRGBA   // text of these colours is listed with the graphics
	Background       *color.NRGBA    // nil: found around each piece of text
	Workers          int             // goroutines; 0 is one. The answer does not depend on it
}

// Pair is one colour on one background.
type Pair struct {
	Text, Background   color.NRGBA
	Ratio              float64 // of the two
	RatioMin, RatioMax float64 // where the background varies: 5th and 95th percentile
	APCA               float64 // Lc
	Passes             bool    // RatioMin reaches what is asked for
	Large              bool    // all of the text looks large
	Verified           bool    // false: Passes may be wrong, Reason says why
	Reason             string
	Pixels, Glyphs     int
	Boxes              []image.Rectangle // of the runs of text, in the image's coordinates
	Nearest            color.NRGBA       // the nearest colour that passes; zero when it passes or none does
}

// ContrastReport is what [Contrast] found.
type ContrastReport struct {
	Verdict  Verdict
	Reasons  []string
	Pairs    []Pair // text, worst first
	Graphics []Pair // marks that are no text, worst first
}

// Contrast finds the text of an image by its shape and measures each of its
// colours against the background that it lies on.
//
// # Errors
//
// A ratio out of range, or the context's.
func Contrast(ctx context.Context, img image.Image, o ContrastOptions) (*ContrastReport, error) {
	o = o.withDefaults()
	for _, ratio := range []float64{o.MinRatio, o.LargeRatio, o.GraphicRatio} {
		if !(ratio >= 1 && ratio <= 21) {
			return nil, fmt.Errorf("contrast: the ratio is %g, want 1 to 21", ratio)
		}
	}
	r := rasterOf(img).within(o.Region)
	if r.w == 0 || r.h == 0 {
		return &ContrastReport{Verdict: Unverified, Reasons: []string{"the region is empty"}}, nil
	}
	s := findSurfaces(r)
	f, err := findText(ctx, r, s)
	if err != nil {
		return nil, err
	}
	rep := &ContrastReport{}
	f.pairs(rep, o)
	f.graphics(rep, o)
	rep.judge(s)
	return rep, nil
}

func (o ContrastOptions) withDefaults() ContrastOptions {
	for _, d := range []struct {
		ratio *float64
		def   float64
	}{{&o.MinRatio, DefaultMinRatio}, {&o.LargeRatio, DefaultLargeRatio}, {&o.GraphicRatio, DefaultGraphicRatio}} {
		if *d.ratio == 0 {
			*d.ratio = d.def
		}
	}
	return o
}

// measuredRun is a run with its colour.
type measuredRun struct {
	ink
	run *textRun
}

// pairs makes pairs of the runs: those of one colour on one background.
func (f *textFinder) pairs(rep *ContrastReport, o ContrastOptions) {
	var list []measuredRun
	for i := range f.runs {
		k, fill := f.inkOf(&f.runs[i])
		list = append(list, measuredRun{k, &f.runs[i]})
		if fill != nil {
			list = append(list, measuredRun{*fill, &f.runs[i]})
		}
	}
	all := looksSubpixel(list)
	for i := range list {
		if k := &list[i]; k.offLine > fringeShare || all && k.offLine > 0 {
			f.asSubpixel(&k.ink, k.run)
		}
	}
	// Runs with most of the colour first: they are the surest.
	slices.SortStableFunc(list, func(a, b measuredRun) int {
		if a.solid != b.solid {
			if a.solid {
				return -1
			}
			return 1
		}
		return b.pixels - a.pixels
	})
	var groups [][]measuredRun
	for _, m := range list {
		at := slices.IndexFunc(groups, func(g []measuredRun) bool { return m.isOf(&g[0]) && !m.hides(&g[0], o) })
		if at < 0 {
			groups = append(groups, []measuredRun{m})
		} else {
			groups[at] = append(groups[at], m)
		}
	}
	for _, g := range groups {
		p := f.pair(g, o)
		if slices.ContainsFunc(o.DecorativeColors, func(c color.NRGBA) bool { return distance2(c, p.Text) <= 12*12 }) {
			p.Reason = "named decorative"
			rep.Graphics = append(rep.Graphics, p)
			continue
		}
		rep.Pairs = append(rep.Pairs, p)
	}
	f.judgeBars(rep, o)
	sortPairs(rep.Pairs)
}

// judgeBars lists what may be letters or mere bars: with the text, but for
// uncertain, where it fails, else with the graphics.
func (f *textFinder) judgeBars(rep *ContrastReport, o ContrastOptions) {
	for i := range f.bars {
		run := &f.bars[i]
		k, _ := f.inkOf(run)
		p := f.pair([]measuredRun{{k, run}}, o)
		if p.Passes || rep.hasText(p.Text, p.Background) {
			f.others = append(f.others, run.glyphs...)
			continue
		}
		p.Verified, p.Reason = false, "upright bars as tall as letters: they are I or l, or no text"
		rep.Pairs = append(rep.Pairs, p)
	}
}

// subpixelShare is the share of text pixels in runs with coloured fringes from
// which all text is taken for subpixel text.
const subpixelShare = 0.3

// looksSubpixel reports whether an image's text has coloured fringes.
func looksSubpixel(list []measuredRun) bool {
	fringed, all := 0, 0
	for i := range list {
		if list[i].offLine > lightFringe {
			fringed += list[i].pixels
		}
		all += list[i].pixels
	}
	return float64(fringed) > subpixelShare*float64(all)
}

// lightFringe is the least [fringeShare] of subpixel text: that of text whose
// colour lies near the background's in some channels.
const lightFringe = 0.1

func sortPairs(list []Pair) {
	slices.SortStableFunc(list, func(a, b Pair) int {
		switch {
		case a.RatioMin < b.RatioMin:
			return -1
		case a.RatioMin > b.RatioMin:
			return 1
		}
		return 0
	})
}

// Distances between colours of runs, in levels.
const (
	sameText   = 5  // of solid colours that are one
	thinText   = 40 // of a blend from the solid colour it comes from
	nearText   = 12 // the same where there is so much text that some pixel comes near its colour
	sameGround = 6  // of backgrounds that are one
)

// Sizes from which the farthest pixel of a run is nearly its colour: the height
// in pixels of its tallest mark, or its pixels.
const (
	fullHeight = 11
	fullPixels = 400
)

// isOf reports whether a run has the colour of another on the same background.
func (m *measuredRun) isOf(of *measuredRun) bool {
	if apart(m.back, of.back) > sameGround*sameGround {
		return false
	}
	d := apart(m.color, of.color)
	if d <= sameText*sameText {
		return true
	}
	reach := thinText
	if m.size >= fullHeight || m.pixels >= fullPixels {
		reach = nearText
	}
	if m.sure || d > reach*reach {
		return false
	}
	// A blend lies between the background and the colour, on their line.
	full, part := math.Sqrt(float64(apart(of.color, of.back))), math.Sqrt(float64(apart(m.color, m.back)))
	return part < full+sameText && part+math.Sqrt(float64(d)) < full+8
}

// hides reports whether a failing colour would be taken for a blend of one that
// passes. It must stand on its own.
func (m *measuredRun) hides(in *measuredRun, o ContrastOptions) bool {
	own, its := ContrastRatio(nrgba(m.color), nrgba(m.back)), ContrastRatio(nrgba(in.color), nrgba(in.back))
	return own < o.MinRatio-ratioSlack && its >= o.MinRatio-ratioSlack
}

// pair measures runs of one colour together.
func (f *textFinder) pair(runs []measuredRun, o ContrastOptions) Pair {
	first := runs[0]
	p := Pair{Text: nrgba(first.color), Background: nrgba(first.back), Verified: true, Large: true}
	if o.Background != nil {
		p.Background = Over(*o.Background, white)
	}
	size := 0
	var ratios []float64
	for _, m := range runs {
		p.Pixels += m.pixels
		p.Glyphs += len(m.run.glyphs)
		p.Boxes = append(p.Boxes, m.run.bounds.Add(f.r.min))
		size = max(size, m.size)
		if m.size < largeCap {
			p.Large = false
		}
		if o.Background == nil {
			for _, b := range f.localBacks(m.run) {
				ratios = append(ratios, ContrastRatio(p.Text, nrgba(b)))
			}
		}
	}
	p.Ratio, p.APCA = ContrastRatio(p.Text, p.Background), APCA(p.Text, p.Background)
	p.RatioMin, p.RatioMax = p.Ratio, p.Ratio
	if len(ratios) > 1 {
		slices.Sort(ratios)
		p.RatioMin, p.RatioMax = min(p.Ratio, ratios[len(ratios)*5/100]), max(p.Ratio, ratios[len(ratios)*95/100])
	}
	needed := o.MinRatio
	if p.Large {
		needed = o.LargeRatio
	}
	p.Passes = p.RatioMin >= needed-ratioSlack
	p.doubt(first, needed)
	if !p.Passes {
		if c, ok := NearestPassing(p.Text, p.Background, needed); ok {
			p.Nearest = c
		}
	}
	return p
}

// largeCap is the height in pixels from which text looks large: the tallest
// glyphs of 24 px text have about three quarters of that.
const largeCap = 18

// doubt says when a pair near the limit cannot be told for certain: small text
// never reaches its colour, so its ratio is a lower bound.
func (p *Pair) doubt(k measuredRun, needed float64) {
	if p.Passes || k.sure || k.solid && k.size >= fullHeight {
		return
	}
	spread := 1.12
	if k.size < 8 {
		spread = 1.3
	}
	if p.RatioMin*spread >= needed {
		p.Verified = false
		p.Reason = fmt.Sprintf("thin or small text never shows its full colour: the ratio is at least %.2f and may reach %g", p.RatioMin, needed)
	}
}

func nrgba(c [3]int) color.NRGBA {
	return color.NRGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255}
}

// maxGraphicPairs bounds the graphics that are kept, by pixels.
const maxGraphicPairs = 64

// graphics sums the marks that are no text by colour and background.
func (f *textFinder) graphics(rep *ContrastReport, o ContrastOptions) {
	type kind struct{ text, back [3]int }
	index := map[kind]int{}
	var list []Pair
	for i := range f.others {
		g := &f.others[i]
		if g.pixels < minGraphic || rep.hasText(nrgba(g.far), nrgba(g.back)) {
			continue
		}
		k := kind{g.far, g.back}
		at, ok := index[k]
		if !ok {
			at = len(list)
			index[k] = at
			ratio := ContrastRatio(nrgba(g.far), nrgba(g.back))
			list = append(list, Pair{Text: nrgba(g.far), Background: nrgba(g.back), Ratio: ratio, RatioMin: ratio, RatioMax: ratio,
				APCA: APCA(nrgba(g.far), nrgba(g.back)), Passes: ratio >= o.GraphicRatio-ratioSlack, Verified: true})
		}
		list[at].Pixels += g.pixels
		list[at].Glyphs++
		list[at].Boxes = append(list[at].Boxes, g.bounds.Add(f.r.min))
	}
	slices.SortStableFunc(list, func(a, b Pair) int { return b.Pixels - a.Pixels })
	rep.Graphics = append(rep.Graphics, list[:min(len(list), maxGraphicPairs)]...)
	sortPairs(rep.Graphics)
}

// hasText reports whether a mark is a single letter of text that was found in
// the same colours.
func (rep *ContrastReport) hasText(text, back color.NRGBA) bool {
	return slices.ContainsFunc(rep.Pairs, func(p Pair) bool {
		return distance2(p.Text, text) <= thinText*thinText && distance2(p.Background, back) <= sameGround*sameGround
	})
}

// minGraphic is the least size of a graphic, in pixels.
const minGraphic = 8

// roughShare is the share of pixels in areas without a flat background from
// which text there may have been missed.
const roughShare = 0.1

// judge makes the verdict.
func (rep *ContrastReport) judge(s *surfaces) {
	failing, open := 0, 0
	for _, p := range rep.Pairs {
		switch {
		case !p.Verified:
			open++
		case !p.Passes:
			failing++
		}
	}
	rough := float64(s.rough) / float64(s.w*s.h)
	if failing > 0 {
		rep.Verdict = Failing
		rep.Reasons = append(rep.Reasons, fmt.Sprintf("%d of %d text colours fail", failing, len(rep.Pairs)))
	}
	if open > 0 {
		rep.Reasons = append(rep.Reasons, fmt.Sprintf("text colours that cannot be told for certain: %d", open))
	}
	if rough > roughShare {
		rep.Reasons = append(rep.Reasons, fmt.Sprintf("%.0f %% of the area has no flat background; text there may have been missed", 100*rough))
	}
	if len(rep.Pairs) == 0 {
		rep.Reasons = append(rep.Reasons, "no text was found")
	}
	if rep.Verdict == "" {
		if rep.Verdict = Clean; len(rep.Reasons) > 0 {
			rep.Verdict = Unverified
		}
	}
}
