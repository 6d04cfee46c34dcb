package ocr_test

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// bag counts tokens.
func bag(tokens []string) map[string]int {
	m := map[string]int{}
	for _, t := range tokens {
		m[t]++
	}
	return m
}

// counts are what an F1 is made of.
type counts struct{ hit, truth, got int }

func (c *counts) add(o counts) { c.hit, c.truth, c.got = c.hit+o.hit, c.truth+o.truth, c.got+o.got }

func (c counts) f1() float64 {
	if c.truth+c.got == 0 {
		return 1
	}
	return 2 * float64(c.hit) / float64(c.truth+c.got)
}

// compare counts the tokens that two readings have in common.
func compare(truth, got []string) (c counts) {
	c.truth, c.got = len(truth), len(got)
	have := bag(got)
	for t, n := range bag(truth) {
		c.hit += min(n, have[t])
	}
	return c
}

// difference lists the tokens that only one reading has.
func difference(truth, got []string) (missed, extra []string) {
	only := func(a, b []string) (list []string) {
		have := bag(b)
		for _, t := range a {
			if have[t]--; have[t] < 0 {
				list = append(list, t)
			}
		}
		return list
	}
	return only(truth, got), only(got, truth)
}

// pageTokens are the words of a page by the rules of its truth: case and marks
// around words do not count, and each Han or Kana letter is a word.
func pageTokens(text string) []string {
	var spaced strings.Builder
	for _, r := range strings.ToLower(norm.NFKC.String(text)) {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			spaced.WriteString(" " + string(r) + " ")
			continue
		}
		spaced.WriteRune(r)
	}
	var tokens []string
	for _, t := range strings.Fields(spaced.String()) {
		plain := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
		t = strings.TrimLeftFunc(t, func(r rune) bool { return !plain(r) && !strings.ContainsRune("$%+¥#@-", r) })
		t = strings.TrimRightFunc(t, func(r rune) bool { return !plain(r) && r != '%' })
		if strings.IndexFunc(t, plain) >= 0 {
			tokens = append(tokens, t)
		}
	}
	return tokens
}

// distanceOf is the edit distance of two sequences.
func distanceOf[T comparable](a, b []T) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := 1
			if x == y {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
