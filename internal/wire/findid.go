package wire

import (
	"encoding/json"
	"io"
)

// maxFoundID is the longest id, in bytes, that is looked for in a message that
// will not be read as a whole.
const maxFoundID = 1 << 10

// idFinder looks for the top-level "id" in a message that is too long to keep
// or too broken to parse. It is fed in pieces.
type idFinder struct {
	depth   int
	inText  bool
	escaped bool
	atKey   bool // at depth 1, the next string is a key
	isID    bool // at depth 1, the value being crossed belongs to "id"
	key     []byte
	id      []byte
	found   json.RawMessage
}

func (f *idFinder) feed(b []byte) {
	for _, c := range b {
		if f.found != nil {
			return
		}
		f.step(c)
	}
}

func (f *idFinder) step(c byte) {
	top := f.depth == 1
	if f.inText {
		if top {
			f.keep(c)
		}
		switch {
		case f.escaped:
			f.escaped = false
		case c == '\\':
			f.escaped = true
		case c == '"':
			f.inText = false
		}
		return
	}
	switch {
	case c == '"':
		f.inText = true
		if top {
			f.keep(c)
		}
	case c == '{' || c == '[':
		f.depth++
		f.atKey = f.depth == 1 && c == '{'
	case top && (c == ',' || c == '}'):
		f.finish()
		f.atKey = c == ','
		if c == '}' {
			f.depth--
		}
	case c == '}' || c == ']':
		f.depth--
	case top && c == ':' && f.atKey:
		f.atKey = false
		f.isID = string(f.key) == `"id"`
		f.key = f.key[:0]
	case top && c > ' ':
		f.keep(c)
	}
}

func (f *idFinder) keep(c byte) {
	switch {
	case f.atKey && len(f.key) < len(`"id"`)+1:
		f.key = append(f.key, c)
	case f.isID && len(f.id) <= maxFoundID:
		f.id = append(f.id, c)
	}
}

func (f *idFinder) finish() {
	if f.isID && len(f.id) > 0 && len(f.id) <= maxFoundID && json.Valid(f.id) {
		if _, err := IDKey(f.id); err == nil {
			f.found = f.id
		}
	}
	f.isID, f.id, f.key = false, nil, f.key[:0]
}

// FindID returns the top-level id of a message that does not parse, nil when
// none can be read.
func FindID(data []byte) json.RawMessage {
	var f idFinder
	f.feed(data)
	return f.found
}

// DropFindingID reads r to its end and returns the top-level id of the message
// in it, nil when none can be read.
func DropFindingID(r io.Reader) json.RawMessage {
	var f idFinder
	piece := make([]byte, readBytes)
	for {
		n, err := r.Read(piece)
		f.feed(piece[:n])
		if err != nil {
			return f.found
		}
	}
}
