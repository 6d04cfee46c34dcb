package tools

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"os"
	"strings"
	"testing"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// write puts a line of text of a size in pixels on a picture.
func write(t testing.TB, m draw.Image, x, y int, s string, size float64, ink color.Color) {
	t.Helper()
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		t.Fatal(err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72})
	if err != nil {
		t.Fatal(err)
	}
	d := font.Drawer{Dst: m, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(x, y)}
	d.DrawString(s)
}

// form is a white page with a passing heading, a failing note, and two boxes.
func form(t testing.TB) *image.NRGBA {
	m := card(600, 300, image.Rectangle{}, teal)
	write(t, m, 40, 50, "Invoices of this month", 24, color.NRGBA{0x22, 0x22, 0x22, 255})
	write(t, m, 40, 90, "Nobody can read what is written here", 16, color.NRGBA{0xaa, 0xaa, 0xaa, 255})
	for _, x := range []int{40, 320} {
		draw.Draw(m, image.Rect(x, 120, x+240, 200), image.NewUniform(teal), image.Point{}, draw.Src)
		draw.Draw(m, image.Rect(x+2, 122, x+238, 198), image.White, image.Point{}, draw.Src)
	}
	return m
}

func measureForm(t *testing.T, r *Registry, args map[string]any) (measured, Provenance, *Result) {
	t.Helper()
	if args["image_source"] == nil {
		args["image_source"] = form(t)
	}
	res, err := r.Call(context.Background(), "measure_image", args)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		measured
		Provenance Provenance
	}
	if err := json.Unmarshal(res.JSON, &out); err != nil {
		t.Fatal(err)
	}
	return out.measured, out.Provenance, res
}

func TestMeasureContrast(t *testing.T) {
	out, _, _ := measureForm(t, registry(t), map[string]any{"mode": "contrast"})
	c := out.Measurements.Contrast
	if c == nil || out.Measurements.Colors != nil || out.Measurements.Boxes != nil || out.Measurements.Layout != nil {
		t.Fatalf("mode contrast measures %+v", out.Measurements)
	}
	if c.Verdict != "failing" || c.AllMeetAA == nil || *c.AllMeetAA || c.FailingCount != 1 || c.PassingCount != 1 || c.Evaluated != 2 || len(c.Colours) != 2 {
		t.Fatalf("%+v", c)
	}
	worst := c.Colours[0]
	if worst.Foreground != "#aaaaaa" || worst.Against != "#ffffff" || worst.Ratio != 2.32 || worst.AA || worst.Nearest != "#767676" || !worst.Verified {
		t.Errorf("worst: %+v", worst)
	}
	if best := c.Colours[1]; best.Foreground != "#222222" || best.Ratio != 15.91 || !best.AA || !best.AAA {
		t.Errorf("best: %+v", best)
	}
	if c.Worst.Foreground != worst.Foreground || *c.Ratio != worst.Ratio || len(c.Failing) != 1 || c.Failing[0].Nearest != "#767676" {
		t.Errorf("summary: worst %+v, failing %+v", c.Worst, c.Failing)
	}
	if b := c.Failing[0].Box; b == nil || b.Left < 38 || b.Left > 44 || b.Top < 74 || b.Top > 80 {
		t.Errorf("the failing text is said to be at %+v", b)
	}
	if len(c.Graphics) == 0 || c.Graphics[0].Foreground != "#008080" || !c.Graphics[0].Meets {
		t.Errorf("graphics: %+v", c.Graphics)
	}
}

func TestMeasureNotesStandOnce(t *testing.T) {
	out, _, _ := measureForm(t, registry(t), map[string]any{"mode": "all", "tile_size": 48, "region": Box{0, 0, 600, 220}})
	seen := map[string]bool{}
	for _, n := range append(out.Notes, out.Measurements.Contrast.Notes...) {
		if seen[n] {
			t.Errorf("note twice: %s", n)
		}
		seen[n] = true
	}
	if len(out.Abstained) != 1 || !strings.Contains(out.Abstained[0].Reason, "box_color") {
		t.Errorf("abstained: %+v", out.Abstained)
	}
	if all := strings.Join(out.Measurements.Contrast.Notes, "\n"); !strings.Contains(all, "tile_size") || !strings.Contains(all, "#aaaaaa on #ffffff at 2.32:1") {
		t.Errorf("notes: %s", all)
	}
}

