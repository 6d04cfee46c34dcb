package tools

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/source"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/measure"
	"github.com/visions-mcp/visions/model"
)

// Bounds of the lists of visual_diff.
const (
	maxIgnoreRegions = 100
	maxDiffRegions   = 100 // of the answer; the count tells how many there are
)

var visualDiff = Tool{
	Name:        "visual_diff",
	Title:       "Compare two screenshots",
	Description: "Compares two images pixel by pixel: counts, the changed regions as boxes, largest first, and a picture that marks them. Different sizes are compared from the top left, never resized. A vision model can describe the change.",
	Group:       "measure",
	Writes:      true,
	Input: Object([]string{"image_sources"},
		Property{"image_sources", pairSchema()},
		Number("threshold", "What the sum of a pixel's channel differences must exceed; default 15, for perceptual 0.", 0, measure.MaxDiffThreshold),
		Property{"highlight_color", Schema{Type: "string", Description: "CSS colour.", Default: "#FF00FF"}},
		Flag("analyze", "Let a vision model describe it.", true),
		Choice("method", "rgb: every difference. perceptual: what a person sees; redrawn edges and a caret are counted apart.", "rgb", "perceptual"),
		Property{"antialiasing", Schema{Description: `"ignore" leaves out pixels that differ as anti-aliased edges only, "count" does not; default by method.`}},
		Property{"ignore_regions", ignoreSchema()},
		Choice("align", "", "top-left"),
		Region("region", "Part of both, in pixels."),
	).And(modelInputs...).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "changed", "changed_pixels", "changed_percent", "size_changed", "changed_regions", "diff_file_path"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"changed", Schema{Type: "boolean"}},
		{"identical", Schema{Type: "boolean"}},
		{"changed_pixels", Schema{Type: "integer", Description: "Without what is left out."}},
		{"changed_percent", Schema{Type: "number", Description: "Of the canvas less what is ignored."}},
		{"antialiased_pixels", Schema{Type: "integer"}},
		{"caret_pixels", Schema{Type: "integer"}},
		{"ignored_pixels", Schema{Type: "integer"}},
		{"size_changed", Schema{Type: "boolean"}},
		{"changed_regions", Schema{Type: "array", Items: &Schema{Type: "object", Open: true}, Description: "{box, pixels}, largest first."}},
		{"diff_file_path", Schema{Type: "string"}},
		{"analysis", Schema{Description: "The model's."}},
		{"text", Schema{Type: "string", Description: "The facts in words."}},
	}}.JSON(),
	Handle: handleVisualDiff,
}

func pairSchema() Schema {
	item := Image("", "").Schema
	item.Description = ""
	two := 2
	return Schema{Type: "array", Items: &item, MinItems: &two, MaxItems: &two,
		Description: "Two images: before, after. " + imageWays}
}

func ignoreSchema() Schema {
	item := Region("", "").Schema
	most := maxIgnoreRegions
	return Schema{Type: "array", Items: &item, MaxItems: &most, Description: "Not compared, in pixels."}
}

type diffArguments struct {
	modelArguments
	Threshold    *float64 `json:"threshold"`
	Highlight    string   `json:"highlight_color"`
	Analyze      bool     `json:"analyze"`
	Method       string   `json:"method"`
	AntiAliasing any      `json:"antialiasing"`
	Ignore       []Box    `json:"ignore_regions"`
	Region       *Box     `json:"region"`
}

// diffAnswer is the JSON of visual_diff.
type diffAnswer struct {
	Success     bool        `json:"success"`
	Changed     bool        `json:"changed"`
	Identical   bool        `json:"identical"`
	Text        string      `json:"text"`
	Method      string      `json:"method"`
	Threshold   float64     `json:"threshold"`
	AA          string      `json:"antialiasing"`
	Pixels      int         `json:"changed_pixels"`
	Percent     float64     `json:"changed_percent"`
	AntiAliased int         `json:"antialiased_pixels"`
	Caret       int         `json:"caret_pixels"`
	Ignored     int         `json:"ignored_pixels"`
	Total       int         `json:"total_pixels"`
	MaxDelta    int         `json:"max_channel_delta"`
	SizeChanged bool        `json:"size_changed"`
	Before      Size        `json:"before"`
	After       Size        `json:"after"`
	Canvas      Size        `json:"canvas"`
	Regions     []diffPlace `json:"changed_regions"`
	RegionCount int         `json:"changed_region_count"`
	Analysis    *string     `json:"analysis"`
	DiffPath    string      `json:"diff_file_path"` // the source's name for it
	OutputPath  string      `json:"output_file_path"`
	URI         string      `json:"uri"`
	Expires     string      `json:"expires"`
}

