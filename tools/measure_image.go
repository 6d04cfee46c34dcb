package tools

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"math"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/measure"
)

// Bounds of the arguments of measure_image.
const (
	maxRGBDistance = 441 // between black and white, rounded down
	minTile        = 8
	maxTile        = 512
	maxNoise       = 64
	maxDecorative  = 64
	topColors      = 8   // colours listed
	maxListedBoxes = 200 // boxes listed; the count tells how many there are
)

var measureImage = Tool{
	Name:        "measure_image",
	Title:       "Measure an image",
	Description: "Measures an image by arithmetic, without a model: WCAG contrast of every text on the background it sits on (verdict clean, failing or unverified, and the nearest colour that passes), frequent colours, boxes by border colour, size and place of the content.",
	Group:       "measure",
	Input: Object([]string{"image_source"},
		Image("image_source", "Image to measure."),
		Choice("mode", "", "all", "contrast", "colors", "boxes", "layout"),
		Region("region", "Part to measure, in pixels."),
		Text("box_color", "CSS colour of the borders of boxes; mode boxes needs it."),
		Text("background_color", "CSS colour; found where it is left out."),
		Number("tolerance", "RGB distance of the same colour, for boxes and layout; default 24.", 0, maxRGBDistance),
		Flag("large_text", "Judge all text as large (AA 3:1).", false),
		Flag("include_decorative", "Graphics count in the verdict (3:1).", false),
		Property{"decorative_colors", decorativeSchema()},
		Flag("annotate", "Return the picture, failing text framed.", false),
		Choice("background_mode", "local leaves out the field background.", "global", "local"),
		Number("ink_threshold", "No effect, as the next two.", 0, maxRGBDistance),
		Number("tile_size", "", minTile, maxTile),
		Number("noise_factor", "", 0, maxNoise),
	).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "mode", "dimensions", "measurements", "notes", "abstained"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"mode", Schema{Type: "string"}},
		{"region", Schema{}},
		{"dimensions", Schema{Type: "object", Open: true}},
		{"measurements", Schema{Type: "object", Open: true, Description: "By mode."}},
		{"notes", Schema{Type: "array", Items: &Schema{Type: "string"}}},
		{"abstained", Schema{Type: "array", Items: &Schema{Type: "object", Open: true}, Description: "What was not answered, and why."}},
	}}.JSON(),
	Handle: handleMeasure,
}

func decorativeSchema() Schema {
	most := maxDecorative
	return Schema{Type: "array", Items: &Schema{Type: "string"}, MaxItems: &most, Description: "CSS colours that do not count in the verdict."}
}

type measureArguments struct {
	Mode              string   `json:"mode"`
	Region            *Box     `json:"region"`
	BoxColor          string   `json:"box_color"`
	BackgroundColor   string   `json:"background_color"`
	Tolerance         *float64 `json:"tolerance"`
	LargeText         bool     `json:"large_text"`
	IncludeDecorative bool     `json:"include_decorative"`
	DecorativeColors  []string `json:"decorative_colors"`
	Annotate          bool     `json:"annotate"`
	BackgroundMode    string   `json:"background_mode"`
	InkThreshold      *float64 `json:"ink_threshold"`
	TileSize          *float64 `json:"tile_size"`
	NoiseFactor       *float64 `json:"noise_factor"`

	box, background *color.NRGBA // parsed
	decorative      []color.NRGBA
	tolerance       float64
	bounds          image.Rectangle // what is measured
}

// measured is the JSON of measure_image.
type measured struct {
	Success      bool         `json:"success"`
	Mode         string       `json:"mode"`
	Region       *Box         `json:"region"`
	Dimensions   dimensions   `json:"dimensions"`
	Measurements measurements `json:"measurements"`
	Notes        []string     `json:"notes"`
	Abstained    []abstention `json:"abstained"`
	Disclaimer   string       `json:"disclaimer"`
}

type dimensions struct {
	Size
	Format string `json:"format"`
}

