package page

import (
	"context"
	"strconv"
	"strings"

	"golang.org/x/net/html/atom"
)

// reader makes the map in one pass over the elements.
type reader struct {
	*tree
	m      *Map
	counts map[string]int
	ids    map[string]int // first element of an id
	labels map[string]int // first label for an id

	forms  map[int]int // index in m.Forms by element
	navs   map[int]int // index in m.Navigation.Navs by element
	lists  map[int]*listState
	tables map[int]*tableState
	// headingAt are the elements that are headings, in order, beside m.Headings.
	headingAt []int
}

func newReader(t *tree) *reader {
	m := &Map{
		Title: shorten(t.title, maxShort), Lang: shorten(t.lang, maxShort), Dir: shorten(t.dir, maxShort),
		Headings: []Heading{}, Navigation: Navigation{Navs: []Nav{}}, MainContent: []Block{}, Lists: []List{}, Forms: []Form{}, LooseFields: []Field{},
		Buttons: []Button{}, Tables: []Table{}, Media: []Media{}, Links: []Link{}, Landmarks: []Landmark{}, Footer: Footer{Text: []string{}, Links: []Link{}},
	}
	r := &reader{tree: t, m: m, counts: map[string]int{}, ids: map[string]int{}, labels: map[string]int{},
		forms: map[int]int{}, navs: map[int]int{}, lists: map[int]*listState{}, tables: map[int]*tableState{}}
	for i := range t.elements {
		e := &t.elements[i]
		if id := e.value("id"); id != "" {
			if _, taken := r.ids[id]; !taken {
				r.ids[id] = i
			}
		}
		if e.tag == atom.Label {
			if id := e.value("for"); id != "" {
				if _, taken := r.labels[id]; !taken {
					r.labels[id] = i
				}
			}
		}
	}
	return r
}

// add appends to a member of the map while it has room, and counts.
func add[T any](r *reader, name string, list *[]T, v func() T) bool {
	r.counts[name]++
	if len(*list) >= MaxEntries {
		return false
	}
	*list = append(*list, v())
	return true
}

// read goes over the elements in document order.
func (r *reader) read(ctx context.Context) error {
	for i := range r.elements {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := &r.elements[i]
		if e.in&inHidden != 0 {
			continue
		}
		role := e.role()
		r.readHeading(i, e, role)
		r.readLandmark(i, e, role)
		r.readLink(i, e)
		r.readControl(i, e, role)
		r.readMedia(e, i, role)
		r.readList(i, e, role)
		r.readTable(i, e, role)
	}
	r.finishLists()
	r.finishTables()
	return nil
}

func (r *reader) textOf(e *element, max int) string { return r.text.content(e.from, e.to, max) }

func (r *reader) readHeading(i int, e *element, role string) {
	level := headingLevel(e.tag)
	if role == "heading" {
		if level == 0 {
			level = 2 // what ARIA takes for a heading without aria-level
		}
		if n, err := strconv.Atoi(e.value("aria-level")); err == nil && n > 0 {
			level = n
		}
	} else if role != "" {
		level = 0
	}
	if level == 0 {
		return
	}
	text := r.textOf(e, maxShort)
	if text == "" {
		text = r.givenName(e)
	}
	if text == "" {
		text = r.altInside(i)
	}
	if text != "" && add(r, "headings", &r.m.Headings, func() Heading { return Heading{level, text} }) {
		r.headingAt = append(r.headingAt, i)
	}
}

func (r *reader) readLandmark(i int, e *element, role string) {
	kind := role
	if kind == "" {
		kind = landmarkOf[e.tag]
		label := r.givenName(e)
		switch {
		case e.tag == atom.Section && label != "":
			kind = "region"
		case e.tag == atom.Form && label != "":
			kind = "form"
		case e.tag == atom.Header && e.in&inHeader == 0, e.tag == atom.Footer && e.in&inFooter == 0:
			return
		}
	}
	if !landmarkRoles[kind] {
		return
	}
	add(r, "landmarks", &r.m.Landmarks, func() Landmark { return Landmark{Tag: e.tag.String(), Role: kind, Label: r.givenName(e)} })
	switch kind {
	case "navigation":
		if add(r, "navigation", &r.m.Navigation.Navs, func() Nav { return Nav{Label: r.givenName(e), Links: []Link{}} }) {
			r.navs[i] = len(r.m.Navigation.Navs) - 1
		}
	case "contentinfo":
		if text := r.text.prose(e.from, e.to, maxItem); text != "" {
			add(r, "footer", &r.m.Footer.Text, func() string { return text })
		}
	}
}