type diffPlace struct {
	Box     Box     `json:"box"`
	Pixels  int     `json:"pixels"`
	Density float64 `json:"density"`
}

func handleVisualDiff(ctx context.Context, c *Call) (*Result, error) {
	var a diffArguments
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	o, err := a.options()
	if err != nil {
		return nil, err
	}
	highlight, err := colorArgument("highlight_color", a.Highlight)
	if err != nil {
		return nil, err
	}
	req, err := c.request(a.modelArguments, c.HeavyModel)
	if err != nil {
		return nil, err
	}
	before, after, origin, err := c.pair(ctx, &a)
	if err != nil {
		return nil, err
	}
	canvas := image.Rectangle{Max: image.Pt(max(before.Width(), after.Width()), max(before.Height(), after.Height()))}
	for i, b := range a.Ignore {
		r := b.Rect().Sub(origin)
		if !r.Overlaps(canvas) {
			c.Warn("ignore_regions[%d] lies outside of what is compared and ignores nothing", i)
		}
		o.Ignore = append(o.Ignore, r)
	}
	var rep *measure.DiffReport
	picture := Picture{Title: "differences"}
	var file bytes.Buffer
	err = c.Pixels(ctx, func() (err error) {
		if rep, err = measure.Diff(ctx, before, after, o); err != nil {
			return err
		}
		marked := markDiff(before, after, rep, highlight)
		picture.Image, picture.Reduced = shrinkDiff(marked, rep.Classes, maxBlockSide)
		return imaging.EncodePNG(&file, marked, imaging.Fast)
	})
	if err != nil {
		return nil, err
	}
	ref, err := c.keep(ctx, "png", file.Bytes())
	if err != nil {
		return nil, err
	}
	answer := a.answer(rep, o, origin)
	answer.DiffPath, answer.OutputPath, answer.URI = c.Store.Path(ref), c.Store.Path(ref), OutputURI(ref)
	answer.Expires = ref.Expires.UTC().Format("2006-01-02T15:04:05Z")
	if rep.Ignored == len(rep.Classes) && rep.Ignored > 0 {
		c.Warn("ignore_regions cover everything: nothing was compared, so this says nothing about the images")
	}
	prov := c.Provenance("measure")
	if a.Analyze {
		req.Prompt, req.Images = diffPrompt(answer), imageList(before, after)
		if err := c.describeDiff(ctx, answer, req, prov); err != nil {
			return nil, err
		}
	}
	if picture.File = &ref; picture.Reduced == 1 {
		picture.Encoded = file.Bytes()
	}
	return &Result{Value: answer, Provenance: prov, Pictures: []Picture{picture}}, nil
}

// keep writes a file to the output store.
func (c *Call) keep(ctx context.Context, ext string, data []byte) (ref store.Ref, err error) {
	err = c.Wait(ctx, func() (err error) {
		ref, err = c.Store.Put(store.Outputs, ext, data)
		return err
	})
	return ref, err
}

// options reads what counts as a change.
func (a *diffArguments) options() (measure.DiffOptions, error) {
	o := measure.DiffOptions{Threshold: measure.DefaultDiffThreshold, CountAntiAliased: true}
	if a.Method == "perceptual" {
		o.Method, o.Threshold = measure.DiffPerceptual, 0
	}
	if a.Threshold != nil {
		o.Threshold = *a.Threshold
	}
	leaveOut := o.Method == measure.DiffPerceptual
	switch v := coerce(map[string]any{"type": "boolean"}, a.AntiAliasing); v {
	case nil:
	case true, "ignore":
		leaveOut = true
	case false, "count":
		leaveOut = false
	default:
		return o, Errorf(InvalidArgument, `antialiasing is %v: want true or "ignore", false or "count"`, v)
	}
	o.LeaveOutAntiAliased, o.KeepAntiAliased = leaveOut, !leaveOut
	return o, nil
}

// colorArgument reads a CSS colour; alpha is dropped.
func colorArgument(name, text string) (color.NRGBA, error) {
	c, err := measure.ParseColor(text)
	if err != nil {
		return c, Errorf(InvalidArgument, "%s: %w", name, err)
	}
	c.A = math.MaxUint8
	return c, nil
}

// pair fetches both images and cuts the region out of each.
func (c *Call) pair(ctx context.Context, a *diffArguments) (before, after *imaging.Image, origin image.Point, err error) {
	var pictures []*source.Picture
	if pictures, err = c.Images(ctx, "image_sources"); err != nil {
		return nil, nil, origin, err
	}
	if len(pictures) != 2 {
		return nil, nil, origin, Errorf(InvalidArgument, "image_sources has %d images, want exactly 2: before, after", len(pictures))
	}
	var cut [2]*imaging.Image
	for i, p := range pictures {
		var r image.Rectangle
		if cut[i], r, err = c.Region(ctx, p, i, a.Region); err != nil {
			return nil, nil, origin, fmt.Errorf("image_sources[%d]: %w", i, err)
		}
		if a.Region != nil {
			origin = r.Min
		}
	}
	return cut[0], cut[1], origin, nil
}

