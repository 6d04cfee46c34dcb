package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
)

// maxDepth bounds the nesting of a message, so that neither this scanner nor
// a later decoder recurses without end. The SDK draws the same line.
const maxDepth = 1000

// scanner walks JSON once, checking it strictly (RFC 8259), without building
// values: strings are crossed with IndexByte and eight bytes at a time, which
// keeps a 20 MB image argument cheap.
type scanner struct {
	b     []byte
	i     int
	depth int
}

var errEnd = errors.New("the message ends in the middle of a value")

func (s *scanner) unexpected(want string) error {
	if s.i >= len(s.b) {
		return errEnd
	}
	return fmt.Errorf("unexpected %q at byte %d, expected %s", s.b[s.i], s.i, want)
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next byte after white space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// value crosses one value of any kind.
func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '"':
		return s.str()
	case c == '{':
		return s.members(func(string) error { return s.value() })
	case c == '[':
		return s.elements()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.unexpected("a value")
}

// raw crosses one value and returns its bytes, which alias the message.
func (s *scanner) raw() (json.RawMessage, error) {
	s.space()
	start := s.i
	err := s.value()
	return s.b[start:s.i:s.i], err
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.b[s.i:], []byte(w)) {
		return s.unexpected("a value")
	}
	s.i += len(w)
	return nil
}

// members crosses an object; visit is called with each key and must cross the
// value.
func (s *scanner) members(visit func(key string) error) error {
	return s.list('}', func() error {
		if s.peek() != '"' {
			return s.unexpected("a key")
		}
		start := s.i
		if err := s.str(); err != nil {
			return err
		}
		key, err := unquote(s.b[start:s.i])
		if err != nil {
			return err
		}
		if s.peek() != ':' {
			return s.unexpected("':'")
		}
		s.i++
		return visit(key)
	})
}

func (s *scanner) elements() error { return s.list(']', s.value) }

// list crosses what stands between the bracket at s.i and its end.
func (s *scanner) list(end byte, item func() error) error {
	if s.depth++; s.depth > maxDepth {
		return fmt.Errorf("the message nests deeper than %d levels", maxDepth)
	}
	defer func() { s.depth-- }()
	s.i++
	if s.peek() == end {
		s.i++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.i++
		case end:
			s.i++
			return nil
		default:
			return s.unexpected(fmt.Sprintf("',' or %q", end))
		}
	}
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() error {
	if s.b[s.i] == '-' {
		s.i++
	}
	zero := s.i < len(s.b) && s.b[s.i] == '0'
	start := s.i
	if !s.digits() || zero && s.i > start+1 {
		return s.unexpected("a number")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	return nil
}

// str crosses the string at s.i. quote is the next '"', looked up again only
// when an escape has crossed it, so the work is linear.
func (s *scanner) str() error {
	i, quote := s.i+1, -1
	for {
		if quote < i {
			n := bytes.IndexByte(s.b[i:], '"')
			if n < 0 {
				s.i = len(s.b)
				return errEnd
			}
			quote = i + n
		}
		seg := s.b[i:quote]
		esc := bytes.IndexByte(seg, '\\')
		if esc >= 0 {
			seg = seg[:esc]
		}
		if hasControl(seg) {
			s.i = i
			return fmt.Errorf("a control character stands unescaped in the string at byte %d", i)
		}
		if esc < 0 {
			s.i = quote + 1
			return nil
		}
		n, err := s.escape(i + esc)
		if err != nil {
			return err
		}
		i += esc + n
	}
}

// escape returns the length of the escape sequence at i.
func (s *scanner) escape(i int) (int, error) {
	if i+1 >= len(s.b) {
		return 0, errEnd
	}
	switch s.b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
		if i+6 > len(s.b) {
			return 0, errEnd
		}
		for _, c := range s.b[i+2 : i+6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0, fmt.Errorf("bad \\u escape at byte %d", i)
			}
		}
		return 6, nil
	}
	return 0, fmt.Errorf("bad escape at byte %d", i)
}

// hasControl reports whether b has a byte below 0x20. Eight bytes at a time:
// (x - 0x20 in each byte) sets a top bit that x lacks only where a byte is
// smaller.
func hasControl(b []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for len(b) >= 8 {
		x := binary.LittleEndian.Uint64(b)
		if (x-0x20*ones)&^x&tops != 0 {
			return true
		}
		b = b[8:]
	}
	for _, c := range b {
		if c < 0x20 {
			return true
		}
	}
	return false
}

// unquote returns the text of a string that str has crossed.
func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err
}
