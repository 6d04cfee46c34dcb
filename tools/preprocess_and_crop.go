package tools

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
)

// Bounds of the arguments.
const (
	maxResize      = 8192 // pixels a side
	maxMedian      = 5    // pixels
	minTiles       = 2
	maxTiles       = 32
	maxClip        = 40
	minSharpen     = 0.3 // sigma in pixels
	maxSharpen     = 10
	fileJPEG       = 90 // quality of a saved JPEG
	maxResizePixel = imaging.DefaultPixels
)

var preprocessAndCrop = Tool{
	Name:        "preprocess_and_crop",
	Title:       "Cut and preprocess an image",
	Description: "Cuts a region out of an image and applies filters, in this order: region, rotate, resize, denoise, grayscale, clahe, sharpen, invert, threshold. Saves the result and returns it as a picture.",
	Group:       "image",
	Writes:      true,
	Input: Object([]string{"image_source"},
		Image("image_source", "Image to work on."),
		Region("region", "Part to cut out, in pixels."),
		Region("crop", "Another name of region."),
		Property{"rotate", Schema{Type: "integer", Description: "Degrees clockwise.", Enum: []any{0, 90, 180, 270}}},
		Property{"resize", resizeSchema()},
		Integer("denoise", "Median filter of this radius in pixels.", 1, maxMedian),
		Flag("grayscale", "", false),
		Property{"clahe", claheSchema()},
		Property{"sharpen", Schema{Description: "true, or the sigma of an unsharp mask (0.3 to 10 pixels)."}},
		Flag("invert", "", false),
		Property{"threshold", Schema{Type: "string", Description: "Black and white: one level (otsu), or against the surroundings.", Enum: []any{"otsu", "adaptive"}}},
		Choice("format", "", "png", "jpeg"),
		Flag("return_base64", "Return the picture; it is saved either way.", true),
	).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "width", "height", "format", "output_file_path"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"width", Schema{Type: "integer"}},
		{"height", Schema{Type: "integer"}},
		{"format", Schema{Type: "string"}},
		{"size", Schema{Type: "integer"}},
		{"output_file_path", Schema{Type: "string"}},
		{"uri", Schema{Type: "string", Description: "The same as a resource."}},
		{"expires", Schema{Type: "string"}},
	}}.JSON(),
	Handle: handlePreprocess,
}

func resizeSchema() Schema {
	s := Object(nil,
		Integer("width", "", 1, maxResize),
		Integer("height", "", 1, maxResize),
		Choice("fit", "inside keeps the proportions.", "inside", "fill"),
		Flag("enlarge", "May become larger.", false))
	return s
}

func claheSchema() Schema {
	s := Object(nil,
		Integer("tiles", "", minTiles, maxTiles),
		Number("clip", "In mean bins.", 1, maxClip))
	s.Description = "Local contrast; makes it grey. Defaults: 8 tiles, clip 4."
	return s
}

// Defaults of clahe, the usual ones for document images.
const (
	defaultTiles = 8
	defaultClip  = 4
)

type preprocessArguments struct {
	Region       *Box           `json:"region"`
	Rotate       int            `json:"rotate"`
	Resize       *resizeRequest `json:"resize"`
	Denoise      int            `json:"denoise"`
	Grayscale    bool           `json:"grayscale"`
	CLAHE        *claheRequest  `json:"clahe"`
	Sharpen      any            `json:"sharpen"`
	Invert       bool           `json:"invert"`
	Threshold    string         `json:"threshold"`
	Format       string         `json:"format"`
	ReturnBase64 bool           `json:"return_base64"`
}

type resizeRequest struct {
	Width   int    `json:"width"`
	Height  int    `json:"height"`
	Fit     string `json:"fit"`
	Enlarge bool   `json:"enlarge"`
}

type claheRequest struct {
	Tiles int     `json:"tiles"`
	Clip  float64 `json:"clip"`
}

func handlePreprocess(ctx context.Context, c *Call) (*Result, error) {
	var a preprocessArguments
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	sigma, sharpen, err := sharpenSigma(a.Sharpen)
	if err != nil {
		return nil, err
	}
	pictures, err := c.Images(ctx, "image_source")
	if err != nil {
		return nil, err
	}
	m, _, err := c.Region(ctx, pictures[0], 0, a.Region)
	if err != nil {
		return nil, err
	}
	var applied []string
	var file bytes.Buffer
	err = c.Pixels(ctx, func() error {
		var err error
		if m, applied, err = a.apply(ctx, m, sigma, sharpen); err != nil {
			return err
		}
		if a.Format == "jpeg" {
			return imaging.EncodeJPEG(&file, m, fileJPEG)
		}
		return imaging.EncodePNG(&file, m, imaging.Fast)
	})
	if err != nil {
		return nil, err
	}
	var ref store.Ref
	err = c.Wait(ctx, func() (err error) {
		ref, err = c.Store.Put(store.Outputs, map[string]string{"png": "png", "jpeg": "jpg"}[a.Format], file.Bytes())
		return err
	})
	if err != nil {
		return nil, err
	}
	prov := c.Provenance("imaging")
	prov.Applied = applied
	picture := Picture{JPEG: a.Format == "jpeg", File: &ref}
	if a.ReturnBase64 {
		picture.Image = m
		if m.Width() <= maxBlockSide && m.Height() <= maxBlockSide {
			picture.Encoded = file.Bytes()
		}
	}
	return &Result{
		Value: struct {
			Success bool   `json:"success"`
			Width   int    `json:"width"`
			Height  int    `json:"height"`
			Format  string `json:"format"`
			Size    int64  `json:"size"`
			Path    string `json:"output_file_path"`
			URI     string `json:"uri"`
			Expires string `json:"expires"`
		}{true, m.Width(), m.Height(), "image/" + a.Format, ref.Size, c.Store.Path(ref), OutputURI(ref), ref.Expires.UTC().Format("2006-01-02T15:04:05Z")},
		Provenance: prov,
		Pictures:   []Picture{picture},
	}, nil
}

