package ocr

import (
	"fmt"
	"image"
	"strconv"
	"strings"
)

// wordLevel marks words in Tesseract's tab-separated output.
const wordLevel = "5"

// ParseTSV reads the words of Tesseract's tab-separated output: level, page,
// block, paragraph, line, word, left, top, width, height, confidence (0 to 100),
// text.
//
// # Errors
//
// [ErrEngine] for a line that is malformed.
func ParseTSV(tsv string) ([]Word, error) {
	var words []Word
	for line := range strings.Lines(tsv) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if f[0] != wordLevel {
			continue
		}
		if len(f) < 12 {
			return nil, fmt.Errorf("%w: a line of its output has %d fields, not 12", ErrEngine, len(f))
		}
		var n [10]int
		for i := range n {
			v, err := strconv.Atoi(f[i])
			if err != nil {
				return nil, fmt.Errorf("%w: %.20q in its output is no number", ErrEngine, f[i])
			}
			n[i] = v
		}
		confidence, err := strconv.ParseFloat(f[10], 64)
		if err != nil {
			return nil, fmt.Errorf("%w: %.20q in its output is no confidence", ErrEngine, f[10])
		}
		text := strings.TrimSpace(strings.ToValidUTF8(f[11], ""))
		if text == "" || n[8] <= 0 || n[9] <= 0 {
			continue
		}
		words = append(words, Word{
			Text: text, Box: image.Rect(n[6], n[7], n[6]+n[8], n[7]+n[9]),
			Confidence: max(0, min(1, confidence/100)), Block: n[2], Par: n[3], Line: n[4],
		})
	}
	return words, nil
}