// answer puts the report into words and JSON, in pixels of the originals.
func (a *diffArguments) answer(rep *measure.DiffReport, o measure.DiffOptions, origin image.Point) *diffAnswer {
	out := &diffAnswer{
		Success: true, Changed: rep.Changed > 0 || rep.SizeChanged, Identical: rep.Equal && rep.Ignored == 0,
		Method: a.Method, Threshold: o.Threshold, AA: "count", Pixels: rep.Changed, Percent: percent(rep.ChangedShare),
		AntiAliased: rep.AntiAliased, Caret: rep.Caret, Ignored: rep.Ignored, Total: len(rep.Classes), MaxDelta: rep.MaxDelta, SizeChanged: rep.SizeChanged,
		Before: Size{rep.Before.X, rep.Before.Y}, After: Size{rep.After.X, rep.After.Y}, Canvas: Size{rep.Canvas.X, rep.Canvas.Y},
		Regions: []diffPlace{}, RegionCount: len(rep.Regions),
	}
	if o.LeaveOutAntiAliased {
		out.AA = "ignore"
	}
	for _, r := range rep.Regions[:min(len(rep.Regions), maxDiffRegions)] {
		out.Regions = append(out.Regions, diffPlace{BoxOf(r.Bounds.Add(origin)), r.Pixels, math.Round(r.Density*1e4) / 1e4})
	}
	out.Text = out.words()
	return out
}

// percent rounds a share to four decimals of a percent, but keeps what is not
// nothing from becoming 0.
func percent(share float64) float64 {
	p := math.Round(share*1e6) / 1e4
	if p == 0 && share > 0 {
		return share * 100
	}
	return p
}

// words says what was measured.
func (d *diffAnswer) words() string {
	var b strings.Builder
	compared := d.Total - d.Ignored
	switch {
	case compared == 0:
		b.WriteString("Nothing was compared: all is ignored.")
	case d.Pixels == 0 && d.AntiAliased+d.Caret == 0:
		fmt.Fprintf(&b, "No pixel of %d differs by more than %g.", compared, d.Threshold)
	case d.Pixels == 0:
		b.WriteString("Nothing changed that a person would see.")
	default:
		fmt.Fprintf(&b, "%d of %d pixels changed (%.4g %%), in %s.", d.Pixels, compared, d.Percent, plural(d.RegionCount, "region"))
	}
	if d.SizeChanged {
		fmt.Fprintf(&b, " The size changed from %dx%d to %dx%d.", d.Before.Width, d.Before.Height, d.After.Width, d.After.Height)
	}
	for _, part := range []struct {
		n    int
		what string
	}{{d.AntiAliased, "differ only as anti-aliased edges"}, {d.Caret, "are a text caret"}, {d.Ignored, "were ignored"}} {
		if part.n > 0 {
			fmt.Fprintf(&b, " %d pixels %s.", part.n, part.what)
		}
	}
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// promptRegions is how many regions the model is told.
const promptRegions = 12

// diffPrompt asks for a description and gives the model the measured facts, so
// that it has nothing to guess.
func diffPrompt(d *diffAnswer) string {
	var b strings.Builder
	b.WriteString("The first image is a screenshot before a change, the second one after it. Measured: ")
	b.WriteString(d.Text)
	for i, r := range d.Regions[:min(len(d.Regions), promptRegions)] {
		fmt.Fprintf(&b, "\nRegion %d: left %d, top %d, %d wide, %d high, %d changed pixels.", i+1, r.Box.Left, r.Box.Top, r.Box.Width, r.Box.Height, r.Pixels)
	}
	b.WriteString("\nDescribe briefly what a user would notice in these regions. Do not name changes elsewhere, and do not estimate numbers.")
	return b.String()
}

// describeDiff lets the model describe a change. Without one, and without an
// answer, the measured part stands alone.
func (c *Call) describeDiff(ctx context.Context, answer *diffAnswer, req *model.Request, prov *Provenance) error {
	if !answer.Changed {
		prov.Warnings = append(prov.Warnings, "the model was not asked: there is no change to describe")
		return nil
	}
	res, err := c.Chat(ctx, req, prov)
	switch {
	case err == nil:
		answer.Analysis = &res.Text
	case ctx.Err() != nil:
		return err
	default:
		prov.Warnings = append(prov.Warnings, fmt.Sprintf("no description by a model: %s", AsError(err).Message))
	}
	return nil
}