type measurements struct {
	Contrast *contrastAnswer `json:"contrast,omitempty"`
	Colors   []colorAnswer   `json:"colors,omitempty"`
	Boxes    *boxesAnswer    `json:"boxes,omitempty"`
	Layout   *layoutAnswer   `json:"layout,omitempty"`
}

type abstention struct {
	Question string `json:"question"`
	Reason   string `json:"reason"`
}

const disclaimer = "Measured from pixels; the same image gives the same answer. What text means, and whether a graphic carries information, is not measured."

func handleMeasure(ctx context.Context, c *Call) (*Result, error) {
	var a measureArguments
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	if err := a.parse(); err != nil {
		return nil, err
	}
	pictures, err := c.Images(ctx, "image_source")
	if err != nil {
		return nil, err
	}
	p := pictures[0]
	if _, a.bounds, err = c.Region(ctx, p, 0, a.Region); err != nil {
		return nil, err
	}
	out := &measured{
		Success: true, Mode: a.Mode, Region: a.Region, Dimensions: dimensions{Size{p.Width(), p.Height()}, p.Info.Format},
		Notes: []string{}, Abstained: []abstention{}, Disclaimer: disclaimer,
	}
	var marked *imaging.Image
	err = c.Pixels(ctx, func() error {
		rep, err := a.measure(ctx, p.Image, out)
		if err != nil || !a.Annotate {
			return err
		}
		marked, err = a.annotate(p.Image, rep, out)
		return err
	})
	if err != nil {
		return nil, err
	}
	res := &Result{Value: out, Provenance: c.Provenance("measure")}
	if !p.Opaque {
		res.Provenance.Warnings = append(res.Provenance.Warnings, "the image has transparent pixels; it was measured as it looks on white")
	}
	if marked != nil {
		res.Pictures = []Picture{{Image: marked, Title: "failing text"}}
	}
	return res, nil
}

// parse reads the colours and defaults.
func (a *measureArguments) parse() error {
	a.tolerance = measure.DefaultTolerance
	if a.Tolerance != nil {
		a.tolerance = *a.Tolerance
	}
	for _, arg := range []struct {
		name, text string
		into       **color.NRGBA
	}{{"box_color", a.BoxColor, &a.box}, {"background_color", a.BackgroundColor, &a.background}} {
		if arg.text == "" {
			continue
		}
		c, err := colorArgument(arg.name, arg.text)
		if err != nil {
			return err
		}
		*arg.into = &c
	}
	for i, text := range a.DecorativeColors {
		c, err := colorArgument(fmt.Sprintf("decorative_colors[%d]", i), text)
		if err != nil {
			return err
		}
		a.decorative = append(a.decorative, c)
	}
	return nil
}

func (a *measureArguments) wants(mode string) bool { return a.Mode == mode || a.Mode == "all" }

// measure fills the answer with what the mode asks for.
func (a *measureArguments) measure(ctx context.Context, m *imaging.Image, out *measured) (*measure.ContrastReport, error) {
	var rep *measure.ContrastReport
	if a.wants("contrast") {
		var err error
		if rep, err = a.contrast(ctx, m, out); err != nil {
			return nil, err
		}
	}
	if a.wants("colors") {
		out.Measurements.Colors = a.colors(m)
	}
	if a.wants("boxes") {
		a.boxes(m, out)
	}
	if a.wants("layout") {
		a.layout(m, out)
	}
	return rep, context.Cause(ctx)
}

type colorAnswer struct {
	RGB   rgb     `json:"rgb"`
	Hex   string  `json:"hex"`
	Count int     `json:"count"`
	Share float64 `json:"share"` // percent
}

type rgb struct {
	R uint8 `json:"r"`
	G uint8 `json:"g"`
	B uint8 `json:"b"`
}

func rgbOf(c color.NRGBA) rgb { return rgb{c.R, c.G, c.B} }

