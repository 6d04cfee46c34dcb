package page

import (
	"strings"
	"unicode/utf8"
)

// edgeMark stands in the text buffer where a block element begins or ends, or a
// line breaks. textContent has nothing there.
const edgeMark = 0x1f

// text collects the text of the page with white space collapsed. Between two
// pieces of real text there are at most one space and one edge mark, so reading
// a given length of text never passes over more than three times as many bytes.
type text struct {
	buf         []byte
	space, edge bool // since the last real text
}

// write appends a token's text. It reports whether there was more than white
// space.
func (t *text) write(s []byte) bool {
	real := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		white := c <= ' '
		if c == 0xc2 && i+1 < len(s) && s[i+1] == 0xa0 { // no-break space
			white = true
			i++
		}
		if !white {
			t.buf = append(t.buf, c)
			t.space, t.edge, real = false, false, true
		} else if !t.space {
			t.buf = append(t.buf, ' ')
			t.space = true
		}
	}
	return real
}

func (t *text) separate() {
	if !t.edge {
		t.buf = append(t.buf, edgeMark)
		t.edge = true
	}
}

// content returns what the DOM calls textContent of a part of the buffer, with
// white space collapsed, shortened to max bytes.
func (t *text) content(from, to, max int) string { return t.read(from, to, max, false) }

// prose is content with a space where blocks meet.
func (t *text) prose(from, to, max int) string { return t.read(from, to, max, true) }

const ellipsis = "…"

func (t *text) read(from, to, max int, apart bool) string {
	part := t.buf[from:to]
	for len(part) > 0 && part[0] <= ' ' {
		part = part[1:]
	}
	for len(part) > 0 && part[len(part)-1] <= ' ' {
		part = part[:len(part)-1]
	}
	out := make([]byte, 0, min(len(part), max+utf8.UTFMax))
	for _, c := range part {
		if c == edgeMark {
			if !apart {
				continue
			}
			c = ' '
		}
		if c == ' ' && len(out) > 0 && out[len(out)-1] == ' ' {
			continue
		}
		if len(out) >= max && utf8.RuneStart(c) {
			return strings.ToValidUTF8(strings.TrimRight(string(out), " "), "\uFFFD") + ellipsis
		}
		out = append(out, c)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// shorten cuts a string that does not come from the buffer, with white space
// collapsed.
func shorten(s string, max int) string {
	if len(s) > 4*max {
		s = s[:4*max]
	}
	s = strings.ToValidUTF8(strings.Join(strings.Fields(s), " "), "\uFFFD")
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max] + ellipsis
}
