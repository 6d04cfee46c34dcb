package tools

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/measure"
)

// Thresholds of WCAG 2.2: success criteria 1.4.3 (AA), 1.4.6 (AAA) and 1.4.11
// (graphics).
const (
	textAA, largeAA   = 4.5, 3.0
	textAAA, largeAAA = 7.0, 4.5
	graphicAA         = 3.0
)

// Bounds of lists in the answer; counts tell how many there are.
const (
	maxPairBoxes  = 20 // boxes of a failing colour
	maxOtherBoxes = 2  // boxes of one that passes
	maxGraphics   = 12
	maxNamed      = 5 // failing colours named in a note
)

// contrastAnswer keeps the names of the original.
type contrastAnswer struct {
	Verdict         string          `json:"verdict"` // clean, failing, unverified
	Reasons         []string        `json:"reasons"`
	Measurable      bool            `json:"measurable"`
	AllMeetAA       *bool           `json:"all_meet_aa"`
	WCAGAA          *bool           `json:"wcag_aa"`
	WCAGAAA         *bool           `json:"wcag_aaa"`
	FailingCount    int             `json:"failing_count"`
	UnverifiedCount int             `json:"unverified_count"`
	PassingCount    int             `json:"passing_count"`
	Evaluated       int             `json:"evaluated_count"`
	ColourCount     int             `json:"colour_count"`
	RequiredAA      float64         `json:"required_aa"`
	RequiredAAA     float64         `json:"required_aaa"`
	Failing         []failingEntry  `json:"failing"`
	Worst           *contrastEntry  `json:"worst"`
	Best            *contrastEntry  `json:"best"`
	Ratio           *float64        `json:"contrast_ratio"`
	RatioRaw        *float64        `json:"contrast_ratio_raw"`
	Foreground      *foreground     `json:"foreground"`
	Region          Box             `json:"region"`
	Background      *backgroundInfo `json:"background"`
	BackgroundMode  string          `json:"background_mode"`
	BackgroundModel string          `json:"background_model"`
	Plateaus        []plateau       `json:"plateaus"`
	InkPixels       int             `json:"ink_pixel_count"`
	Method          string          `json:"method"`
	Colours         []contrastEntry `json:"colours"`
	Graphics        []graphicEntry  `json:"graphics"`
	GraphicCount    int             `json:"graphic_count"`
	Excluded        []graphicEntry  `json:"excluded"`
	Notes           []string        `json:"notes"`
	unfiled
}

// unfiled are the original's lists of colours that it took out of the
// enumeration. They are empty and null: nothing is taken out here but what is
// listed as graphics or excluded.
type unfiled struct {
	Skipped           []any `json:"skipped"`
	PanelFills        []any `json:"panel_fills"`
	SuspectedNoise    []any `json:"suspected_noise"`
	BackgroundRegions []any `json:"background_regions"`
	WithoutText       []any `json:"plateaus_without_text"`
	MergedAA          []any `json:"merged_anti_aliasing"`
	MaskReconciled    any   `json:"mask_reconciliation"`
	Disagreement      any   `json:"model_disagreement"`
}

func nothingFiled() unfiled {
	return unfiled{Skipped: []any{}, PanelFills: []any{}, SuspectedNoise: []any{}, BackgroundRegions: []any{}, WithoutText: []any{}, MergedAA: []any{}}
}

// failingEntry is the short form of a failing colour. Shortening an answer never
// touches the list of them.
type failingEntry struct {
	Foreground string  `json:"foreground"`
	Against    string  `json:"measured_against"`
	Ratio      float64 `json:"contrast_ratio"`
	Nearest    string  `json:"nearest_passing,omitempty"`
	Box        *Box    `json:"first_box"`
}

type foreground struct {
	Hex    string `json:"hex"`
	RGB    rgb    `json:"rgb"`
	Pixels int    `json:"pixel_count"`
}

type backgroundInfo struct {
	Hex string `json:"hex"`
	RGB rgb    `json:"rgb"`
}

type plateau struct {
	Hex   string  `json:"hex"`
	Share float64 `json:"share"` // 0 to 1, of pixels of exactly this colour
}

