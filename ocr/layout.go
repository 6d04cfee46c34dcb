package ocr

import (
	"cmp"
	"image"
	"slices"
	"strings"
	"unicode"
)

// How words become lines and lines become a text, in heights of a line.
const (
	wordGap   = 1.3  // widest gap between words of one piece of a line
	sameRow   = 0.5  // share of the lower height by which pieces of one row overlap
	blockGap  = 1.0  // gap below which lines belong to one block
	parGap    = 0.6  // gap from which a paragraph ends
	gutter    = 1.0  // narrowest gap between two columns
	alignment = 0.35 // most distance of the middles of pieces that stand in one row
)

// columnLines is how many pieces a column has at least on either side.
const columnLines = 3

// alignedShare is the share of pieces that stand in a row with one of the other
// side, from which two columns are those of a table, which is read by rows.
const alignedShare = 0.6

// proseLength is the mean length of pieces, in letters, from which columns are
// columns of prose even when their lines are level.
const proseLength = 30

// piece is a run of words with no wide gap.
type piece struct {
	box   image.Rectangle
	words []int
	chars int
}

func (p *piece) middle() float64 { return float64(p.box.Min.Y+p.box.Max.Y) / 2 }

// arrange puts words into reading order, numbers them and makes the lines.
func arrange(words []Word) ([]Word, []Line) {
	if len(words) == 0 {
		return nil, nil
	}
	a := arranger{in: words}
	pieces := a.pieces()
	heights := make([]int, len(pieces))
	for i, p := range pieces {
		heights[i] = p.box.Dy()
	}
	slices.Sort(heights)
	a.height = max(1, float64(heights[len(heights)/2]))
	a.cut(pieces)
	return a.out, a.lines
}

type arranger struct {
	in     []Word
	height float64 // median height of a piece, pixels
	out    []Word
	lines  []Line
	block  int
}

// pieces joins words that stand side by side.
func (a *arranger) pieces() []*piece {
	order := make([]int, len(a.in))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(a.in[i].Box.Min.X, a.in[j].Box.Min.X), cmp.Compare(a.in[i].Box.Min.Y, a.in[j].Box.Min.Y))
	})
	var list []*piece
	for _, i := range order {
		box := a.in[i].Box
		var best *piece
		for _, p := range list {
			last := a.in[p.words[len(p.words)-1]].Box
			gap := float64(box.Min.X - last.Max.X)
			h := float64(min(box.Dy(), last.Dy()))
			if overlap(last, box) < sameRow || gap > wordGap*max(h, float64(max(box.Dy(), last.Dy()))*0.6) || gap < -h {
				continue
			}
			if best == nil || last.Max.X > a.in[best.words[len(best.words)-1]].Box.Max.X {
				best = p
			}
		}
		if best == nil {
			best = &piece{box: box}
			list = append(list, best)
		}
		best.words = append(best.words, i)
		best.box = best.box.Union(box)
		best.chars += len([]rune(a.in[i].Text))
	}
	return list
}

// overlap is the share of the lower of two boxes that is level with the other.
func overlap(a, b image.Rectangle) float64 {
	common := min(a.Max.Y, b.Max.Y) - max(a.Min.Y, b.Min.Y)
	return float64(common) / float64(max(1, min(a.Dy(), b.Dy())))
}

// cut parts pieces into columns or into blocks, and writes what has neither.
func (a *arranger) cut(pieces []*piece) {
	if left, right := a.columns(pieces); left != nil {
		a.cut(left)
		a.cut(right)
		return
	}
	if blocks := a.blocks(pieces); len(blocks) > 1 {
		for _, b := range blocks {
			a.cut(b)
		}
		return
	}
	a.write(pieces)
}

// columns finds a gutter over the whole height, the widest first, between
// pieces that are no rows of a table.
func (a *arranger) columns(pieces []*piece) (left, right []*piece) {
	if len(pieces) < 2*columnLines {
		return nil, nil
	}
	byX := slices.SortedFunc(slices.Values(pieces), func(p, q *piece) int { return cmp.Compare(p.box.Min.X, q.box.Min.X) })
	type gap struct{ at, width int }
	var gaps []gap
	end := byX[0].box.Max.X
	for i, p := range byX[1:] {
		if w := p.box.Min.X - end; float64(w) >= gutter*a.height {
			gaps = append(gaps, gap{i + 1, w})
		}
		end = max(end, p.box.Max.X)
	}
	slices.SortStableFunc(gaps, func(p, q gap) int { return q.width - p.width })
	for _, g := range gaps {
		l, r := byX[:g.at], byX[g.at:]
		if len(l) >= columnLines && len(r) >= columnLines && (!a.aligned(l, r) || prose(l) && prose(r)) {
			return l, r
		}
	}
	return nil, nil
}

