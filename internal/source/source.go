// Package source turns an image argument of any form into bytes and pixels,
// within limits.
package source

import (
	"context"
	"errors"
	"fmt"
	"image"
	"net/http"
	"os"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
)

// Errors of the argument itself; those of the picture are [imaging.Error].
var (
	ErrInvalidArgument = errors.New("not an image argument")
	ErrPathDenied      = errors.New("local paths are not served here")
	ErrNotFound        = errors.New("no such file on the server's machine")
	ErrTooLarge        = errors.New("too large")
	ErrURLDenied       = errors.New("this URL is not fetched")
	ErrDownload        = errors.New("the download failed")
)

// DefaultMemory is how many bytes all images being decoded may take together.
const DefaultMemory = 1 << 30

// Config says where images may come from and how large they may be.
type Config struct {
	Roots  *guard.Roots
	Limits imaging.Limits
	Memory int64 // bytes of decoded images at once; 0 is 1 GiB

	Store       *store.Store // what upload:// and download:// refer to; nil serves no references
	NoURLs      bool         // refuses http and https
	PrivateURLs bool         // fetches from addresses that are not public too
}

// Resolver fetches and decodes image arguments. It is safe for concurrent use.
type Resolver struct {
	c      Config
	memory *semaphore.Weighted
	web    *http.Client // nil with NoURLs
}

// New returns a resolver.
func New(c Config) *Resolver {
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Limits.Bytes == 0 {
		c.Limits.Bytes = imaging.DefaultBytes
	}
	r := &Resolver{c: c, memory: semaphore.NewWeighted(c.Memory)}
	switch {
	case c.NoURLs:
	case c.PrivateURLs:
		r.web = newWeb(nil)
	default:
		r.web = newWeb(guard.PublicOnly)
	}
	return r
}

// Options are what one caller may do.
type Options struct {
	AllowPaths bool // whether files of this machine may be named
}

// Blob is a fetched image that has not been decoded.
type Blob struct {
	Data     []byte      // the encoded file; nil when Image is set
	Image    image.Image // pixels given by a Go caller
	Name     string      // for messages and provenance, at most maxName characters, never the data
	Info     imaging.Info
	Warnings []string
}

// Picture is a decoded image.
type Picture struct {
	*imaging.Image
	Info     imaging.Info
	Name     string
	Warnings []string
}

// maxName bounds names in messages.
const maxName = 80

// shortName makes a name of an argument that is no data.
func shortName(s string) string {
	if len(s) <= maxName {
		return s
	}
	return strings.ToValidUTF8(s[:maxName-3], "") + "..."
}

// Fetch gets the bytes of an argument: a string in one of the forms of docs/IMAGES.md,
// []byte (an encoded image), or an image.Image.
//
// # Errors
//
// [ErrInvalidArgument], [ErrPathDenied], [ErrNotFound], [ErrTooLarge], or
// guard.ErrDenied; of a URL those of [Resolver.Download]; of a reference
// store.ErrNotFound and store.ErrExpired.
func (r *Resolver) Fetch(ctx context.Context, arg any, o Options) (*Blob, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	switch v := arg.(type) {
	case image.Image:
		b := v.Bounds()
		if b.Empty() {
			return nil, fmt.Errorf("%w: the image.Image is empty", ErrInvalidArgument)
		}
		return &Blob{Image: v, Name: "image"}, nil
	case []byte:
		return r.sized(&Blob{Data: v, Name: fmt.Sprintf("%d bytes", len(v))})
	case string:
		b, err := r.fetchText(ctx, v, o)
		if err != nil {
			return nil, err
		}
		return r.sized(b)
	}
	return nil, fmt.Errorf("%w: a %T; want a string, []byte or image.Image", ErrInvalidArgument, arg)
}

func (r *Resolver) sized(b *Blob) (*Blob, error) {
	if int64(len(b.Data)) > r.c.Limits.Bytes {
		return nil, r.tooLarge(int64(len(b.Data)))
	}
	return b, nil
}

func (r *Resolver) tooLarge(n int64) error {
	return fmt.Errorf("%w: the image has %d bytes (limit %d bytes)", ErrTooLarge, n, r.c.Limits.Bytes)
}

// Reserve probes all images of a call and claims the memory that decoding them
// takes, once for all, so that calls with several images cannot starve each
// other half way. The release function may be called more than once.
//
// # Errors
//
// [imaging.Error] of the first image that is refused; [ErrTooLarge] when they
// need more than the whole memory; the cause of ctx when it ends first.
func (r *Resolver) Reserve(ctx context.Context, blobs []*Blob) (release func(), err error) {
	var cost int64
	for _, b := range blobs {
		if b.Image != nil {
			size := b.Image.Bounds().Size()
			b.Info = imaging.Info{Format: "pixels", Width: size.X, Height: size.Y, StoredWidth: size.X, StoredHeight: size.Y, Orientation: 1, Frames: 1, Depth: 8}
		} else if b.Info, err = imaging.Probe(b.Data, r.c.Limits); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		cost += b.Info.DecodeCost()
	}
	if cost > r.c.Memory {
		return nil, fmt.Errorf("%w: decoding the %d images takes %d bytes (limit %d bytes); give fewer or smaller ones", ErrTooLarge, len(blobs), cost, r.c.Memory)
	}
	if err := r.memory.Acquire(ctx, cost); err != nil {
		return nil, context.Cause(ctx)
	}
	released := make(chan struct{}, 1)
	released <- struct{}{}
	return func() {
		select {
		case <-released:
			r.memory.Release(cost)
		default:
		}
	}, nil
}

// Decode decodes what [Resolver.Reserve] has claimed the memory for. It is pixel
// work.
func (r *Resolver) Decode(ctx context.Context, blobs []*Blob) ([]*Picture, error) {
	pictures := make([]*Picture, len(blobs))
	for i, b := range blobs {
		p := &Picture{Info: b.Info, Name: b.Name, Warnings: b.Warnings}
		var err error
		if m, ours := b.Image.(*imaging.Image); ours {
			p.Image = imaging.Clone(m) // filters change the picture they are given
		} else if b.Image != nil {
			p.Image = imaging.FromImage(b.Image)
		} else if p.Image, p.Info, err = imaging.Decode(ctx, b.Data, r.c.Limits); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		if p.Info.Frames > 1 {
			p.Warnings = append(p.Warnings, fmt.Sprintf("%s is an animation of %d frames; the first was used", p.Name, p.Info.Frames))
		}
		if p.Info.ICC {
			p.Warnings = append(p.Warnings, p.Name+" carries a colour profile, which was not applied: colours are read as sRGB")
		}
		pictures[i] = p
	}
	return pictures, nil
}

// home is the folder that ~ stands for.
func home() (string, error) { return os.UserHomeDir() }
