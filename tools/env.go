package tools

import (
	"context"
	"fmt"
	"image"
	"log/slog"
	"time"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/job"
	"github.com/visions-mcp/visions/internal/source"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/model"
	"github.com/visions-mcp/visions/ocr"
)

// Env is what tools work with. The engine makes one and every call shares it.
type Env struct {
	Sources *source.Resolver
	Store   *store.Store
	CPU     *admission.Gate // places for pixel work
	ModelQ  *admission.Gate // places at the models

	OCR *ocr.Recognizer

	Jobs *job.Table

	Models       map[string]model.Model // "" is the default backend
	FastModel    string
	HeavyModel   string
	ModelTimeout time.Duration
	KeepAlive    string // how long a model stays resident, "" for the server's own default

	MaxResponseBytes int  // of a whole answer, pictures in base64 included
	MaxResponseText  int  // characters of an answer's JSON
	Images           bool // whether answers carry pictures

	Version string
	Started time.Time
	Logger  *slog.Logger
}

// Pixels runs fn as pixel work: bounded by the CPU gate, or on the goroutine of
// a host that drives the server itself.
func (e *Env) Pixels(ctx context.Context, fn func() error) error {
	var err error
	if c := admission.FromContext(ctx); c != nil {
		if waited := c.Pixels(ctx, func() { err = fn() }); waited != nil {
			return waited
		}
		return err
	}
	if err := e.CPU.Acquire(ctx, admission.Client(ctx), 1); err != nil {
		return err
	}
	defer e.CPU.Release()
	return fn()
}

// Wait runs fn, which waits for something other than pixel work. A host that
// drives the server is not kept waiting by it.
func (e *Env) Wait(ctx context.Context, fn func() error) error {
	var err error
	if c := admission.FromContext(ctx); c != nil {
		c.Park(func() { err = fn() })
		return err
	}
	return fn()
}

// Images fetches and decodes the images of an argument, all under one claim on
// decoded memory, and notes each for the provenance. The pixels are valid until
// the call ends.
//
// # Errors
//
// Those of packages source and imaging; [AsError] gives them codes.
func (c *Call) Images(ctx context.Context, argument string) ([]*source.Picture, error) {
	given := c.args.images[argument]
	if len(given) == 0 {
		return nil, Errorf(InvalidArgument, "%s is missing", argument).Suggest(imageForms)
	}
	return c.load(ctx, argument, given)
}

// load fetches and decodes images that an argument holds.
func (c *Call) load(ctx context.Context, argument string, given []any) ([]*source.Picture, error) {
	blobs := make([]*source.Blob, len(given))
	err := c.Wait(ctx, func() error {
		for i, v := range given {
			switch v.(type) {
			case string, []byte, image.Image:
			default:
				return Errorf(InvalidArgument, "%s: %v is not an image", argument, v).Suggest(imageForms)
			}
			b, err := c.Sources.Fetch(ctx, v, source.Options{AllowPaths: PathsAllowed(ctx)})
			if err != nil {
				return fmt.Errorf("%s: %w", argument, err)
			}
			blobs[i] = b
		}
		release, err := c.Sources.Reserve(ctx, blobs)
		if err != nil {
			return fmt.Errorf("%s: %w", argument, err)
		}
		c.closers = append(c.closers, closerFunc(release))
		return nil
	})
	if err != nil {
		return nil, err
	}
	var pictures []*source.Picture
	err = c.Pixels(ctx, func() error {
		var err error
		pictures, err = c.Sources.Decode(ctx, blobs)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", argument, err)
	}
	for _, p := range pictures {
		c.noted = append(c.noted, imageProvenance(p))
		c.warnings = append(c.warnings, p.Warnings...)
	}
	return pictures, nil
}

// imageForms says how an image may be given.
const imageForms = "give a data URI (data:image/png;base64,...), base64, an http or https URL, a file path or file:// URI on the server's machine, or an upload:// or download:// reference"

func imageProvenance(p *source.Picture) ImageProvenance {
	ip := ImageProvenance{
		Source: p.Name, Format: p.Info.Format,
		InputDimensions: Size{p.Width(), p.Height()},
		CoordinateSpace: coordinateSpace,
	}
	if p.Info.Orientation > 1 {
		ip.OrientationApplied = p.Info.Orientation
	}
	if p.Info.Frames > 1 {
		ip.Frames = p.Info.Frames
	}
	return ip
}

// Warn adds a warning to the answer's provenance.
func (c *Call) Warn(format string, args ...any) {
	c.warnings = append(c.warnings, fmt.Sprintf(format, args...))
}

// Provenance returns the record of this call so far, made by engine.
func (c *Call) Provenance(engine string) *Provenance {
	return &Provenance{Engine: engine, Images: c.noted, Warnings: c.warnings}
}

// Region cuts the part of a picture that region asks for, from full resolution. index is the picture's place among the call's
// images, for the provenance; the rectangle is in pixels of the upright
// original.
func (c *Call) Region(ctx context.Context, p *source.Picture, index int, region *Box) (*imaging.Image, image.Rectangle, error) {
	full := p.Bounds()
	if region == nil {
		return p.Image, full, nil
	}
	r := region.Rect()
	if !r.In(full) || r.Empty() {
		return nil, full, Errorf(InvalidArgument, "the region left %d, top %d, %dx%d does not lie inside the image, which is %dx%d pixels (upright)",
			region.Left, region.Top, region.Width, region.Height, p.Width(), p.Height()).
			Suggest(fmt.Sprintf("keep left+width <= %d and top+height <= %d", p.Width(), p.Height()))
	}
	c.noted[index].Region = region
	var cut *imaging.Image
	err := c.Pixels(ctx, func() error { cut = imaging.Crop(p.Image, r); return nil })
	return cut, r, err
}

type pathsKey struct{}

// WithoutPaths marks calls that may not name files of this machine: those of
// clients that any local user may be.
func WithoutPaths(ctx context.Context) context.Context {
	return context.WithValue(ctx, pathsKey{}, true)
}

// PathsAllowed reports whether a call may name files of this machine.
func PathsAllowed(ctx context.Context) bool { return ctx.Value(pathsKey{}) == nil }
