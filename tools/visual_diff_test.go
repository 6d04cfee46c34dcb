package tools

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/draw"
	"strings"
	"testing"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/model"
)

// card is a white picture with one coloured rectangle.
func card(w, h int, at image.Rectangle, c color.Color) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(m, m.Rect, image.White, image.Point{}, draw.Src)
	draw.Draw(m, at, image.NewUniform(c), image.Point{}, draw.Src)
	return m
}

var teal = color.NRGBA{0, 128, 128, 255}

func compare(t *testing.T, r *Registry, args map[string]any) (diffAnswer, Provenance, *Result) {
	t.Helper()
	if _, given := args["analyze"]; !given {
		args["analyze"] = false
	}
	res, err := r.Call(context.Background(), "visual_diff", args)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		diffAnswer
		Provenance Provenance
	}
	if err := json.Unmarshal(res.JSON, &out); err != nil {
		t.Fatal(err)
	}
	return out.diffAnswer, out.Provenance, res
}

func TestVisualDiffCountsAndBoxes(t *testing.T) {
	r := registry(t)
	before, after := card(200, 100, image.Rectangle{}, teal), card(200, 100, image.Rect(40, 30, 60, 50), teal)
	out, _, res := compare(t, r, map[string]any{"image_sources": []image.Image{before, after}})
	want := diffPlace{Box{40, 30, 20, 20}, 400, 1}
	if !out.Changed || out.Identical || out.Pixels != 400 || out.Percent != 2 || out.SizeChanged || len(out.Regions) != 1 || out.Regions[0] != want || out.Threshold != 15 || out.AA != "count" {
		t.Errorf("%+v", out)
	}
	if len(res.Images) != 1 || res.Images[0].MIMEType != "image/png" || len(res.Links) != 1 || out.DiffPath == "" || out.DiffPath != out.OutputPath {
		t.Errorf("%d pictures, %d links, %q", len(res.Images), len(res.Links), out.DiffPath)
	}
	m := decoded(t, r, out)
	if got := color.NRGBAModel.Convert(m.At(50, 40)); got != (color.NRGBA{255, 0, 255, 255}) {
		t.Errorf("a changed pixel is %v", got)
	}
}

