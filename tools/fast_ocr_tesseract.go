package tools

import (
	"context"
	"errors"

	"github.com/visions-mcp/visions/ocr"
)

var fastOCRTesseract = Tool{
	Name:        "fast_ocr_tesseract",
	Title:       "Read text in an image",
	Description: "Reads the text of a screenshot, page or photo with Tesseract, without a model. Cells of tables are parted by tabs. Ask for words to learn where each stands.",
	Group:       "ocr",
	Input: Object([]string{"image_source"},
		Image("image_source", "Image to read."),
		Property{"language", Schema{Type: "string", Description: `Code, or several: eng+deu.`, Default: "eng"}},
		Property{"languages", Schema{Type: "array", Items: &Schema{Type: "string"}, Description: "Instead of language."}},
		Choice("mode", "auto picks by the image, and reads it twice where that pays.", "auto", "fast", "document", "screenshot", "table", "line"),
		Region("region", "Part to read, in pixels."),
		Number("min_confidence", "Drops words below.", 0, 1),
		Flag("words", "Return words and lines with boxes.", false),
	).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "text", "confidence"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"text", Schema{Type: "string", Description: "A line for each line or row."}},
		{"confidence", Schema{Type: "number", Description: "Mean over the words, 0 to 1."}},
		{"word_count", Schema{Type: "integer"}},
		{"words", Schema{Type: "array", Items: &Schema{Type: "object", Open: true}, Description: "Boxes are in pixels of the upright original."}},
		{"lines", Schema{Type: "array", Items: &Schema{Type: "object", Open: true}, Description: "Their words are indexes into words."}},
	}}.JSON(),
	Handle: handleOCR,
}

// ocrWord is a word of an answer.
type ocrWord struct {
	Text       string  `json:"text"`
	Box        Box     `json:"box"`
	Confidence float64 `json:"confidence"`
}

// ocrLine is a line of an answer.
type ocrLine struct {
	Text  string `json:"text"`
	Box   Box    `json:"box"`
	Words []int  `json:"words"`
}

// ocrAnswer is the JSON of fast_ocr_tesseract.
type ocrAnswer struct {
	Success    bool      `json:"success"`
	Text       string    `json:"text"`
	Confidence float64   `json:"confidence"`
	Count      int       `json:"word_count"`
	Engine     string    `json:"engine"`
	Version    string    `json:"engine_version"`
	Languages  []string  `json:"languages"`
	Words      []ocrWord `json:"words,omitempty"`
	Lines      []ocrLine `json:"lines,omitempty"`
}

func handleOCR(ctx context.Context, c *Call) (*Result, error) {
	var a struct {
		Language      string   `json:"language"`
		Languages     []string `json:"languages"`
		Mode          string   `json:"mode"`
		Region        *Box     `json:"region"`
		MinConfidence float64  `json:"min_confidence"`
		Words         bool     `json:"words"`
	}
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	if len(a.Languages) == 0 && a.Language != "" {
		a.Languages = []string{a.Language}
	}
	info, err := c.OCR.Info(ctx)
	if err != nil {
		return nil, err
	}
	// A language that is missing is told before the image is fetched.
	languages, err := ocr.CheckLanguages(a.Languages, info.Languages)
	if err != nil {
		return nil, err
	}
	pictures, err := c.Images(ctx, "image_source")
	if err != nil {
		return nil, err
	}
	part, where, err := c.Region(ctx, pictures[0], 0, a.Region)
	if err != nil {
		return nil, err
	}
	o := ocr.Options{Languages: languages, Mode: ocr.Mode(a.Mode), MinConfidence: a.MinConfidence, Lossy: pictures[0].Info.Format == "jpeg"}
	var res *ocr.Result
	// The pool of clients bounds this work, and the engine runs beside the host:
	// it takes no place that pixel work needs.
	err = c.Wait(ctx, func() error {
		Report(ctx, "reading the text", 0, 0)
		res, err = c.OCR.Recognize(ctx, part, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := ocrAnswer{
		Success: true, Text: res.Text, Confidence: round3(res.Confidence), Count: len(res.Words),
		Engine: res.Engine.Engine, Version: res.Engine.Version, Languages: languages,
	}
	if a.Words {
		for _, w := range res.Words {
			answer.Words = append(answer.Words, ocrWord{w.Text, BoxOf(w.Box.Add(where.Min)), round3(w.Confidence)})
		}
		for _, l := range res.Lines {
			answer.Lines = append(answer.Lines, ocrLine{l.Text, BoxOf(l.Box.Add(where.Min)), l.Words})
		}
	}
	prov := c.Provenance("tesseract " + res.Engine.Version + " by " + res.Engine.Engine)
	prov.Applied = res.Applied
	prov.Warnings = append(prov.Warnings, res.Warnings...)
	return &Result{Value: answer, Provenance: prov}, nil
}

// round3 keeps three places of a confidence.
func round3(v float64) float64 { return float64(int(v*1000+0.5)) / 1000 }

func fromOCR(err error) *Error {
	for _, k := range []struct {
		is     error
		code   Code
		advice string
	}{
		{ocr.ErrUnavailable, OCRUnavailable, "apt-get install tesseract-ocr; everything but OCR works without it"},
		{ocr.ErrLanguage, OCRLanguage, "check_vision_health lists the installed languages"},
		{ocr.ErrTooLarge, ImageTooLarge, "give a region"},
		{ocr.ErrInvalid, InvalidArgument, ""},
		{ocr.ErrClosed, Cancelled, ""},
		{ocr.ErrEngine, Internal, "call again; if it fails again, report the image"},
	} {
		if errors.Is(err, k.is) {
			e := &Error{Code: k.code, Message: err.Error()}
			if k.advice != "" {
				e.Suggest(k.advice)
			}
			return e
		}
	}
	return nil
}
