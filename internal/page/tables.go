package page

import (
	"strconv"

	"golang.org/x/net/html/atom"
)

// Bounds of a table's cells in a map; the counts are of all of it.
const (
	maxRows  = 500
	maxCells = 5000
	maxCols  = 1000 // a cell's colspan, as in the HTML standard
)

// tableState is a table while its rows are found.
type tableState struct {
	at       int // index in m.Tables, -1 when there was no room
	t        Table
	cells    int
	rowCols  int
	rowHeads int
	rowTexts []string
	data     bool // has a caption, a header or a section for one
	inHead   bool // the row at hand is in thead
	open     bool // a row is at hand
}

func (r *reader) readTable(i int, e *element, role string) {
	if e.tag == atom.Table {
		s := &tableState{at: -1}
		r.tables[i] = s
		s.t = Table{Headers: []string{}, Cells: [][]string{}, Layout: role == "presentation" || role == "none"}
		if add(r, "tables", &r.m.Tables, func() Table { return s.t }) {
			s.at = len(r.m.Tables) - 1
		}
		return
	}
	switch e.tag {
	case atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Thead:
	default:
		return
	}
	s := r.tableAround(e)
	if s == nil {
		return
	}
	switch e.tag {
	case atom.Caption:
		s.t.Caption, s.data = r.text.prose(e.from, e.to, maxShort), true
	case atom.Thead:
		s.data = true
	case atom.Tr:
		s.endRow(r.counts)
		s.open, s.inHead = true, e.parent >= 0 && r.elements[e.parent].tag == atom.Thead
	default:
		r.readCell(s, e)
	}
}

func (r *reader) readCell(s *tableState, e *element) {
	s.open = true
	span, err := strconv.Atoi(e.value("colspan"))
	if err != nil || span < 1 {
		span = 1
	}
	s.rowCols += min(span, maxCols)
	if e.tag == atom.Th {
		s.rowHeads++
		s.data = true
	}
	if s.at >= 0 && s.cells < maxCells && s.t.Rows < maxRows {
		s.cells++
		s.rowTexts = append(s.rowTexts, r.text.prose(e.from, e.to, maxShort))
	}
}

// endRow counts the row at hand. A row of headers stands in thead, or is the
// first and has nothing but header cells. rows counts those of all tables.
func (s *tableState) endRow(rows map[string]int) {
	if !s.open {
		return
	}
	head := s.inHead || s.t.Rows == 0 && s.rowHeads > 0 && s.rowHeads == len(s.rowTexts)
	s.t.Rows++
	rows["table_rows"]++
	if !head {
		s.t.BodyRows++
	} else if len(s.t.Headers) == 0 {
		s.t.Headers = append(s.t.Headers, s.rowTexts...)
	}
	s.t.Cols = max(s.t.Cols, s.rowCols)
	if s.rowTexts != nil {
		s.t.Cells = append(s.t.Cells, s.rowTexts)
	}
	s.open, s.rowCols, s.rowHeads, s.rowTexts = false, 0, 0, nil
}

func (r *reader) tableAround(e *element) *tableState {
	for p := e.parent; p >= 0; p = r.elements[p].parent {
		if s := r.tables[p]; s != nil {
			return s
		}
	}
	return nil
}

func (r *reader) finishTables() {
	for i, s := range r.tables {
		s.endRow(r.counts)
		if !s.data && r.holdsBlocks(i) {
			s.t.Layout = true
		}
		if s.at >= 0 {
			r.m.Tables[s.at] = s.t
		}
	}
}

// holdsBlocks reports whether a table without headers holds headings, lists,
// forms or tables: then it lays out a page.
func (r *reader) holdsBlocks(i int) bool {
	for j := i + 1; j < min(r.elements[i].end, i+maxLook); j++ {
		switch e := &r.elements[j]; e.tag {
		case atom.Table, atom.Ul, atom.Ol, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4:
			return true
		}
	}
	return false
}
