// Package page reads the HTML of a web page into a control map: what a person
// sees in it (headings, navigation, main content, lists, forms, tables, media,
// footer, landmarks), without running it. Work and memory grow with the size of
// the input and no faster, whatever the input.
package page

import (
	"context"
	"errors"
	"fmt"
)

// MaxBytes is the largest input, in bytes.
const MaxBytes = 5 << 20

// ErrTooLarge is what an input over [MaxBytes] answers.
var ErrTooLarge = errors.New("the HTML is too large")

// DefaultMinText is the fewest characters of a piece of main content, when
// [Options] says nothing.
const DefaultMinText = 10

// Options say what to leave out.
type Options struct {
	MinText int // fewest characters of a piece of main content; 0 keeps all
}

// Map is a page by what its parts mean. Texts have their white space collapsed
// and are those of the DOM's textContent without hidden parts; in main content,
// cells, definitions and the footer a space stands where blocks meet. A text
// that is cut ends with an ellipsis.
type Map struct {
	Title       string       `json:"title"`
	Lang        string       `json:"lang,omitempty"`
	Dir         string       `json:"dir,omitempty"`
	Headings    []Heading    `json:"headings"`
	Navigation  Navigation   `json:"navigation"`
	MainContent []Block      `json:"main_content"`
	Lists       []List       `json:"lists"`
	Forms       []Form       `json:"forms"`
	LooseFields []Field      `json:"fields_outside_forms"`
	Buttons     []Button     `json:"buttons"`
	Tables      []Table      `json:"tables"`
	Media       []Media      `json:"media"`
	Links       []Link       `json:"links"` // those outside of navigation
	Definitions []Definition `json:"definitions,omitempty"`
	Landmarks   []Landmark   `json:"landmarks"`
	Footer      Footer       `json:"footer"`
}

// Heading is a heading and its level, 1 to 6 (more with aria-level).
type Heading struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
}

// Navigation holds the navigation landmarks.
type Navigation struct {
	Navs []Nav `json:"navs"`
}

// Nav is one navigation landmark with its links.
type Nav struct {
	Label string `json:"label,omitempty"`
	Links []Link `json:"links"`
}

// Link is a link as it is written; Text is its accessible name.
type Link struct {
	Text    string `json:"text"`
	Href    string `json:"href"`
	Current bool   `json:"current,omitempty"`
}

// Block is one piece of main content.
type Block struct {
	Type    string `json:"type"` // paragraph, text, quote or code
	Text    string `json:"text"`
	Heading *int   `json:"heading,omitempty"` // index of the heading it stands under
}

// List is one list with its own items: what a nested list says stands in that
// list alone.
type List struct {
	Ordered bool     `json:"ordered"`
	InNav   bool     `json:"in_nav"`
	Label   string   `json:"label,omitempty"`
	Items   []string `json:"items"`
	Parent  *Place   `json:"parent,omitempty"` // the item it is nested in
}

// Place is an item of a list, by index.
type Place struct {
	List int `json:"list"`
	Item int `json:"item"`
}

// Form is a form with what can be filled in and pressed.
type Form struct {
	Label   string   `json:"label,omitempty"`
	Action  string   `json:"action,omitempty"`
	Method  string   `json:"method,omitempty"`
	Role    string   `json:"role,omitempty"`
	Fields  []Field  `json:"fields"`
	Buttons []string `json:"buttons"`
}

// Field is one field of a form. Type is the type of an input, select, textarea,
// or the role of an element that acts as a field.
type Field struct {
	Type        string   `json:"type"`
	Name        string   `json:"name,omitempty"`
	Label       string   `json:"label,omitempty"`
	Group       string   `json:"group,omitempty"` // legend of its fieldset
	Placeholder string   `json:"placeholder,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Disabled    bool     `json:"disabled,omitempty"`
	Checked     bool     `json:"checked,omitempty"`
	Options     []string `json:"options,omitempty"`
}

// Button is a button: its text, and its accessible name where that differs.
type Button struct {
	Text     string `json:"text"`
	Name     string `json:"name,omitempty"`
	Disabled bool   `json:"disabled,omitempty"`
}

// Table is a table. Cells have the rows from the top, headers included, those
// that fit; Rows, BodyRows and Cols count all of them.
type Table struct {
	Rows     int        `json:"rows"`
	BodyRows int        `json:"body_rows"`
	Cols     int        `json:"cols"`
	Headers  []string   `json:"headers"`
	Caption  string     `json:"caption,omitempty"`
	Layout   bool       `json:"layout,omitempty"` // holds the page's layout, not data
	Cells    [][]string `json:"cells"`
}

// Media is a picture, drawing, film, sound or frame with its alternative text.
type Media struct {
	Tag string `json:"tag"`
	Alt string `json:"alt"`
	Src string `json:"src,omitempty"` // without data: URIs
}

// Definition is a term of a description list with what stands for it.
type Definition struct {
	Term        string `json:"term"`
	Description string `json:"description"`
}

// Landmark is a landmark or a live region, by its ARIA role.
type Landmark struct {
	Tag   string `json:"tag"`
	Role  string `json:"role"`
	Label string `json:"label,omitempty"`
}

// Footer is what the page's footers say and link to.
type Footer struct {
	Text  []string `json:"text"`
	Links []Link   `json:"links"`
}

// Stats are figures of the page's text.
type Stats struct {
	HTMLBytes   int     `json:"html_bytes"`
	Elements    int     `json:"elements"`
	TextBytes   int     `json:"text_bytes"`
	Words       int     `json:"words"`
	Blocks      int     `json:"blocks"`
	LinkDensity float64 `json:"link_density"` // share of the text that stands in links
	TextDensity float64 `json:"text_density"` // text bytes per byte of HTML
	ContentBy   string  `json:"content_by"`   // how main content was told: landmark, density or all
}

// Report is a page's map with how it was made.
type Report struct {
	Map    *Map
	Stats  Stats
	Limits []string       // limits that were hit, each with its name and value
	Counts map[string]int // how many of each member the page has; the map holds at most [MaxEntries]
}

// Bounds of a map, so that no page makes a huge one. Lengths are in bytes.
const (
	MaxEntries   = 2000 // of each member of the map, and of each list of an entry
	maxShort     = 300  // a heading, a cell, a label
	maxHref      = 1000
	maxItem      = 1000
	maxBlockText = 4000
)

// Extract reads a page. It checks the context now and then.
//
// # Errors
//
// [ErrTooLarge], and the context's.
func Extract(ctx context.Context, source string, o Options) (*Report, error) {
	if len(source) > MaxBytes {
		return nil, fmt.Errorf("%w: %d bytes, the limit (MaxBytes) is %d", ErrTooLarge, len(source), MaxBytes)
	}
	t, err := build(ctx, source)
	if err != nil {
		return nil, err
	}
	r := newReader(t)
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	stats := r.content(o.MinText)
	stats.HTMLBytes, stats.Elements = len(source), len(t.elements)
	stats.TextDensity = ratio(stats.TextBytes, stats.HTMLBytes)
	return &Report{Map: r.m, Stats: stats, Limits: t.limits, Counts: r.counts}, nil
}