func prose(pieces []*piece) bool {
	chars := 0
	for _, p := range pieces {
		chars += p.chars
	}
	return chars >= proseLength*len(pieces)
}

// aligned tells whether most pieces of the shorter side stand in a row with one
// of the other.
func (a *arranger) aligned(l, r []*piece) bool {
	if len(l) > len(r) {
		l, r = r, l
	}
	n := 0
	for _, p := range l {
		if slices.ContainsFunc(r, func(q *piece) bool {
			d := p.middle() - q.middle()
			return max(d, -d) <= alignment*a.height
		}) {
			n++
		}
	}
	return float64(n) >= alignedShare*float64(len(l))
}

// blocks parts pieces at wide horizontal gaps.
func (a *arranger) blocks(pieces []*piece) [][]*piece {
	byY := slices.SortedStableFunc(slices.Values(pieces), func(p, q *piece) int { return cmp.Compare(p.box.Min.Y, q.box.Min.Y) })
	var list [][]*piece
	end := 0
	for i, p := range byY {
		if i == 0 || float64(p.box.Min.Y-end) > blockGap*a.height {
			list = append(list, nil)
		}
		list[len(list)-1] = append(list[len(list)-1], p)
		end = max(end, p.box.Max.Y)
	}
	return list
}

// rows joins pieces that are level.
func rows(pieces []*piece) [][]*piece {
	byY := slices.SortedStableFunc(slices.Values(pieces), func(p, q *piece) int { return cmp.Compare(p.middle(), q.middle()) })
	var list [][]*piece
	for _, p := range byY {
		if n := len(list); n > 0 && slices.ContainsFunc(list[n-1], func(q *piece) bool { return overlap(p.box, q.box) >= sameRow }) &&
			!slices.ContainsFunc(list[n-1], func(q *piece) bool {
				return p.box.Min.X < q.box.Max.X && q.box.Min.X < p.box.Max.X && overlap(p.box, q.box) < sameRow
			}) {
			list[n-1] = append(list[n-1], p)
			continue
		}
		list = append(list, []*piece{p})
	}
	for _, row := range list {
		slices.SortStableFunc(row, func(p, q *piece) int { return cmp.Compare(p.box.Min.X, q.box.Min.X) })
	}
	return list
}

// write appends the rows of a block.
func (a *arranger) write(pieces []*piece) {
	a.block++
	par, number, end := 1, 0, 0
	for i, row := range rows(pieces) {
		box := row[0].box
		for _, p := range row {
			box = box.Union(p.box)
		}
		if i > 0 && float64(box.Min.Y-end) > parGap*a.height {
			par, number = par+1, 0
		}
		number++
		end = box.Max.Y
		line := Line{Box: box}
		cells := make([]string, 0, len(row))
		if rightToLeft(a.in, row) {
			slices.Reverse(row)
			for _, p := range row {
				slices.Reverse(p.words)
			}
		}
		for _, p := range row {
			cells = append(cells, a.join(p.words))
			for _, w := range p.words {
				word := a.in[w]
				word.Block, word.Par, word.Line = a.block, par, number
				line.Words = append(line.Words, len(a.out))
				a.out = append(a.out, word)
			}
		}
		line.Text = strings.Join(cells, "\t")
		a.lines = append(a.lines, line)
	}
}

// rightToLeft tells whether most letters of a row are written so.
func rightToLeft(words []Word, row []*piece) bool {
	rtl, all := 0, 0
	for _, p := range row {
		for _, w := range p.words {
			for _, r := range words[w].Text {
				if unicode.IsLetter(r) {
					all++
					if unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana) {
						rtl++
					}
				}
			}
		}
	}
	return 2*rtl > all
}

// join puts words together, with a space where their script has spaces.
func (a *arranger) join(words []int) string {
	var b strings.Builder
	for i, w := range words {
		text := a.in[w].Text
		if i > 0 {
			before := []rune(a.in[words[i-1]].Text)
			if !unspaced(before[len(before)-1]) || !unspaced([]rune(text)[0]) {
				b.WriteByte(' ')
			}
		}
		b.WriteString(text)
	}
	return b.String()
}

// unspaced tells letters of scripts that put no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xff65
}
