package ocr

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// What icons, frames and rules look like to Tesseract: a mark or a letter or two
// that stand alone.
const (
	strokes      = "|[]~_¦‘’'\"“”°•" // what a rule or an edge is read as
	aloneLetters = 2                 // letters that stand alone and may be an icon
	sureAlone    = 0.90              // confidence from which they are believed
	sureDigits   = 0.80              // the same of digits, which do stand alone
	sureStroke   = 0.96              // the same of a stroke
)

// withoutNoise drops words that are more likely drawn than written.
func withoutNoise(words []Word) []Word {
	kept := words[:0:0]
	for i, w := range words {
		if w.Confidence >= leastAlone(w.Text) || !alone(words, i) {
			kept = append(kept, w)
		}
	}
	return kept
}

// leastAlone is the confidence that a word needs when it stands alone.
func leastAlone(text string) float64 {
	runes := []rune(text)
	switch {
	case strings.Trim(text, strokes) == "":
		return sureStroke
	case len(runes) > aloneLetters:
		return 0
	}
	for _, r := range runes {
		if !unicode.IsDigit(r) {
			return sureAlone
		}
	}
	return sureDigits
}

// joined makes one word of two that touch: Tesseract parts addresses and code at
// their marks.
func joined(words []Word) []Word {
	out := words[:0:0]
	for _, w := range words {
		if n := len(out) - 1; n >= 0 && touching(out[n], w) {
			out[n].Confidence = min(out[n].Confidence, w.Confidence)
			out[n].Text += w.Text
			out[n].Box = out[n].Box.Union(w.Box)
			continue
		}
		out = append(out, w)
	}
	return out
}

// The widest gaps within a word, in heights of the higher part: a mark of a
// typewriter face stands in the middle of its place.
const (
	touchGap = 0.2
	wideGap  = 0.45 // where a sentence cannot begin
)

// marks are what addresses, paths and code are held together by.
const marks = ".:/@$=_-"

// touching tells whether b goes on where a ends, at a mark.
func touching(a, b Word) bool {
	if a.Block != b.Block || a.Par != b.Par || a.Line != b.Line || overlap(a.Box, b.Box) < sameRow {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(a.Text)
	first, _ := utf8.DecodeRuneInString(b.Text)
	before, after := strings.ContainsRune(marks, last), strings.ContainsRune(marks, first)
	most := 0.0
	switch {
	case len(a.Text) == 1 || len(b.Text) == 1: // an operator stands free
	case last == '.' && unicode.IsLower(first), last == ':' && after:
		most = wideGap
	case before || after:
		most = touchGap
	}
	gap := b.Box.Min.X - a.Box.Max.X
	return gap >= -b.Box.Dy()/4 && float64(gap) < most*float64(max(a.Box.Dy(), b.Box.Dy()))
}

// alone tells whether no word stands beside words[i], within a line's height.
// A stroke is no word; between two words it is a mark, at an end of a line it is
// the edge of a field or a caret.
func alone(words []Word, i int) bool {
	w := words[i].Box
	left, right := false, false
	for j, o := range words {
		if j == i || overlap(o.Box, w) < sameRow || strings.Trim(o.Text, strokes) == "" {
			continue
		}
		left = left || o.Box.Max.X <= w.Min.X+w.Dy()/4 && o.Box.Max.X > w.Min.X-w.Dy()
		right = right || o.Box.Min.X >= w.Max.X-w.Dy()/4 && o.Box.Min.X < w.Max.X+w.Dy()
	}
	if strings.Trim(words[i].Text, strokes) == "" {
		return !left || !right
	}
	return !left && !right
}