// Every option that is flipped changes the answer.
func TestMeasureOptionsMatter(t *testing.T) {
	r := registry(t)
	verdict := func(args map[string]any) string {
		args["mode"] = "contrast"
		out, _, _ := measureForm(t, r, args)
		return out.Measurements.Contrast.Verdict
	}
	for name, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"the heading alone":   {map[string]any{"region": Box{0, 0, 600, 65}}, "clean"},
		"the note alone":      {map[string]any{"crop": Box{0, 65, 600, 40}}, "failing"},
		"nothing there":       {map[string]any{"region": Box{0, 210, 600, 80}}, "unverified"},
		"large text":          {map[string]any{"large_text": true}, "failing"},
		"decorative":          {map[string]any{"decorative_colors": []string{"#aaa"}}, "clean"},
		"on another ground":   {map[string]any{"background_color": "black", "region": Box{0, 65, 600, 40}}, "clean"},
		"graphics, that pass": {map[string]any{"include_decorative": true, "region": Box{0, 0, 600, 65}}, "clean"},
	} {
		if got := verdict(c.args); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	out, _, _ := measureForm(t, r, map[string]any{"mode": "contrast", "large_text": true, "background_mode": "local"})
	if c := out.Measurements.Contrast; c.RequiredAA != 3 || c.RequiredAAA != 4.5 || c.Background != nil {
		t.Errorf("large text, local: %+v", c)
	}
}

func TestMeasureBoxesColoursLayout(t *testing.T) {
	out, _, _ := measureForm(t, registry(t), map[string]any{"box_color": "teal", "region": Box{10, 10, 580, 280}})
	b := out.Measurements.Boxes
	if b.Count != 2 || b.Color != "teal" || b.Tolerance != 24 || b.Boxes[1].ID != "box_2" || b.Boxes[1].X != 320 || b.Boxes[1].Y != 120 || b.Boxes[1].Width != 240 || b.Boxes[1].Height != 80 {
		t.Errorf("boxes: %+v", b)
	}
	if c := out.Measurements.Colors; len(c) < 2 || c[0].Hex != "#ffffff" || c[0].RGB != (rgb{255, 255, 255}) || c[0].Share < 90 {
		t.Errorf("colours: %+v", c)
	}
	l := out.Measurements.Layout
	if l.Width != 600 || l.Height != 300 || l.AspectRatio != 2 || l.Content.Background != "#ffffff" || !l.Content.HasContent || l.Content.Region != (Box{10, 10, 580, 280}) || l.Content.ContentBox.Left < 38 {
		t.Errorf("layout: %+v", l)
	}
	if out.Region == nil || out.Dimensions.Width != 600 {
		t.Errorf("region %v, dimensions %+v", out.Region, out.Dimensions)
	}
}

func TestMeasureAnnotates(t *testing.T) {
	_, _, plain := measureForm(t, registry(t), map[string]any{"mode": "contrast"})
	_, _, res := measureForm(t, registry(t), map[string]any{"mode": "contrast", "annotate": true})
	if len(plain.Images) != 0 || len(res.Images) != 1 {
		t.Fatalf("%d pictures without annotate, %d with", len(plain.Images), len(res.Images))
	}
	m, _, err := image.Decode(strings.NewReader(string(res.Images[0].Data)))
	if err != nil || m.Bounds().Dx() != 600 {
		t.Fatal(err)
	}
	red := 0
	for x := range 600 {
		if color.NRGBAModel.Convert(m.At(x, 72)) == failingColor {
			red++
		}
	}
	if red < 200 {
		t.Errorf("%d pixels of a frame over the failing text", red)
	}
}

func TestMeasureRefuses(t *testing.T) {
	r := registry(t)
	for name, c := range map[string]struct {
		args map[string]any
		says string
	}{
		"mode":              {map[string]any{"mode": "size"}, "mode"},
		"region outside":    {map[string]any{"region": Box{500, 0, 200, 10}}, "600x300"},
		"negative region":   {map[string]any{"region": Box{-5, 0, 20, 10}}, "left -5"},
		"bad colour":        {map[string]any{"box_color": "#1g2233"}, "box_color"},
		"bad decorative":    {map[string]any{"decorative_colors": []string{"#fff", "nope"}}, "decorative_colors[1]"},
		"tile_size 0":       {map[string]any{"tile_size": 0}, "tile_size"},
		"tile_size 0.5":     {map[string]any{"tile_size": 0.5}, "tile_size"},
		"noise_factor -1":   {map[string]any{"noise_factor": -1}, "noise_factor"},
		"ink_threshold 500": {map[string]any{"ink_threshold": 500}, "ink_threshold"},
		"tolerance 500":     {map[string]any{"tolerance": 500}, "tolerance"},
	} {
		c.args["image_source"] = form(t)
		_, err := r.Call(context.Background(), "measure_image", c.args)
		var e *Error
		if !errors.As(err, &e) || e.Code != InvalidArgument || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want INVALID_ARGUMENT with %q", name, err, c.says)
		}
	}
}

func TestTransparencyIsMeasuredOnWhite(t *testing.T) {
	data, err := os.ReadFile("../internal/imaging/testdata/images/transparent-white-text.png")
	if err != nil {
		t.Fatal(err)
	}
	out, prov, _ := measureForm(t, registry(t), map[string]any{"image_source": data, "mode": "contrast"})
	if out.Measurements.Contrast.Verdict == "clean" || len(prov.Warnings) == 0 {
		t.Errorf("white text on nothing: %s, warnings %q", out.Measurements.Contrast.Verdict, prov.Warnings)
	}
}