func (r *reader) readLink(i int, e *element) {
	href, ok := e.attribute("href")
	if !ok || e.tag != atom.A && e.tag != atom.Area {
		return
	}
	current := e.value("aria-current")
	link := func() Link {
		text := r.textOf(e, maxItem)
		if text == "" {
			text = r.givenName(e)
		}
		if text == "" {
			text = r.altInside(i)
		}
		return Link{Text: text, Href: shorten(href, maxHref), Current: current != "" && current != "false"}
	}
	if e.in&inNav != 0 {
		for p := e.parent; p >= 0; p = r.elements[p].parent {
			if n, ok := r.navs[p]; ok {
				add(r, "nav_links", &r.m.Navigation.Navs[n].Links, link)
				return
			}
		}
	}
	if e.in&inFooter != 0 {
		add(r, "footer_links", &r.m.Footer.Links, link)
		return
	}
	add(r, "links", &r.m.Links, link)
}

func (r *reader) readMedia(e *element, i int, role string) {
	var alt string
	switch e.tag {
	case atom.Img:
		alt = e.value("alt")
	case atom.Svg, atom.Canvas:
		if role != "img" && !e.has("aria-label") && !e.has("aria-labelledby") || e.in&inButton != 0 {
			return
		}
	case atom.Video, atom.Audio, atom.Iframe, atom.Object, atom.Embed:
	default:
		if role != "img" {
			return
		}
	}
	if alt == "" {
		alt = r.givenName(e)
	}
	if alt == "" && e.tag == atom.Svg {
		alt = r.svgTitle(i)
	}
	add(r, "media", &r.m.Media, func() Media {
		m := Media{Tag: e.tag.String(), Alt: shorten(alt, maxItem)}
		if src := e.value("src"); !strings.HasPrefix(strings.ToLower(src[:min(len(src), 5)]), "data:") {
			m.Src = shorten(src, maxHref)
		}
		return m
	})
}

// svgTitle is the text of a drawing's own title.
func (r *reader) svgTitle(i int) string {
	e := &r.elements[i]
	for j := i + 1; j < e.end; j = r.elements[j].end {
		if c := &r.elements[j]; c.tag == atom.Title {
			return r.textOf(c, maxShort)
		}
	}
	return ""
}

// givenName is the name that ARIA or a title gives an element, whatever its
// content.
func (r *reader) givenName(e *element) string {
	var parts []string
	for id := range strings.FieldsSeq(e.value("aria-labelledby")) {
		if j, ok := r.ids[id]; ok {
			if t := r.labelText(j); t != "" {
				parts = append(parts, t)
			}
		}
		if len(parts) == maxAttrs {
			break
		}
	}
	if len(parts) > 0 {
		return shorten(strings.Join(parts, " "), maxShort)
	}
	if l := e.value("aria-label"); l != "" {
		return shorten(l, maxShort)
	}
	return shorten(e.value("title"), maxShort)
}

// maxLook is how many elements inside an element are looked at for a name.
const maxLook = 64

// altInside is the first alternative text or label inside an element.
func (r *reader) altInside(i int) string {
	e := &r.elements[i]
	for j := i + 1; j < min(e.end, i+maxLook); j++ {
		c := &r.elements[j]
		if alt := c.value("alt"); alt != "" {
			return shorten(alt, maxShort)
		}
		if name := r.givenName(c); name != "" {
			return name
		}
	}
	return ""
}

// labelText is an element's text without that of the controls inside it.
func (r *reader) labelText(i int) string {
	e := &r.elements[i]
	var b strings.Builder
	from := e.from
	for j := i + 1; j < min(e.end, i+maxLook); j++ {
		switch c := &r.elements[j]; c.tag {
		case atom.Select, atom.Button, atom.Textarea:
			if c.from >= from {
				b.WriteString(r.text.content(from, c.from, maxShort) + " ")
				from = c.to
			}
		}
	}
	b.WriteString(r.text.content(from, e.to, maxShort))
	return shorten(b.String(), maxShort)
}
