package page

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// truth is what a browser's DOM says of a page.
type truth struct {
	Semantics struct {
		Headings []Heading
		Navs     []Nav
		Lists    []List
		Tables   []Table
		Forms    []Form
		Loose    []Field `json:"fields_outside_forms"`
		Media    []Media
	}
}

// bag is a multiset of what is compared.
type bag map[string]int

func (b bag) add(parts ...any) { b[fmt.Sprintln(parts...)]++ }

// measures are the multisets of one page.
func measures(headings []Heading, navs []Nav, lists []List, tables []Table, forms []Form, loose []Field, media []Media) map[string]bag {
	m := map[string]bag{}
	for _, name := range measureNames {
		m[name] = bag{}
	}
	for _, h := range headings {
		m["headings"].add(h.Level, h.Text)
	}
	for _, n := range navs {
		for _, l := range n.Links {
			m["nav links"].add(l.Text, l.Href)
		}
	}
	for _, l := range lists {
		for _, item := range l.Items {
			m["list items"].add(item)
		}
	}
	for _, t := range tables {
		m["tables"].add(t.Rows, t.BodyRows, t.Cols, strings.Join(t.Headers, "|"), t.Caption)
	}
	for _, f := range append(forms, Form{Fields: loose}) {
		for _, field := range f.Fields {
			m["fields"].add(field.Type, field.Label)
		}
	}
	for _, x := range media {
		m["media alt"].add(x.Tag, x.Alt)
	}
	return m
}

var measureNames = []string{"headings", "nav links", "list items", "tables", "fields", "media alt"}

// lowestF1 is what every measure must reach over all pages.
const lowestF1 = 0.98

// TestMapAgainstTheDOM compares maps of browser pages with what the browser's
// DOM says. VISIONS_PAGES names a folder with more of them, as NAME/page.html
// and NAME/page.truth.json.
func TestMapAgainstTheDOM(t *testing.T) {
	pages, err := filepath.Glob("testdata/*.html")
	if err != nil || len(pages) < 12 {
		t.Fatalf("%d pages in testdata, %v", len(pages), err)
	}
	if folder := os.Getenv("VISIONS_PAGES"); folder != "" {
		if pages, err = filepath.Glob(filepath.Join(folder, "*", "page.html")); err != nil || len(pages) == 0 {
			t.Fatalf("no pages in %s, %v", folder, err)
		}
	}
	hits, wanted, given := map[string]int{}, map[string]int{}, map[string]int{}
	for _, file := range pages {
		var want truth
		data, err := os.ReadFile(strings.TrimSuffix(file, ".html") + ".truth.json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Extract(context.Background(), string(source), Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, m := want.Semantics, r.Map
		expected := measures(s.Headings, s.Navs, s.Lists, s.Tables, s.Forms, s.Loose, s.Media)
		got := measures(m.Headings, m.Navigation.Navs, m.Lists, m.Tables, m.Forms, m.LooseFields, m.Media)
		for _, name := range measureNames {
			for key, n := range expected[name] {
				wanted[name] += n
				hits[name] += min(n, got[name][key])
				if got[name][key] < n {
					t.Logf("%s: %s: missing %q", file, name, key)
				}
			}
			for key, n := range got[name] {
				given[name] += n
				if n > expected[name][key] {
					t.Logf("%s: %s: too much %q", file, name, key)
				}
			}
		}
	}
	for _, name := range measureNames {
		f1 := 2 * float64(hits[name]) / float64(wanted[name]+given[name])
		t.Logf("%-10s  wanted %4d  found %4d  right %4d  F1 %.4f", name, wanted[name], given[name], hits[name], f1)
		if f1 < lowestF1 {
			t.Errorf("%s: F1 %.4f, want %.2f", name, f1, lowestF1)
		}
	}
}
