package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
)

func TestReadingTheDemoPage(t *testing.T) {
	data, err := os.ReadFile("../examples/demo/page.png")
	if err != nil {
		t.Fatal(err)
	}
	r := registry(t)
	res, err := r.Call(t.Context(), "fast_ocr_tesseract", map[string]any{
		"image_source": data, "words": "true", "region": map[string]int{"left": 230, "top": 90, "width": 1020, "height": 150}, "languages": []string{"eng"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Text       string
		Confidence float64
		Words      []ocrWord
		Lines      []ocrLine
		Provenance struct{ Applied []string }
	}
	if err := json.Unmarshal(res.JSON, &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Words) < 5 || len(out.Lines) < 2 || out.Confidence < 0.8 || len(out.Provenance.Applied) == 0 {
		t.Fatalf("read %s", res.JSON)
	}
	for _, w := range out.Words {
		if w.Box.Left < 230 || w.Box.Top < 90 || w.Box.Left+w.Box.Width > 1250 || w.Box.Top+w.Box.Height > 240 {
			t.Errorf("%q is at %+v, outside the region", w.Text, w.Box)
		}
	}
}

func TestReadingThatCannotBe(t *testing.T) {
	r := registry(t)
	img := noise(64, 48)
	for name, c := range map[string]struct {
		args map[string]any
		code Code
		says string
	}{
		"no such language": {map[string]any{"image_source": img, "language": "xyz"}, OCRLanguage, "installed: "},
		"a path":           {map[string]any{"image_source": img, "language": "../eng"}, OCRLanguage, "no language code"},
		"mode":             {map[string]any{"image_source": img, "mode": "guess"}, InvalidArgument, "screenshot"},
		"confidence":       {map[string]any{"image_source": img, "min_confidence": 80}, InvalidArgument, "1"},
	} {
		_, err := r.Call(context.Background(), "fast_ocr_tesseract", c.args)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
	r.env.OCR = ocr.New(ocr.Config{Engine: program.New(program.Config{Path: "no-such-program"})})
	_, err := r.Call(context.Background(), "fast_ocr_tesseract", map[string]any{"image_source": img})
	var e *Error
	if !errors.As(err, &e) || e.Code != OCRUnavailable || !strings.Contains(e.Message, "apt-get install tesseract-ocr") {
		t.Errorf("without an engine: %v", err)
	}
	if h := r.env.Health(t.Context()); h.OCR.Available || h.OCR.Engine != "none" || h.Status != "degraded" {
		t.Errorf("health without an engine: %+v", h.OCR)
	}
}