// decoded is the picture of differences.
func decoded(t *testing.T, r *Registry, out diffAnswer) image.Image {
	t.Helper()
	data, _, err := r.env.Store.Get(store.Outputs, OutputID(out.URI))
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := image.Decode(strings.NewReader(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Every option that is flipped changes the answer.
func TestVisualDiffOptionsMatter(t *testing.T) {
	r := registry(t)
	soft := card(200, 100, image.Rect(40, 30, 60, 50), teal)
	draw.Draw(soft, image.Rect(60, 30, 61, 50), image.NewUniform(color.NRGBA{127, 191, 191, 255}), image.Point{}, draw.Src) // a softer edge: 20 pixels
	draw.Draw(soft, image.Rect(100, 60, 110, 70), image.NewUniform(color.NRGBA{252, 252, 252, 255}), image.Point{}, draw.Src)
	pair := []image.Image{card(200, 100, image.Rect(40, 30, 60, 50), teal), soft}
	for name, c := range map[string]struct {
		args                         map[string]any
		pixels, antialiased, ignored int
	}{
		"defaults":                {map[string]any{}, 20, 20, 0},
		"threshold 0":             {map[string]any{"threshold": 0}, 120, 20, 0},
		"threshold 255":           {map[string]any{"threshold": 255}, 20, 20, 0},
		"threshold 700":           {map[string]any{"threshold": 700}, 0, 0, 0},
		"antialiasing true":       {map[string]any{"antialiasing": true}, 0, 20, 0},
		"antialiasing ignore":     {map[string]any{"antialiasing": "ignore", "threshold": "0"}, 100, 20, 0},
		"antialiasing count":      {map[string]any{"antialiasing": "count"}, 20, 20, 0},
		"perceptual":              {map[string]any{"method": "perceptual"}, 100, 20, 0},
		"perceptual, all counted": {map[string]any{"method": "perceptual", "antialiasing": false}, 120, 20, 0},
		"ignored":                 {map[string]any{"threshold": 0, "ignore_regions": []Box{{90, 50, 30, 30}}}, 20, 20, 900},
		"a region":                {map[string]any{"threshold": 0, "region": Box{90, 50, 50, 50}}, 100, 0, 0},
		"a region ignored":        {map[string]any{"threshold": 0, "crop": Box{90, 50, 50, 50}, "ignore_regions": []Box{{100, 60, 10, 5}}}, 50, 0, 50},
	} {
		c.args["image_sources"] = pair
		out, prov, _ := compare(t, r, c.args)
		if out.Pixels != c.pixels || out.AntiAliased != c.antialiased || out.Ignored != c.ignored || out.Changed != (c.pixels > 0) {
			t.Errorf("%s: %d changed, %d anti-aliased, %d ignored (%s)", name, out.Pixels, out.AntiAliased, out.Ignored, out.Text)
		}
		if name == "a region" && (out.Regions[0].Box != Box{100, 60, 10, 10} || prov.Images[1].Region == nil) {
			t.Errorf("%s: %+v, want the original's pixels", name, out.Regions)
		}
	}
	green, _, _ := compare(t, r, map[string]any{"image_sources": pair, "highlight_color": "lime", "threshold": 0})
	if got := color.NRGBAModel.Convert(decoded(t, r, green).At(105, 65)); got != (color.NRGBA{0, 255, 0, 255}) {
		t.Errorf("highlight_color lime paints %v", got)
	}
}

func TestVisualDiffOfSizesAndOfNothing(t *testing.T) {
	r := registry(t)
	small, tall := card(100, 50, image.Rectangle{}, teal), card(100, 51, image.Rectangle{}, teal)
	out, _, _ := compare(t, r, map[string]any{"image_sources": []image.Image{small, tall}})
	if !out.SizeChanged || !out.Changed || out.Pixels != 100 || out.Canvas != (Size{100, 51}) || !strings.Contains(out.Text, "100x50 to 100x51") {
		t.Errorf("%+v", out)
	}
	out, _, _ = compare(t, r, map[string]any{"image_sources": []image.Image{small, small}})
	if !out.Identical || out.Changed || out.Pixels != 0 {
		t.Errorf("the same picture twice: %+v", out)
	}
	out, prov, _ := compare(t, r, map[string]any{"image_sources": []image.Image{small, small}, "ignore_regions": []Box{{0, 0, 100, 50}}})
	if out.Identical || out.Ignored != 5000 || len(prov.Warnings) != 1 {
		t.Errorf("everything ignored: identical %v, warnings %q", out.Identical, prov.Warnings)
	}
}

func TestVisualDiffRefuses(t *testing.T) {
	r := registry(t)
	m := card(60, 40, image.Rectangle{}, teal)
	small := card(30, 40, image.Rectangle{}, teal)
	for name, c := range map[string]struct {
		args map[string]any
		says string
	}{
		"one image":        {map[string]any{"image_sources": []image.Image{m}}, "image_sources"},
		"three images":     {map[string]any{"image_sources": []image.Image{m, m, m}}, "image_sources"},
		"threshold":        {map[string]any{"image_sources": []image.Image{m, m}, "threshold": 766}, "765"},
		"colour":           {map[string]any{"image_sources": []image.Image{m, m}, "highlight_color": "mauve-ish"}, "highlight_color"},
		"antialiasing":     {map[string]any{"image_sources": []image.Image{m, m}, "antialiasing": "maybe"}, "ignore"},
		"method":           {map[string]any{"image_sources": []image.Image{m, m}, "method": "ssim"}, "method"},
		"align":            {map[string]any{"image_sources": []image.Image{m, m}, "align": "center"}, "align"},
		"region too large": {map[string]any{"image_sources": []image.Image{m, small}, "region": Box{0, 0, 50, 40}}, "30x40"},
	} {
		_, err := r.Call(context.Background(), "visual_diff", c.args)
		var e *Error
		if !errors.As(err, &e) || e.Code != InvalidArgument || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want INVALID_ARGUMENT with %q", name, err, c.says)
		}
	}
}

// scripted answers every question alike, or fails; it has nothing to list.
type scripted struct {
	model.Model
	asked []*model.Request
	err   error
}

func (s *scripted) Chat(_ context.Context, r *model.Request, _ func(string)) (*model.Response, error) {
	s.asked = append(s.asked, r)
	if s.err != nil {
		return nil, s.err
	}
	return &model.Response{Text: "a square appeared", Model: r.Model}, nil
}

func TestTheModelIsToldWhatWasMeasured(t *testing.T) {
	r := registry(t)
	m := &scripted{}
	r.env.Models, r.env.HeavyModel = map[string]model.Model{"": m}, "heavy"
	before, after := card(200, 100, image.Rectangle{}, teal), card(200, 100, image.Rect(40, 30, 60, 50), teal)
	out, prov, _ := compare(t, r, map[string]any{"image_sources": []image.Image{before, after}, "analyze": true})
	if out.Analysis == nil || *out.Analysis != "a square appeared" || prov.Model != "heavy" || len(m.asked) != 1 {
		t.Fatalf("analysis %v by %q, asked %d times", out.Analysis, prov.Model, len(m.asked))
	}
	if q := m.asked[0]; len(q.Images) != 2 || !strings.Contains(q.Prompt, "400 of 20000 pixels") || !strings.Contains(q.Prompt, "left 40, top 30") {
		t.Errorf("the model was asked %q with %d images", q.Prompt, len(q.Images))
	}
	out, prov, _ = compare(t, r, map[string]any{"image_sources": []image.Image{before, before}, "analyze": true})
	if out.Analysis != nil || len(m.asked) != 1 || len(prov.Warnings) != 1 {
		t.Errorf("identical images reached the model: %d calls, %q", len(m.asked), prov.Warnings)
	}
	m.err = &model.Error{Kind: model.KindUnavailable, Err: errors.New("nobody there")}
	out, prov, _ = compare(t, r, map[string]any{"image_sources": []image.Image{before, after}, "analyze": true})
	if !out.Success || out.Pixels != 400 || len(prov.Warnings) != 1 || !strings.Contains(prov.Warnings[0], "nobody there") {
		t.Errorf("without a model: %+v, warnings %q", out, prov.Warnings)
	}
}