// contrastEntry is one colour on one background.
type contrastEntry struct {
	Foreground     string   `json:"foreground"`
	RGB            rgb      `json:"rgb"`
	Against        string   `json:"measured_against"`
	LocalBack      string   `json:"local_background"`
	Ratio          float64  `json:"contrast_ratio"`
	RatioRaw       float64  `json:"contrast_ratio_raw"`
	RatioMin       float64  `json:"ratio_min"`
	RatioMax       float64  `json:"ratio_max"`
	APCA           float64  `json:"apca_lc"`
	LuminanceDelta float64  `json:"luminance_delta"`
	AA             bool     `json:"wcag_aa"`
	MeetsAA        bool     `json:"meets_aa"`
	AAA            bool     `json:"wcag_aaa"`
	RequiredAA     float64  `json:"required_aa"`
	RequiredAAA    float64  `json:"required_aaa"`
	Large          bool     `json:"looks_large"`
	Verified       bool     `json:"verified"`
	Reason         string   `json:"reason,omitempty"`
	Nearest        string   `json:"nearest_passing,omitempty"`
	Pixels         int      `json:"pixel_count"`
	Components     int      `json:"component_count"`
	Geometry       geometry `json:"geometry"`
	Boxes          []Box    `json:"boxes"`
}

// graphicEntry is a mark that is no text.
type graphicEntry struct {
	Foreground string  `json:"foreground"`
	Against    string  `json:"measured_against"`
	Ratio      float64 `json:"contrast_ratio"`
	Meets      bool    `json:"meets_3_to_1"`
	Pixels     int     `json:"pixel_count"`
	Components int     `json:"component_count"`
	Box        *Box    `json:"first_box"`
	Reason     string  `json:"reason,omitempty"`
}

// geometry is the original's; hollow boxes are graphics here, so none is text.
type geometry struct {
	Boxes     int  `json:"boxes_count"`
	Hollow    int  `json:"hollow_boxes"`
	AllHollow bool `json:"all_hollow"`
}

// contrast measures and puts the report into the answer.
func (a *measureArguments) contrast(ctx context.Context, m *imaging.Image, out *measured) (*measure.ContrastReport, error) {
	o := measure.ContrastOptions{Region: a.bounds, MinRatio: textAA, LargeRatio: textAA, GraphicRatio: graphicAA, DecorativeColors: a.decorative, Background: a.background}
	aaa := textAAA
	if a.LargeText {
		o.MinRatio, o.LargeRatio, aaa = largeAA, largeAA, largeAAA
	}
	rep, err := measure.Contrast(ctx, m, o)
	if err != nil {
		return nil, err
	}
	c := &contrastAnswer{
		Verdict: verdictName(rep.Verdict), Reasons: rep.Reasons, RequiredAA: o.MinRatio, RequiredAAA: aaa,
		Region: BoxOf(a.bounds), BackgroundMode: a.BackgroundMode, BackgroundModel: "neighbourhood", Method: "glyph-runs/stroke-core-on-local-background",
		Colours: []contrastEntry{}, Graphics: []graphicEntry{}, Excluded: []graphicEntry{}, Notes: []string{}, Plateaus: []plateau{}, Failing: []failingEntry{}, unfiled: nothingFiled(),
	}
	if c.Reasons == nil {
		c.Reasons = []string{}
	}
	c.addPairs(rep, o.MinRatio, aaa)
	c.addGraphics(rep, a)
	c.addBackgrounds(m, rep, a)
	c.summarise(out)
	a.noteContrast(c, out)
	out.Measurements.Contrast = c
	return rep, nil
}

func verdictName(v measure.Verdict) string { return strings.ToLower(fmt.Sprint(v)) }

// entry words one pair.
func entry(p measure.Pair, aa, aaa float64) contrastEntry {
	e := contrastEntry{
		Foreground: measure.Hex(p.Text), RGB: rgbOf(p.Text), Against: measure.Hex(p.Background), LocalBack: measure.Hex(p.Background),
		Ratio: round2(p.Ratio), RatioRaw: p.Ratio, RatioMin: round2(p.RatioMin), RatioMax: round2(p.RatioMax), APCA: math.Round(p.APCA*10) / 10,
		LuminanceDelta: math.Round(1000*math.Abs(measure.RelativeLuminance(p.Text)-measure.RelativeLuminance(p.Background))) / 1000,
		AA:             p.Passes, MeetsAA: p.Passes, AAA: p.RatioMin >= aaa, RequiredAA: aa, RequiredAAA: aaa, Large: p.Large,
		Verified: p.Verified, Reason: p.Reason, Pixels: p.Pixels, Components: p.Glyphs, Geometry: geometry{Boxes: len(p.Boxes)}, Boxes: []Box{},
	}
	most := maxOtherBoxes
	if !p.Passes {
		most = maxPairBoxes
		if p.Nearest != (color.NRGBA{}) && p.Nearest != p.Text {
			e.Nearest = measure.Hex(p.Nearest)
		}
	}
	for _, r := range p.Boxes[:min(len(p.Boxes), most)] {
		e.Boxes = append(e.Boxes, BoxOf(r))
	}
	return e
}

