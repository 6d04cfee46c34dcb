package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync/atomic"
)

const (
	readBytes  = 64 << 10 // one read, and the piece in which a long line is gathered first
	pieceBytes = 1 << 20  // largest later piece of a long line; they double up to it
	maxEmpty   = 100      // reads in a row that may return nothing (as in bufio)
)

var (
	errTooLong = errors.New("message too long")
	errNoRoom  = errors.New("no room for the message")
)

// lineReader cuts a stream into lines. Long lines are gathered in pieces and
// joined once, so their bytes are copied twice whatever their length.
type lineReader struct {
	r        io.Reader
	buf      []byte
	from, to int // unread part of buf
	max      int
	budget   *Budget
	onRead   func()
	partial  *atomic.Int64 // bytes held of a line that lacks its end
	err      error
}

func newLineReader(r io.Reader, max int, budget *Budget, onRead func(), partial *atomic.Int64) *lineReader {
	return &lineReader{r: r, buf: make([]byte, readBytes), max: max, budget: budget, onRead: onRead, partial: partial}
}

// next returns a line without its end. The budget holds len(line) bytes for
// it until the caller releases them. With errTooLong and errNoRoom, the line
// has been dropped, and id is its id where one was found. Any other error is
// the stream's.
func (l *lineReader) next() (line []byte, id json.RawMessage, err error) {
	var g gathering
	defer l.partial.Store(0)
	for {
		l.partial.Store(int64(g.size))
		if l.from == l.to {
			if err := l.fill(); err != nil {
				if g.size == 0 && g.drop == nil {
					return nil, nil, err
				}
				return l.finish(&g) // the last line lacks its end
			}
		}
		b := l.buf[l.from:l.to]
		if n := bytes.IndexByte(b, '\n'); n >= 0 {
			l.add(&g, b[:n])
			l.from += n + 1
			return l.finish(&g)
		}
		l.add(&g, b)
		l.from = l.to
	}
}

// fill reads into the empty buffer.
func (l *lineReader) fill() error {
	for range maxEmpty {
		if l.err != nil {
			return l.err
		}
		var n int
		n, l.err = l.r.Read(l.buf)
		l.from, l.to = 0, n
		if n > 0 {
			l.onRead()
			return nil
		}
	}
	if l.err == nil {
		l.err = io.ErrNoProgress
	}
	return l.err
}

// gathering is a line so far.
type gathering struct {
	pieces [][]byte
	size   int
	drop   error // why the line is being dropped
	finder idFinder
}

func (l *lineReader) add(g *gathering, b []byte) {
	if g.drop != nil {
		g.finder.feed(b)
		return
	}
	switch {
	case g.size+len(b) > l.max:
		g.drop = errTooLong
	case !l.budget.TryAcquire(int64(len(b))):
		g.drop = errNoRoom
	default:
		g.append(b)
		return
	}
	for _, p := range g.pieces {
		g.finder.feed(p)
	}
	g.finder.feed(b)
	l.budget.Release(int64(g.size))
	g.pieces, g.size = nil, 0
}

func (g *gathering) append(b []byte) {
	g.size += len(b)
	for len(b) > 0 {
		last := len(g.pieces) - 1
		if last < 0 {
			g.pieces = append(g.pieces, slices.Clone(b))
			return
		}
		p := g.pieces[last]
		n := min(len(b), cap(p)-len(p))
		g.pieces[last] = append(p, b[:n]...)
		if b = b[n:]; len(b) > 0 {
			g.pieces = append(g.pieces, make([]byte, 0, min(g.size, pieceBytes)))
		}
	}
}

func (l *lineReader) finish(g *gathering) ([]byte, json.RawMessage, error) {
	if g.drop != nil {
		return nil, g.finder.found, g.drop
	}
	switch len(g.pieces) {
	case 0:
		return nil, nil, nil
	case 1:
		return g.pieces[0], nil, nil
	}
	line := make([]byte, 0, g.size)
	for i, p := range g.pieces {
		line = append(line, p...)
		g.pieces[i] = nil // the collector may have it while the rest is copied
	}
	return line, nil, nil
}
