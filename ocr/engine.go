package ocr

import (
	"context"
	"errors"
	"fmt"
	"image"
	"strings"
)

// Engine is a way to run Tesseract. Its methods may be called concurrently.
type Engine interface {
	// Info looks for the engine and its languages. The error wraps
	// [ErrUnavailable] and says what to install.
	Info(ctx context.Context) (Info, error)
	// NewClient makes a client for languages that [CheckLanguages] has passed.
	NewClient(ctx context.Context, languages []string) (Client, error)
}

// Client reads pages, one at a time. It is dropped after an error.
type Client interface {
	// Read reads a page of dark text on a light ground. Boxes are in its pixels.
	// It returns soon after ctx ends, with its cause.
	Read(ctx context.Context, page *image.Gray, o PageOptions) ([]Word, error)
	// Close frees the client. It is not called during Read.
	Close() error
}

// PageOptions of one reading.
type PageOptions struct {
	Segmentation Segmentation
	Whitelist    string // the only characters allowed; "" is all
}

// Segmentation is Tesseract's page segmentation mode.
type Segmentation int

// The segmentation modes that are used.
const (
	Page      Segmentation = 3  // blocks, paragraphs, lines
	Block     Segmentation = 6  // one block of lines
	TextLine  Segmentation = 7  // one line
	Scattered Segmentation = 11 // text anywhere, in no order
)

// Resolution is what engines tell Tesseract about a page, in dots per inch, so
// that it does not guess.
const Resolution = 70

// First is an engine that uses the first of engines that works, found at first
// use.
func First(engines ...Engine) Engine {
	return &first{engines: engines, lock: make(chan struct{}, 1)}
}

type first struct {
	engines []Engine

	lock   chan struct{} // holds a token while one is chosen: waiting for it ends with a context
	chosen Engine
}

func (f *first) choose(ctx context.Context) (Engine, Info, error) {
	select {
	case f.lock <- struct{}{}:
		defer func() { <-f.lock }()
	case <-ctx.Done():
		return nil, Info{}, context.Cause(ctx)
	}
	if f.chosen != nil {
		info, err := f.chosen.Info(ctx)
		return f.chosen, info, err
	}
	var errs []error
	for _, e := range f.engines {
		info, err := e.Info(ctx)
		if err == nil {
			f.chosen = e
			return e, info, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, Info{}, cause
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil, Info{}, fmt.Errorf("%w: none was configured", ErrUnavailable)
	}
	return nil, Info{}, errors.Join(errs...)
}

// Info implements [Engine].
func (f *first) Info(ctx context.Context) (Info, error) {
	_, info, err := f.choose(ctx)
	return info, err
}

// NewClient implements [Engine].
func (f *first) NewClient(ctx context.Context, languages []string) (Client, error) {
	e, _, err := f.choose(ctx)
	if err != nil {
		return nil, err
	}
	return e.NewClient(ctx, languages)
}

// LanguageArgument joins codes as Tesseract takes them: "eng+deu".
func LanguageArgument(languages []string) string { return strings.Join(languages, "+") }