// sharpenSigma reads true, false, or a sigma.
func sharpenSigma(v any) (sigma float64, on bool, err error) {
	switch v := v.(type) {
	case nil:
		return 0, false, nil
	case bool:
		return 0, v, nil
	case float64:
		if v >= minSharpen && v <= maxSharpen {
			return v, true, nil
		}
	case string:
		if coerced := coerce(map[string]any{"type": "boolean"}, v); coerced != any(v) {
			return sharpenSigma(coerced)
		}
		var f float64
		if _, err := fmt.Sscanf(v, "%g", &f); err == nil {
			return sharpenSigma(f)
		}
	}
	return 0, false, Errorf(InvalidArgument, "sharpen is %v: want true, false, or a sigma of %g to %g pixels", v, minSharpen, float64(maxSharpen))
}

// apply runs the filters in their documented order, on m or a picture made of
// it, and names each.
func (a *preprocessArguments) apply(ctx context.Context, m *imaging.Image, sigma float64, sharpen bool) (_ *imaging.Image, applied []string, err error) {
	applied = []string{}
	step := func(on bool, name string, f func() error) {
		if on && err == nil {
			err = context.Cause(ctx)
		}
		if on && err == nil {
			err = f()
			applied = append(applied, name)
		}
	}
	plain := func(f func(*imaging.Image)) func() error { return func() error { f(m); return nil } }
	if r := a.Region; r != nil {
		applied = append(applied, fmt.Sprintf("region %d,%d %dx%d", r.Left, r.Top, r.Width, r.Height))
	}
	step(a.Rotate != 0, fmt.Sprintf("rotate %d", a.Rotate), func() error { m = imaging.Rotate(m, a.Rotate); return nil })
	if a.Resize != nil {
		w, h, err := a.Resize.size(m.Width(), m.Height())
		if err != nil {
			return nil, nil, err
		}
		step(w != m.Width() || h != m.Height(), fmt.Sprintf("resize %dx%d", w, h), func() error { m = imaging.Resize(m, w, h); return nil })
	}
	step(a.Denoise > 0, fmt.Sprintf("denoise median radius %d", a.Denoise), func() error { return imaging.Median(ctx, m, a.Denoise) })
	step(a.Grayscale, "grayscale", plain(imaging.Grayscale))
	if e := a.CLAHE; e != nil {
		tiles, clip := max(e.Tiles, 0), e.Clip
		if tiles == 0 {
			tiles = defaultTiles
		}
		if clip == 0 {
			clip = defaultClip
		}
		step(true, fmt.Sprintf("clahe %d tiles clip %g", tiles, clip), func() error { imaging.CLAHE(m, tiles, clip); return nil })
	}
	step(sharpen, fmt.Sprintf("sharpen sigma %g", sigma), func() error { return imaging.Sharpen(ctx, m, sigma) })
	step(a.Invert, "invert", plain(imaging.Invert))
	step(a.Threshold == "otsu", "threshold otsu", plain(imaging.ThresholdOtsu))
	step(a.Threshold == "adaptive", "threshold adaptive", plain(imaging.ThresholdAdaptive))
	return m, applied, err
}

// size is the target of a resize of a w x h picture.
func (r *resizeRequest) size(w, h int) (int, int, error) {
	if r.Width == 0 && r.Height == 0 {
		return 0, 0, Errorf(InvalidArgument, "resize wants a width, a height, or both (1 to %d pixels)", maxResize)
	}
	sx, sy := float64(r.Width)/float64(w), float64(r.Height)/float64(h)
	if r.Width == 0 {
		sx = sy
	}
	if r.Height == 0 {
		sy = sx
	}
	if r.Fit != "fill" {
		sx = min(sx, sy)
		sy = sx
	}
	if !r.Enlarge {
		sx, sy = min(sx, 1), min(sy, 1)
	}
	tw, th := max(1, int(math.Round(float64(w)*sx))), max(1, int(math.Round(float64(h)*sy)))
	if int64(tw)*int64(th) > maxResizePixel || max(tw, th) > imaging.DefaultSide {
		return 0, 0, Errorf(ImageTooLarge, "resize would make %dx%d pixels (limit %d pixels)", tw, th, maxResizePixel)
	}
	return tw, th, nil
}
