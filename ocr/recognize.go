package ocr

import (
	"context"
	"errors"
	"fmt"
	"image"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/visions-mcp/visions/internal/imaging"
)

// What is kept of a reading, and when another is tried.
const (
	keepMerged   = 0.55 // confidence of words that stay when two passes were merged
	keepLong     = 0.40 // the same of words that are too long to be an icon
	longWord     = 4    // letters
	keepSingle   = 0.30 // confidence of words that stay of one pass
	sureWord     = 0.80 // confidence of words that are not read again
	upsideDown   = 0.60 // mean confidence below which the page may lie on its side or head
	rotatedGain  = 1.5  // how much more must be read of the turned page
	screenBoxes  = 2    // boxes with text in them that make a page a screenshot
	leastLetters = 3    // letters that make a reading at all
)

// Recognize reads img. It waits for a place among the Recognizer's workers.
//
// # Errors
//
// [ErrInvalid], [ErrTooLarge], [ErrLanguage], [ErrUnavailable], [ErrEngine],
// [ErrClosed], or the cause of ctx; [context.DeadlineExceeded] when the timeout
// ended it, in which the wait for a place does not count.
func (r *Recognizer) Recognize(ctx context.Context, img image.Image, o Options) (*Result, error) {
	start := time.Now()
	part, err := o.check(img.Bounds().Size())
	if err != nil {
		return nil, err
	}
	if o.Timeout == 0 {
		o.Timeout = r.c.Timeout
	}
	info, err := r.Info(ctx)
	if err != nil {
		return nil, err
	}
	languages, err := CheckLanguages(o.Languages, info.Languages)
	if err != nil {
		return nil, err
	}
	leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("reading took longer than %s: %w", o.Timeout, context.DeadlineExceeded))
	defer cancel()
	res := &Result{Engine: info}
	if min(part.Dx(), part.Dy()) >= minSide {
		d := reading{r: r, o: o, languages: languages, res: res, bounds: image.Rectangle{Max: img.Bounds().Size()}}
		if err := d.read(ctx, pixels(img, part), shift(part.Min)); err != nil {
			return nil, err
		}
	} else {
		res.Warnings = append(res.Warnings, fmt.Sprintf("the part to read has %dx%d pixels; no text stands in less than %d", part.Dx(), part.Dy(), minSide))
	}
	res.Elapsed = time.Since(start)
	return res, nil
}

// reading is the work on one picture.
type reading struct {
	r         *Recognizer
	o         Options
	languages []string
	res       *Result
	bounds    image.Rectangle // of the picture
}

// prepared is a page as an engine gets it, and how it maps to the picture.
type prepared struct {
	gray  *image.Gray
	frame frame
}

func (d *reading) applied(step string) {
	if step != "" {
		d.res.Applied = append(d.res.Applied, step)
	}
}

// read reads the picture upright, and turned when that reads clearly more.
func (d *reading) read(ctx context.Context, m *imaging.Image, at frame) error {
	m, step := flattened(m)
	d.applied(step)
	steps := len(d.res.Applied)
	words, err := d.passes(ctx, m, at)
	if err != nil {
		return err
	}
	if d.o.Mode != SingleLine && d.o.Mode != Fast && weight(words) < upsideDown*float64(letters(words))+leastLetters {
		upright := append([]string(nil), d.res.Applied...)
		best, bestSteps := words, upright
		for _, degrees := range []int{90, 180, 270} {
			d.res.Applied = append([]string(nil), upright[:steps]...)
			d.applied(fmt.Sprintf("turned by %d degrees", degrees))
			turnedWords, err := d.passes(ctx, imaging.Rotate(m, degrees), at.after(quarter(m.Width(), m.Height(), degrees)))
			if err != nil {
				return err
			}
			if weight(turnedWords) > rotatedGain*weight(words) && weight(turnedWords) > weight(best) && letters(turnedWords) >= leastLetters {
				best, bestSteps = turnedWords, d.res.Applied
			}
		}
		words, d.res.Applied = best, bestSteps
	}
	d.finish(words)
	return nil
}

// letters counts the letters of words; weight counts them by confidence.
func letters(words []Word) (n int) {
	for _, w := range words {
		n += utf8.RuneCountInString(w.Text)
	}
	return n
}

func weight(words []Word) (sum float64) {
	for _, w := range words {
		sum += w.Confidence * float64(utf8.RuneCountInString(w.Text))
	}
	return sum
}

