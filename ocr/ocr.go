// Package ocr reads text in pictures, screenshots above all. It prepares a
// picture so that Tesseract can read it, runs one or two passes, maps the words
// back to the picture and groups them into lines, rows and columns.
//
// The engines are packages of their own, so that a program pays only for what
// it imports: ocr/program runs the tesseract program, ocr/dlopen loads
// libtesseract without cgo, ocr/gosseract binds it with cgo. [First] takes the
// first of several that works.
//
//	r := ocr.New(ocr.Config{Engine: program.New(program.Config{})})
//	defer r.Close()
//	res, err := r.Recognize(ctx, img, ocr.Options{})
//	fmt.Println(res.Text)
//
// Boxes are in pixels of the picture that was given, origin at its top left
// corner, whatever was scaled, rotated or cut on the way. Confidence is 0 to 1.
package ocr

import (
	"errors"
	"fmt"
	"image"
	"time"
)

// Mode says what kind of picture is read.
type Mode string

// The modes.
const (
	Auto       Mode = "auto"       // picks by the picture; a second pass where it pays
	Fast       Mode = "fast"       // one pass
	Document   Mode = "document"   // pages of prose
	Screenshot Mode = "screenshot" // user interfaces: text in many places
	Table      Mode = "table"      // rows and columns
	SingleLine Mode = "line"       // a single line of text
)

// Modes lists the modes; the first is the default.
func Modes() []Mode { return []Mode{Auto, Fast, Document, Screenshot, Table, SingleLine} }

// Options of one picture. The zero value works.
type Options struct {
	// Languages are codes of installed Tesseract languages; nil is "eng".
	Languages []string
	// Mode is [Auto] when empty.
	Mode Mode
	// Region is the part to read, in pixels of the picture; empty is all of it.
	Region image.Rectangle
	// MinConfidence drops words below it, 0 to 1. 0 keeps what the mode keeps.
	MinConfidence float64
	// Whitelist, when given, are the only characters that may come out.
	Whitelist string
	// Lossy says that the picture was a JPEG or another lossy file: what looks
	// flat in it is not.
	Lossy bool
	// Timeout bounds the reading of this picture, not the wait for a place among
	// the workers; 0 is the Recognizer's.
	Timeout time.Duration
}

// Result is what was read.
type Result struct {
	Text       string   // lines joined by line ends, cells of a row by tabs
	Words      []Word   // in reading order
	Lines      []Line   // in reading order
	Confidence float64  // mean over words, weighted by their length; 0 without words
	Engine     Info     // what read it
	Applied    []string // steps in their order, with figures: "deskew -3.25 degrees", "scale 2"
	Warnings   []string
	Elapsed    time.Duration
}

// Word is one word.
type Word struct {
	Text       string
	Box        image.Rectangle
	Confidence float64
	Block      int // counted from 1 in reading order
	Par        int // paragraph within the block, from 1
	Line       int // line within the paragraph, from 1
}

// Line is a line of text, or a row of a table.
type Line struct {
	Text  string
	Box   image.Rectangle
	Words []int // indexes into Result.Words
}

// Info describes an engine.
type Info struct {
	Engine    string   // "program", "dlopen", "gosseract"
	Version   string   // of Tesseract
	DataDir   string   // where the language data is
	Languages []string // installed, sorted
}

// Errors to test with [errors.Is].
var (
	// ErrUnavailable says that there is no engine on this machine.
	ErrUnavailable = errors.New("ocr: no engine is available")
	// ErrLanguage says that a language code is malformed or not installed.
	ErrLanguage = errors.New("ocr: language")
	// ErrTooLarge says that the picture has more pixels than are read.
	ErrTooLarge = errors.New("ocr: too large")
	// ErrInvalid says that an option makes no sense.
	ErrInvalid = errors.New("ocr: invalid option")
	// ErrEngine says that the engine failed.
	ErrEngine = errors.New("ocr: the engine failed")
	// ErrClosed says that the Recognizer has been closed.
	ErrClosed = errors.New("ocr: closed")
)

// MaxPixels is the largest picture that is read, in pixels.
const MaxPixels = 40_000_000

// maxPagePixels bounds what an engine is given: a larger page is scaled less.
const maxPagePixels = 16_000_000

// maxPageSide is the longest side that Tesseract takes.
const maxPageSide = 32_767

// minSide is the least side, in pixels, on which text can stand.
const minSide = 8

func (o *Options) check(size image.Point) (image.Rectangle, error) {
	all := image.Rectangle{Max: size}
	if size.X*size.Y > MaxPixels {
		return all, fmt.Errorf("%w: the picture has %dx%d pixels (limit %d); give a region of it or a smaller picture", ErrTooLarge, size.X, size.Y, MaxPixels)
	}
	if o.Mode == "" {
		o.Mode = Auto
	}
	known := false
	for _, m := range Modes() {
		known = known || m == o.Mode
	}
	switch {
	case !known:
		return all, fmt.Errorf("%w: mode %q; use one of %v", ErrInvalid, o.Mode, Modes())
	case o.MinConfidence < 0 || o.MinConfidence > 1 || o.MinConfidence != o.MinConfidence:
		return all, fmt.Errorf("%w: MinConfidence %g; use 0 to 1", ErrInvalid, o.MinConfidence)
	case o.Timeout < 0:
		return all, fmt.Errorf("%w: Timeout %s is negative", ErrInvalid, o.Timeout)
	case len(o.Whitelist) > maxWhitelist:
		return all, fmt.Errorf("%w: the whitelist has %d bytes (limit %d)", ErrInvalid, len(o.Whitelist), maxWhitelist)
	case o.Region.Empty():
		return all, nil
	case !o.Region.In(all):
		return all, fmt.Errorf("%w: region %v is not inside the picture of %dx%d", ErrInvalid, o.Region, size.X, size.Y)
	}
	return o.Region, nil
}

// maxWhitelist bounds Options.Whitelist, in bytes.
const maxWhitelist = 1000
