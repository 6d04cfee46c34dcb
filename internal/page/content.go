package page

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"
)

// Thresholds of the rules that tell content from what surrounds it by the
// density of links and words of a block and its neighbours: Kohlschütter,
// Fankhauser, Nejdl, "Boilerplate Detection using Shallow Text Features" (2010),
// algorithm 2, which DomDistiller uses too.
const (
	linkDense     = 1.0 / 3 // share of a block's text in links
	linkDensePrev = 0.555556
	fewWords      = 16
	fewWordsNext  = 15
	fewWordsPrev  = 4
	manyWords     = 40
	manyWordsNext = 17
)

// measured is a block with what the rules look at.
type measured struct {
	*block
	text  string
	words int
	links float64 // density
}

// content fills the main content and returns the figures of the page's text.
func (r *reader) content(minText int) Stats {
	all := make([]measured, 0, len(r.blocks))
	var s Stats
	linked, inMainSeen := 0, false
	for i := range r.blocks {
		b := &r.blocks[i]
		m := measured{block: b, text: r.text.prose(b.from, b.to, maxBlockText)}
		m.words = words(m.text)
		m.links = ratio(b.links, b.to-b.from)
		s.Words += m.words
		s.TextBytes += b.to - b.from
		linked += b.links
		inMainSeen = inMainSeen || b.in&inMain != 0
		all = append(all, m)
	}
	s.Blocks, s.LinkDensity = len(all), ratio(linked, s.TextBytes)
	const aside = inNav | inHeader | inFooter | inAside
	s.ContentBy = "all"
	keep := func(i int) bool { return all[i].in&aside == 0 }
	if inMainSeen {
		s.ContentBy = "landmark"
		keep = func(i int) bool { return all[i].in&inMain != 0 && all[i].in&(inNav|inAside) == 0 }
	} else {
		for i := range all {
			if all[i].in&aside == 0 && dense(all, i) && r.isProse(&all[i]) {
				s.ContentBy = "density"
				keep = func(i int) bool { return all[i].in&aside == 0 && dense(all, i) }
				break
			}
		}
	}
	heading := -1
	for i := range all {
		b := &all[i]
		for heading+1 < len(r.headingAt) && r.elements[r.headingAt[heading+1]].from <= b.from {
			heading++
		}
		if !keep(i) || !r.isProse(b) || utf8.RuneCountInString(b.text) < minText {
			continue
		}
		under := heading
		add(r, "main_content", &r.m.MainContent, func() Block { return r.blockEntry(b, under) })
	}
	return s
}

// isProse reports whether a block is not told of by another member of the map.
func (r *reader) isProse(b *measured) bool {
	if b.in&(inHeading|inLabel|inButton|inSelect|inSVG|inHidden) != 0 {
		return false
	}
	if b.in&inList != 0 {
		return false
	}
	if b.in&inTable == 0 {
		return true
	}
	for p := b.owner; p >= 0; p = r.elements[p].parent {
		if s := r.tables[p]; s != nil && !s.t.Layout {
			return false
		}
	}
	return true
}

func (r *reader) blockEntry(b *measured, heading int) Block {
	out := Block{Type: "text", Text: b.text}
	if heading >= 0 {
		out.Heading = &heading
	}
	for p := b.owner; p >= 0; p = r.elements[p].parent {
		switch r.elements[p].tag {
		case atom.P:
			out.Type = "paragraph"
		case atom.Pre:
			out.Type, out.Text = "code", preformatted(b.pre)
		case atom.Blockquote:
			out.Type = "quote"
		default:
			continue
		}
		break
	}
	return out
}

// preformatted keeps the lines of a text, shortened.
func preformatted(s string) string {
	s = strings.ToValidUTF8(strings.Trim(strings.ReplaceAll(s, "\r\n", "\n"), "\n"), "\uFFFD")
	if len(s) <= maxBlockText {
		return s
	}
	n := maxBlockText
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

// dense applies the rules to block i.
func dense(all []measured, i int) bool {
	var prev, next measured
	if i > 0 {
		prev = all[i-1]
	}
	if i+1 < len(all) {
		next = all[i+1]
	}
	switch b := &all[i]; {
	case b.links > linkDense:
		return false
	case prev.links <= linkDensePrev:
		return b.words > fewWords || next.words > fewWordsNext || prev.words > fewWordsPrev
	default:
		return b.words > manyWords || next.words > manyWordsNext
	}
}

// words counts words. Scripts without spaces count one for two characters, near
// the mean length of Chinese words.
func words(s string) int {
	n, wide, inside := 0, 0, false
	for _, c := range s {
		switch {
		case c < utf8.RuneSelf && c != ' ' || c >= utf8.RuneSelf && !unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			if !inside {
				n++
			}
			inside = true
		case c == ' ':
			inside = false
		default:
			wide++
			inside = false
		}
	}
	return n + (wide+1)/2
}

// ratio is a/b rounded to four decimals, 0 for nothing of nothing.
func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(float64(a)/float64(b)*1e4) / 1e4
}