func (a *measureArguments) colors(m *imaging.Image) []colorAnswer {
	var list []colorAnswer
	for _, c := range measure.Colors(m, a.bounds, topColors) {
		list = append(list, colorAnswer{rgbOf(c.Color), measure.Hex(c.Color), c.Count, round2(100 * c.Share)})
	}
	return list
}

func round2(v float64) float64 { return math.Round(v*100) / 100 }

type boxesAnswer struct {
	Count       int         `json:"count"`
	Color       string      `json:"color"`
	Tolerance   float64     `json:"tolerance"`
	Boxes       []boxAnswer `json:"boxes"`
	FilledCount int         `json:"filled_count"`
	Filled      []boxAnswer `json:"filled"`
	Small       int         `json:"rejected_small_components"`
	Other       int         `json:"other_components"`
}

type boxAnswer struct {
	ID     string `json:"id"`
	X      int    `json:"x"`
	Y      int    `json:"y"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Area   int    `json:"area"`
	CX     int    `json:"cx"`
	CY     int    `json:"cy"`
	Shared bool   `json:"shares_border,omitempty"`
}

func (a *measureArguments) boxes(m *imaging.Image, out *measured) {
	if a.box == nil {
		out.Abstained = append(out.Abstained, abstention{"box count", "box_color was not given; without the colour of the border a count would be a guess"})
		return
	}
	rep := measure.Boxes(m, measure.BoxOptions{Color: *a.box, Tolerance: a.tolerance, Region: a.bounds})
	out.Measurements.Boxes = &boxesAnswer{
		Count: len(rep.Outlined), Color: a.BoxColor, Tolerance: a.tolerance, Boxes: boxList("box", rep.Outlined),
		FilledCount: len(rep.Filled), Filled: boxList("filled", rep.Filled), Small: rep.Small, Other: rep.Other,
	}
	if n := max(len(rep.Outlined), len(rep.Filled)); n > maxListedBoxes {
		out.Notes = append(out.Notes, fmt.Sprintf("Of the boxes found, the first %d from the top are listed; count and filled_count count all.", maxListedBoxes))
	}
}

func boxList(id string, found []measure.FoundBox) []boxAnswer {
	list := []boxAnswer{}
	for i, b := range found[:min(len(found), maxListedBoxes)] {
		r := b.Bounds
		list = append(list, boxAnswer{fmt.Sprintf("%s_%d", id, i+1), r.Min.X, r.Min.Y, r.Dx(), r.Dy(), b.Area, b.Centroid.X, b.Centroid.Y, b.Shared})
	}
	return list
}

type layoutAnswer struct {
	Size
	AspectRatio float64       `json:"aspect_ratio"`
	Content     contentAnswer `json:"region_content"`
}

type contentAnswer struct {
	Region        Box     `json:"region"`
	Background    string  `json:"background"`
	NonBackground int     `json:"non_background_pixels"`
	Total         int     `json:"total_pixels"`
	Ratio         float64 `json:"non_background_ratio"` // percent
	HasContent    bool    `json:"has_content"`
	ContentBox    *Box    `json:"content_box"`
}

func (a *measureArguments) layout(m *imaging.Image, out *measured) {
	rep := measure.Layout(m, measure.LayoutOptions{Region: a.bounds, Background: a.background, Tolerance: a.tolerance})
	l := &layoutAnswer{Size: Size{rep.Width, rep.Height}, AspectRatio: round2(rep.AspectRatio), Content: contentAnswer{
		Region: BoxOf(rep.Region), Background: measure.Hex(rep.Background), NonBackground: rep.NonBackground, Total: rep.Total,
		Ratio: round2(100 * float64(rep.NonBackground) / float64(max(1, rep.Total))), HasContent: rep.NonBackground > 0,
	}}
	if rep.NonBackground > 0 {
		box := BoxOf(rep.Content)
		l.Content.ContentBox = &box
	}
	out.Measurements.Layout = l
	if a.Region != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("Region content: %.2f %% of the region's pixels differ from its background %s.", l.Content.Ratio, l.Content.Background))
	}
}
