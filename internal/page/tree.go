package page

import (
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Limits of the tree.
const (
	maxNodes   = 300_000 // elements; real pages of 5 MB have a third of that
	maxDepth   = 512     // open elements, as browsers nest; deeper ones become empty siblings
	maxAttrs   = 64      // attributes kept of one element
	checkEvery = 1024    // tokens between two looks at the context
)

// where tells in what surroundings an element stands: a set of bits that its
// descendants inherit.
type where uint16

const (
	inNav where = 1 << iota
	inHeader
	inFooter
	inAside
	inMain
	inList
	inTable
	inLabel
	inButton
	inHeading
	inArticle
	inLink
	inSelect
	inSVG
	inHidden
)

type attr struct{ key, value string }

// element is one element of the page. Descendants follow it in document order
// up to end.
type element struct {
	tag      atom.Atom
	parent   int // index, -1 for none
	end      int // index after the last descendant
	from, to int // its text in the buffer
	in       where
	form     int // the form that controls belong to here, -1 for none
	attrs    []attr
}

// attribute returns an attribute's value and whether it is there.
func (e *element) attribute(key string) (string, bool) {
	for _, a := range e.attrs {
		if a.key == key {
			return a.value, true
		}
	}
	return "", false
}

// value returns an attribute without white space around it, "" without one.
func (e *element) value(key string) string {
	v, _ := e.attribute(key)
	return strings.TrimSpace(v)
}

func (e *element) has(key string) bool { _, ok := e.attribute(key); return ok }

// role is the first word of the role attribute, in lower case.
func (e *element) role() string {
	word, _, _ := strings.Cut(strings.ToLower(e.value("role")), " ")
	return word
}

// block is a run of text without a block element's edge in it.
type block struct {
	from, to int
	owner    int // the block element around it, -1 for none
	in       where
	links    int    // bytes of it in links
	pre      string // text with its line ends, for preformatted text
}

// tree is the page as the builder leaves it.
type tree struct {
	title, lang, dir string
	elements         []element
	blocks           []block
	text             text
	limits           []string
}

// builder makes a tree of tokens. It keeps to the rules of HTML for implied
// end tags, but to none for misnested formatting: that would make many elements
// of one, and nothing here depends on it. So its work and memory grow no faster
// than the input.
type builder struct {
	*tree
	z      *html.Tokenizer
	open   []int // indexes of open elements
	count  map[atom.Atom]int
	form   int
	skip   atom.Atom // the element whose content is dropped, 0 for none
	depth  int       // elements named skip that are open in it
	titled bool
	block  int // index of the block that text goes to, -1 for none
	deep   bool
}

func build(ctx context.Context, source string) (*tree, error) {
	b := &builder{tree: &tree{}, z: html.NewTokenizer(strings.NewReader(source)), count: map[atom.Atom]int{}, form: -1, block: -1}
	b.text.buf = make([]byte, 0, len(source)/4)
	read := 0
	for n := 0; ; n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		kind := b.z.Next()
		if kind == html.ErrorToken {
			if err := b.z.Err(); err != io.EOF {
				return nil, fmt.Errorf("reading the HTML: %w", err)
			}
			break
		}
		if len(b.elements) >= maxNodes {
			b.limits = append(b.limits, fmt.Sprintf("maxNodes %d: reading stopped at byte %d of %d", maxNodes, read, len(source)))
			break
		}
		read += len(b.z.Raw())
		switch kind {
		case html.TextToken:
			b.addText(b.z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			b.start(kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := b.z.TagName()
			b.endTag(atom.Lookup(name))
		}
	}
	b.popTo(0)
	if b.deep {
		b.limits = append(b.limits, fmt.Sprintf("maxDepth %d: elements nested deeper are not told apart", maxDepth))
	}
	return b.tree, nil
}

// addText adds the text of a token where it belongs.
func (b *builder) addText(s []byte) {
	if b.skip == atom.Title {
		if !b.titled {
			b.title += string(s)
		}
		return
	}
	if b.skip != 0 {
		return
	}
	var in where
	if top := b.top(); top != nil {
		in = top.in
	}
	if in&inHidden != 0 {
		return
	}
	from := len(b.text.buf)
	if !b.text.write(s) {
		return
	}
	if b.block < 0 {
		owner := b.blockOwner()
		if owner >= 0 {
			in = b.elements[owner].in | in&(inLabel|inButton|inSelect)
		}
		b.blocks = append(b.blocks, block{from: from, owner: owner, in: in &^ inLink})
		b.block = len(b.blocks) - 1
	}
	bl := &b.blocks[b.block]
	bl.to = len(b.text.buf)
	if top := b.top(); top != nil && top.in&inLink != 0 {
		bl.links += bl.to - from
	}
	if b.count[atom.Pre] > 0 && len(bl.pre) < maxBlockText {
		bl.pre += string(s)
	}
}

func (b *builder) top() *element {
	if len(b.open) == 0 {
		return nil
	}
	return &b.elements[b.open[len(b.open)-1]]
}

// blockOwner finds the innermost open block element.
func (b *builder) blockOwner() int {
	for i := len(b.open) - 1; i >= 0; i-- {
		if isBlock[b.elements[b.open[i]].tag] {
			return b.open[i]
		}
	}
	return -1
}

// edge ends the block that text went to.
func (b *builder) edge() {
	b.text.separate()
	b.block = -1
}

// start handles a start tag.
func (b *builder) start(selfClosing bool) {
	raw, more := b.z.TagName()
	tag := atom.Lookup(raw)
	top := b.top()
	svg := tag == atom.Svg || top != nil && top.in&inSVG != 0
	if selfClosing && svg {
		b.z.NextIsNotRawText()
	}
	if b.skip != 0 {
		if tag == b.skip && !(selfClosing && svg) {
			b.depth++
		}
		return
	}
	var attrs []attr
	for more {
		var key, value []byte
		key, value, more = b.z.TagAttr()
		if wanted[string(key)] && len(attrs) < maxAttrs {
			attrs = append(attrs, attr{string(key), string(value)})
		}
	}
	switch tag {
	case atom.Html, atom.Body, atom.Head:
		for _, a := range attrs {
			if a.key == "lang" && b.lang == "" {
				b.lang = strings.TrimSpace(a.value)
			}
			if a.key == "dir" && b.dir == "" {
				b.dir = strings.ToLower(strings.TrimSpace(a.value))
			}
		}
		return
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Noframes, atom.Noembed, atom.Title:
		if !(selfClosing && svg) && !(tag == atom.Title && svg) {
			b.skip, b.depth = tag, 1
		}
		return
	}
	if !svg && !b.imply(tag) {
		return
	}
	b.push(tag, attrs, svg, selfClosing)
	if tag == atom.Textarea || tag == atom.Iframe { // raw text that is not shown as text
		b.skip, b.depth = tag, 1
	}
}

// push adds an element and opens it, unless it has no content.
func (b *builder) push(tag atom.Atom, attrs []attr, svg, selfClosing bool) {
	if isBlock[tag] {
		b.edge()
	} else if tag == atom.Br {
		b.text.separate()
	}
	e := element{tag: tag, parent: -1, from: len(b.text.buf), to: len(b.text.buf), attrs: attrs, end: len(b.elements) + 1}
	if n := len(b.open); n > 0 {
		e.parent = b.open[n-1]
		e.in = b.elements[e.parent].in
	}
	e.in |= surroundings(&e)
	if tag == atom.Form && b.form < 0 {
		b.form = len(b.elements)
	}
	e.form = b.form
	b.elements = append(b.elements, e)
	if isVoid[tag] || svg && selfClosing {
		return
	}
	if len(b.open) >= maxDepth {
		b.deep = true
		return
	}
	b.open = append(b.open, len(b.elements)-1)
	b.count[tag]++
}

// surroundings gives what an element adds to the surroundings of its content.
func surroundings(e *element) where {
	in := byTag[e.tag]
	if e.tag == atom.A && !e.has("href") {
		in = 0
	}
	if role := e.role(); role != "" {
		in |= byRole[role]
		if (role == "presentation" || role == "none") && e.tag == atom.Table {
			in = 0
		}
	}
	// A header or footer of a part of the page is none of the page.
	if e.in&(inArticle|inMain) != 0 && e.tag == atom.Header || e.in&inArticle != 0 && e.tag == atom.Footer {
		in = 0
	}
	if len(e.attrs) > 0 {
		style := strings.ToLower(e.value("style"))
		if hidden := e.has("hidden"); hidden || strings.Contains(style, "display") && displayNone(style) || e.tag == atom.Dialog && !e.has("open") {
			in |= inHidden
		}
	} else if e.tag == atom.Dialog {
		in |= inHidden
	}
	return in
}

// displayNone reports whether a style attribute hides its element.
func displayNone(style string) bool {
	for rule := range strings.SplitSeq(style, ";") {
		key, value, _ := strings.Cut(rule, ":")
		value, _, _ = strings.Cut(value, "!")
		if strings.TrimSpace(key) == "display" && strings.TrimSpace(value) == "none" {
			return true
		}
	}
	return false
}

// imply closes what a start tag closes without saying so. It returns false for
// a tag that is to be ignored.
func (b *builder) imply(tag atom.Atom) bool {
	if closesP[tag] && b.count[atom.P] > 0 {
		b.closeNearest(pScope, atom.P)
	}
	switch tag {
	case atom.Li:
		b.closeNearest(listScope, atom.Li)
	case atom.Dt, atom.Dd:
		b.closeNearest(listScope, atom.Dt, atom.Dd)
	case atom.Option:
		b.closeTop(atom.Option)
	case atom.Optgroup:
		b.closeTop(atom.Option)
		b.closeTop(atom.Optgroup)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		if top := b.top(); top != nil && headingLevel(top.tag) > 0 {
			b.popTo(len(b.open) - 1)
		}
	case atom.A:
		b.endTag(atom.A)
	case atom.Button:
		b.closeNearest(pScope, atom.Button)
	case atom.Form:
		return b.form < 0
	case atom.Input, atom.Textarea, atom.Select:
		b.closeNearest(pScope, atom.Select)
	case atom.Td, atom.Th:
		b.closeNearest(tableScope, atom.Td, atom.Th, atom.Caption)
		return b.count[atom.Table] > 0
	case atom.Tr:
		b.closeNearest(tableScope, atom.Tr, atom.Caption, atom.Colgroup)
		return b.count[atom.Table] > 0
	case atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption, atom.Colgroup:
		b.closeNearest(tableScope, atom.Tbody, atom.Thead, atom.Tfoot, atom.Caption, atom.Colgroup)
		return b.count[atom.Table] > 0
	}
	return true
}

// closeTop closes the innermost element if it is a tag.
func (b *builder) closeTop(tag atom.Atom) {
	if top := b.top(); top != nil && top.tag == tag {
		b.popTo(len(b.open) - 1)
	}
}

// closeNearest closes the innermost of some elements unless scope stands
// between.
func (b *builder) closeNearest(scope map[atom.Atom]bool, tags ...atom.Atom) {
	n := 0
	for _, t := range tags {
		n += b.count[t]
	}
	if n == 0 {
		return
	}
	for i := len(b.open) - 1; i >= 0; i-- {
		tag := b.elements[b.open[i]].tag
		for _, t := range tags {
			if tag == t {
				b.popTo(i)
				return
			}
		}
		if scope[tag] {
			return
		}
	}
}

// endTag handles an end tag: it closes the innermost element of the name. An
// inline element is not closed across a block, and nothing out of a cell.
func (b *builder) endTag(tag atom.Atom) {
	if b.skip != 0 {
		if tag == b.skip {
			if b.depth--; b.depth == 0 {
				if tag == atom.Title {
					b.titled = true
				}
				b.skip = 0
				if top := b.top(); top != nil && top.tag == tag { // textarea, iframe
					b.popTo(len(b.open) - 1)
				}
			}
		}
		return
	}
	if tag == atom.Form {
		b.form = -1
	}
	if tag == atom.Br || tag == 0 || b.count[tag] == 0 {
		return
	}
	level := headingLevel(tag)
	for i := len(b.open) - 1; i >= 0; i-- {
		t := b.elements[b.open[i]].tag
		if t == tag || level > 0 && headingLevel(t) > 0 {
			b.popTo(i)
			return
		}
		if !isTablePart[tag] && tableScope[t] || isTablePart[tag] && t == atom.Table && tag != atom.Table || !isBlock[tag] && isBlock[t] && t != atom.P {
			return
		}
	}
}

// popTo closes open elements down to n.
func (b *builder) popTo(n int) {
	for len(b.open) > n {
		i := b.open[len(b.open)-1]
		b.open = b.open[:len(b.open)-1]
		e := &b.elements[i]
		e.end, e.to = len(b.elements), len(b.text.buf)
		b.count[e.tag]--
		if isBlock[e.tag] {
			b.edge()
		}
	}
}

func headingLevel(tag atom.Atom) int {
	switch tag {
	case atom.H1:
		return 1
	case atom.H2:
		return 2
	case atom.H3:
		return 3
	case atom.H4:
		return 4
	case atom.H5:
		return 5
	case atom.H6:
		return 6
	}
	return 0
}
