package page

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// listState is a list while its items are found.
type listState struct {
	at     int // index in m.Lists, -1 when there was no room
	items  []int
	nested map[int][]int // elements of lists nested in an item, by item index
	term   string        // of a description list
}

func isList(e *element, role string) bool {
	switch e.tag {
	case atom.Ul, atom.Ol, atom.Menu:
		return role != "presentation" && role != "none"
	case atom.Dl:
		return true
	}
	return role == "list"
}

// readList reads lists, items and description lists.
func (r *reader) readList(i int, e *element, role string) {
	switch {
	case isList(e, role):
		s := &listState{at: -1, nested: map[int][]int{}}
		r.lists[i] = s
		outer := r.listAround(e)
		if outer != nil && len(outer.items) > 0 {
			n := len(outer.items) - 1
			outer.nested[n] = append(outer.nested[n], i)
		}
		if e.tag == atom.Dl {
			return
		}
		if add(r, "lists", &r.m.Lists, func() List {
			l := List{Ordered: e.tag == atom.Ol, InNav: e.in&inNav != 0, Label: r.givenName(e), Items: []string{}}
			if outer != nil && outer.at >= 0 && len(outer.items) > 0 {
				l.Parent = &Place{outer.at, len(outer.items) - 1}
			}
			return l
		}) {
			s.at = len(r.m.Lists) - 1
		}
	case e.tag == atom.Li, role == "listitem":
		if s := r.listAround(e); s != nil && s.at >= 0 {
			r.counts["list_items"]++
			if len(s.items) < MaxEntries {
				s.items = append(s.items, i)
			}
		}
	case e.tag == atom.Dt:
		if s := r.listAround(e); s != nil {
			s.term = r.text.prose(e.from, e.to, maxShort)
		}
	case e.tag == atom.Dd:
		if s := r.listAround(e); s != nil {
			add(r, "definitions", &r.m.Definitions, func() Definition { return Definition{s.term, r.text.prose(e.from, e.to, maxItem)} })
		}
	}
}

// listAround is the list that an element stands in.
func (r *reader) listAround(e *element) *listState {
	if e.parent < 0 || r.elements[e.parent].in&inList == 0 {
		return nil
	}
	for p := e.parent; p >= 0; p = r.elements[p].parent {
		if s := r.lists[p]; s != nil {
			return s
		}
	}
	return nil
}

// finishLists reads the items' texts, without those of nested lists, and drops
// lists without items.
func (r *reader) finishLists() {
	for _, s := range r.lists {
		if s.at < 0 {
			continue
		}
		l := &r.m.Lists[s.at]
		for n, i := range s.items {
			l.Items = append(l.Items, r.ownText(i, s.nested[n]))
		}
	}
}

// ownText is an element's text without that of the given elements inside it.
func (r *reader) ownText(i int, without []int) string {
	e := &r.elements[i]
	if len(without) == 0 {
		return r.textOf(e, maxItem)
	}
	var b strings.Builder
	from := e.from
	for _, j := range without {
		c := &r.elements[j]
		if b.Len() < maxItem {
			b.WriteString(r.text.content(from, c.from, maxItem) + " ")
		}
		from = c.to
	}
	if b.Len() < maxItem {
		b.WriteString(r.text.content(from, e.to, maxItem))
	}
	return shorten(b.String(), maxItem)
}