// passes prepares a page and reads it once or twice.
func (d *reading) passes(ctx context.Context, m *imaging.Image, at frame) ([]Word, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	gray := grayOf(m)
	text := findGlyphs(gray)
	angle, back := skew(text), identity
	if angle != 0 {
		gray = turned(gray, angle)
		back = turn(gray.Rect.Dx(), gray.Rect.Dy(), angle)
		d.applied(fmt.Sprintf("deskew %.2f degrees", angle))
	}
	page, boxes, flat := gray, 0, false
	if !d.o.Lossy {
		page, boxes, flat = flatten(gray, text.height)
	}
	if flat {
		page = levelled(page)
		d.applied(fmt.Sprintf("flat regions normalised (%d boxes)", boxes))
	} else {
		var step string
		page, step = darkOnLight(gray)
		d.applied(step)
	}
	f := scaleFor(gray, text.height)
	d.applied(describeScale(f))
	screen := boxes >= screenBoxes
	seg := Page
	switch d.o.Mode {
	case Screenshot:
		seg, screen = Scattered, true
	case Auto, Fast:
		if screen {
			seg = Scattered
		}
	case Table:
		seg = Block
	case SingleLine:
		seg = TextLine
	}
	words, err := d.pass(ctx, page, back, f, seg)
	if err != nil {
		return nil, err
	}
	if angle == 0 && (d.o.Mode == Auto || d.o.Mode == Screenshot) {
		if words, err = d.secondPass(ctx, m, words, f, seg); err != nil {
			return nil, err
		}
	}
	words = withoutNoise(keep(words, keepSingle))
	mapped := words[:0]
	for _, w := range words {
		if w.Box = at.box(w.Box, d.bounds); !w.Box.Empty() {
			mapped = append(mapped, w)
		}
	}
	return mapped, nil
}

// secondPass reads what the first one left: the page redrawn by distance from
// its grounds, without the words that are sure. A page on which nothing is left
// that looks like a letter is not read again.
func (d *reading) secondPass(ctx context.Context, m *imaging.Image, words []Word, f float64, seg Segmentation) ([]Word, error) {
	page := levelled(tileNormalised(m))
	left := image.NewGray(page.Rect)
	copy(left.Pix, page.Pix)
	for _, w := range words {
		if w.Confidence >= sureWord {
			erase(left, w.Box)
		}
	}
	if letterLike(left) < leastLetters {
		return words, nil
	}
	other := Page
	if seg == Page {
		other = Scattered
	}
	second, err := d.pass(ctx, page, identity, f, other)
	if err != nil {
		return nil, err
	}
	d.applied("second pass over distances from the ground")
	return slices.DeleteFunc(merge(keep(words, keepSingle), keep(second, keepSingle)), func(w Word) bool {
		if utf8.RuneCountInString(w.Text) >= longWord {
			return w.Confidence < keepLong
		}
		return w.Confidence < keepMerged
	}), nil
}

// erase whitens a box.
func erase(page *image.Gray, box image.Rectangle) {
	box = box.Intersect(page.Rect)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for i := page.PixOffset(box.Min.X, y); i < page.PixOffset(box.Max.X, y); i++ {
			page.Pix[i] = 255
		}
	}
}

// pass enlarges a page, reads it and maps the words back by at.
func (d *reading) pass(ctx context.Context, page *image.Gray, at frame, f float64, seg Segmentation) ([]Word, error) {
	w, h := max(1, int(float64(page.Rect.Dx())*f+0.5)), max(1, int(float64(page.Rect.Dy())*f+0.5))
	p := prepared{scaled(page, w, h), at.after(enlarged(float64(w)/float64(page.Rect.Dx()), float64(h)/float64(page.Rect.Dy())))}
	words, err := d.r.read(ctx, d.languages, p, seg, d.o.Whitelist)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
			return nil, cause
		}
		return nil, err
	}
	mapped := words[:0]
	for _, word := range words {
		if word.Box = p.frame.box(word.Box, page.Rect); !word.Box.Empty() {
			mapped = append(mapped, word)
		}
	}
	return joined(mapped), nil
}

func keep(words []Word, least float64) []Word {
	kept := words[:0:0]
	for _, w := range words {
		if w.Confidence >= least {
			kept = append(kept, w)
		}
	}
	return kept
}

// finish arranges the words and sums them up.
func (d *reading) finish(words []Word) {
	words = keep(words, d.o.MinConfidence)
	if n := letters(words); n > 0 {
		d.res.Confidence = weight(words) / float64(n)
	}
	d.res.Words, d.res.Lines = arrange(words)
	for i, l := range d.res.Lines {
		if i > 0 {
			d.res.Text += "\n"
		}
		d.res.Text += l.Text
	}
}