// byRatio puts the worst first.
func byRatio(a, b contrastEntry) int {
	switch {
	case a.RatioRaw < b.RatioRaw:
		return -1
	case a.RatioRaw > b.RatioRaw:
		return 1
	}
	return strings.Compare(a.Foreground+a.Against, b.Foreground+b.Against)
}

func (c *contrastAnswer) addPairs(rep *measure.ContrastReport, aa, aaa float64) {
	for _, p := range rep.Pairs {
		e := entry(p, aa, aaa)
		c.Colours = append(c.Colours, e)
		c.InkPixels += p.Pixels
		switch {
		case !e.Verified:
			c.UnverifiedCount++
		case e.AA:
			c.PassingCount++
		default:
			c.FailingCount++
		}
	}
	slices.SortStableFunc(c.Colours, byRatio)
	for _, e := range c.Colours {
		if e.Verified && !e.AA {
			f := failingEntry{Foreground: e.Foreground, Against: e.Against, Ratio: e.Ratio, Nearest: e.Nearest}
			if len(e.Boxes) > 0 {
				f.Box = &e.Boxes[0]
			}
			c.Failing = append(c.Failing, f)
		}
	}
	c.Evaluated, c.ColourCount, c.Measurable = len(c.Colours), len(c.Colours), len(c.Colours) > 0
}

// addGraphics lists what is no text; what the caller named decorative goes
// apart.
func (c *contrastAnswer) addGraphics(rep *measure.ContrastReport, a *measureArguments) {
	failing := 0
	for _, p := range rep.Graphics {
		g := graphicEntry{Foreground: measure.Hex(p.Text), Against: measure.Hex(p.Background), Ratio: round2(p.Ratio), Meets: p.Passes, Pixels: p.Pixels, Components: p.Glyphs, Reason: p.Reason}
		if len(p.Boxes) > 0 {
			box := BoxOf(p.Boxes[0])
			g.Box = &box
		}
		if p.Reason != "" {
			c.Excluded = append(c.Excluded, g)
			continue
		}
		if c.GraphicCount++; !g.Meets {
			failing++
		}
		if len(c.Graphics) < maxGraphics {
			c.Graphics = append(c.Graphics, g)
		}
	}
	if a.IncludeDecorative && failing > 0 {
		c.Verdict = verdictName(measure.Failing)
		c.FailingCount += failing
		c.Reasons = append(c.Reasons, fmt.Sprintf("%s below %g:1 (include_decorative)", plural(failing, "graphic"), graphicAA))
	}
}

// addBackgrounds names the surfaces that text lies on.
func (c *contrastAnswer) addBackgrounds(m *imaging.Image, rep *measure.ContrastReport, a *measureArguments) {
	if a.BackgroundMode != "local" {
		back := a.background
		if back == nil {
			if top := measure.Colors(m, a.bounds, 1); len(top) > 0 {
				back = &top[0].Color
			}
		}
		if back != nil {
			c.Background = &backgroundInfo{measure.Hex(*back), rgbOf(*back)}
		}
	}
	total := float64(max(1, a.bounds.Dx()*a.bounds.Dy()))
	h := measure.Histogram(m.SubImage(a.bounds))
	seen := map[color.NRGBA]bool{}
	for _, p := range rep.Pairs {
		if !seen[p.Background] {
			seen[p.Background] = true
			c.Plateaus = append(c.Plateaus, plateau{measure.Hex(p.Background), math.Round(1e4*float64(h.Count(p.Background))/total) / 1e4})
		}
	}
	slices.SortStableFunc(c.Plateaus, func(a, b plateau) int {
		if a.Share != b.Share {
			return int(math.Copysign(1, b.Share-a.Share))
		}
		return strings.Compare(a.Hex, b.Hex)
	})
}

// summarise fills the view that looks at the worst colour alone.
func (c *contrastAnswer) summarise(out *measured) {
	if !c.Measurable {
		out.Abstained = append(out.Abstained, abstention{"contrast ratio of text", "no text was found: " + strings.Join(append([]string{}, c.Reasons...), "; ")})
		return
	}
	worst, best := c.Colours[0], c.Colours[len(c.Colours)-1]
	worst.Boxes, best.Boxes = worst.Boxes[:min(1, len(worst.Boxes))], best.Boxes[:min(1, len(best.Boxes))]
	c.Worst, c.Best = &worst, &best
	c.Ratio, c.RatioRaw = &worst.Ratio, &worst.RatioRaw
	c.Foreground = &foreground{worst.Foreground, worst.RGB, worst.Pixels}
	aaa := !slices.ContainsFunc(c.Colours, func(e contrastEntry) bool { return !e.AAA })
	c.WCAGAAA = &aaa
	switch c.Verdict {
	case verdictName(measure.Clean), verdictName(measure.Failing):
		clean := c.Verdict == verdictName(measure.Clean)
		c.AllMeetAA, c.WCAGAA = &clean, &clean
	default:
		out.Abstained = append(out.Abstained, abstention{"whether all text meets WCAG AA", strings.Join(c.Reasons, "; ")})
	}
}

// noteContrast says what a reader of the numbers must know, each thing once.
func (a *measureArguments) noteContrast(c *contrastAnswer, out *measured) {
	note := func(format string, args ...any) { c.Notes = append(c.Notes, fmt.Sprintf(format, args...)) }
	if a.Region == nil {
		out.Notes = append(out.Notes, "No region was given: contrast was measured over the whole image.")
	}
	if n := len(c.Failing); n > 0 {
		texts := make([]string, min(n, maxNamed))
		for i := range texts {
			f := c.Failing[i]
			texts[i] = fmt.Sprintf("%s on %s at %.2f:1", f.Foreground, f.Against, f.Ratio)
		}
		note("%d of %s fail WCAG AA (%g:1), the worst: %s.", n, plural(c.Evaluated, "text colour"), c.RequiredAA, strings.Join(texts, ", "))
	}
	if c.UnverifiedCount > 0 {
		note("%s could not be measured for certain; reason says why.", plural(c.UnverifiedCount, "text colour"))
	}
	if c.GraphicCount > 0 && !a.IncludeDecorative {
		note("%s (icons, borders, charts) are listed apart and do not count in the verdict; those that carry information need 3:1 (WCAG 1.4.11).", plural(c.GraphicCount, "graphic"))
	}
	if len(c.Graphics) < c.GraphicCount {
		note("The %d graphics of least contrast of %d are listed.", len(c.Graphics), c.GraphicCount)
	}
	if a.InkThreshold != nil || a.TileSize != nil || a.NoiseFactor != nil {
		note("ink_threshold, tile_size and noise_factor have no effect: text is found by its shape, and the background around each piece of it.")
	}
}

// Frames of annotated text.
var (
	failingColor    = color.NRGBA{0xd0, 0x10, 0x30, 255}
	unverifiedColor = color.NRGBA{0xc0, 0x70, 0x00, 255}
)

const (
	markMargin = 3  // pixels between text and frame
	markWidth  = 2  // pixels
	markText   = 13 // pixels of the label's text
	maxMarks   = 200
)

// annotate frames the failing and the unverified text, worst last so that it is
// on top, and labels each with its ratio.
func (a *measureArguments) annotate(m *imaging.Image, rep *measure.ContrastReport, out *measured) (*imaging.Image, error) {
	if rep == nil {
		out.Notes = append(out.Notes, "annotate marks failing text; mode "+a.Mode+" measures none.")
		return nil, nil
	}
	letters, err := imaging.NewLettering(markText)
	if err != nil {
		return nil, err
	}
	marked := imaging.Clone(m)
	pairs := slices.Clone(rep.Pairs)
	slices.SortStableFunc(pairs, func(a, b measure.Pair) int { return int(math.Copysign(1, b.Ratio-a.Ratio)) })
	marks := 0
	for _, p := range pairs {
		c := failingColor
		switch {
		case !p.Verified:
			c = unverifiedColor
		case p.Passes:
			continue
		}
		for _, r := range p.Boxes {
			if marks++; marks > maxMarks {
				continue
			}
			frame := r.Inset(-markMargin - markWidth)
			imaging.StrokeRect(marked, frame, markWidth, c)
			letters.Label(marked, image.Pt(frame.Max.X, frame.Max.Y), fmt.Sprintf("%.2f:1", p.Ratio), c)
		}
	}
	if marks > maxMarks {
		out.Notes = append(out.Notes, fmt.Sprintf("%d of %d pieces of text are framed.", maxMarks, marks))
	}
	return marked, nil
}
