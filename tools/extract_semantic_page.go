package tools

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/visions-mcp/visions/internal/page"
)

var extractSemanticPage = Tool{
	Name:  "extract_semantic_page",
	Title: "Read the structure of a web page",
	Description: "Reads HTML into a control map: headings, navigation, main content, lists, forms with labels, tables, media, links, landmarks, footer. " +
		"No script runs and nothing is fetched. Hidden parts are left out.",
	Group: "page",
	Input: Object([]string{"html_content"},
		Text("html_content", "The HTML, at most 5 MiB: a document or a part of one."),
		Property{"min_text_length", Schema{Type: "integer", Description: "Fewest characters of a piece of main content.", Minimum: new(0.0), Maximum: new(100_000.0), Default: page.DefaultMinText}},
		Flag("include_raw", "Whether to return figures of the page's text: bytes, words, densities.", false),
	).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "control_map", "counts"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"control_map", Schema{Type: "object", Open: true, Description: "title, headings, navigation.navs, main_content, lists, forms, fields_outside_forms, buttons, tables, media, links, landmarks, footer."}},
		{"counts", Schema{Type: "object", Open: true, Description: "How many of each the page has."}},
		{"omitted", Schema{Type: "object", Open: true, Description: "How many of each were left out to keep the answer short; absent when none."}},
		{"limits", Schema{Type: "array", Items: &Schema{Type: "string"}, Description: "Limits that were hit while reading, with name and value."}},
		{"raw", Schema{Type: "object", Open: true, Description: "Figures of the text, with include_raw."}},
	}}.JSON(),
	Handle: handleExtractSemanticPage,
}

// pageAnswer is the JSON of extract_semantic_page.
type pageAnswer struct {
	Success bool           `json:"success"`
	Map     *page.Map      `json:"control_map"`
	Counts  map[string]int `json:"counts"`
	Omitted map[string]int `json:"omitted,omitempty"`
	Note    string         `json:"note,omitempty"`
	Limits  []string       `json:"limits,omitempty"`
	Raw     *page.Stats    `json:"raw,omitempty"`
}

func handleExtractSemanticPage(ctx context.Context, c *Call) (*Result, error) {
	var a struct {
		HTML    string `json:"html_content"`
		MinText int    `json:"min_text_length"`
		Raw     bool   `json:"include_raw"`
	}
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	answer := &pageAnswer{Success: true}
	err := c.Pixels(ctx, func() error {
		r, err := page.Extract(ctx, a.HTML, page.Options{MinText: a.MinText})
		if errors.Is(err, page.ErrTooLarge) {
			return Errorf(TooLarge, "html_content: %w", err).Suggest("send the part of the page that matters, or drop scripts, styles and data: URIs from it")
		}
		if err != nil {
			return err
		}
		answer.Map, answer.Counts, answer.Limits = r.Map, r.Counts, r.Limits
		if a.Raw {
			answer.Raw = &r.Stats
		}
		return answer.fit(c.MaxResponseText)
	})
	if err != nil {
		return nil, err
	}
	return &Result{Value: answer}, nil
}

// fit shortens the map until the answer's JSON is within limit, and tells what
// is missing.
func (p *pageAnswer) fit(limit int) error {
	sizes, total, err := p.sizes(limit)
	if err != nil {
		return err
	}
	for total > limit {
		part := heaviest(sizes)
		if part == nil {
			break
		}
		part.shrink(total > 4*limit)
		before := part.size
		if err := part.measure(); err != nil {
			return err
		}
		part.done = part.size >= before
		total += part.size - before
	}
	p.Omitted = omitted(p.Map, p.Counts)
	if len(p.Omitted) > 0 {
		p.Note = "Parts were left out to keep the answer within MaxResponseText; counts has the page's own numbers. Send a part of the page to see all of it."
	}
	return nil
}

// sizes returns the parts that can be shortened and the size of the whole with
// room for the account of it.
func (p *pageAnswer) sizes(limit int) ([]*mapPart, int, error) {
	whole, err := marshal(p)
	if err != nil {
		return nil, 0, err
	}
	total := len(whole)
	if total > limit {
		total += accountReserve
	}
	parts := partsOf(p.Map)
	for _, part := range parts {
		if err := part.measure(); err != nil {
			return nil, 0, err
		}
	}
	return parts, total, nil
}

// accountReserve is what omitted and note take at most, in bytes.
const accountReserve = 600

// mapPart is a member of the map that can be shortened. The larger its weight,
// the sooner it is.
type mapPart struct {
	weight int
	value  func() any
	shrink func(much bool)
	size   int
	done   bool
}

func (m *mapPart) measure() error {
	raw, err := marshal(m.value())
	m.size = len(raw)
	return err
}

func heaviest(parts []*mapPart) *mapPart {
	var best *mapPart
	for _, p := range parts {
		if !p.done && (best == nil || p.weight*p.size > best.weight*best.size) {
			best = p
		}
	}
	return best
}

// cut drops the end of a list: half of it, or an eighth.
func cut[T any](list *[]T, much bool) {
	n := len(*list)
	drop := (n + 7) / 8
	if much {
		drop = (n + 1) / 2
	}
	*list = (*list)[:n-drop]
}

// cutLongest shortens the longest inner list, or the outer one when all of the
// inner ones are short.
func cutLongest[T, U any](outer *[]T, inner func(*T) *[]U, much bool) {
	var longest *[]U
	for i := range *outer {
		if l := inner(&(*outer)[i]); longest == nil || len(*l) > len(*longest) {
			longest = l
		}
	}
	if longest == nil || len(*longest) <= minItems {
		cut(outer, much)
		return
	}
	cut(longest, much)
}

// minBlock is the length in bytes to which pieces of main content are cut
// before any of them is left out.
const minBlock = 240

// cutText keeps at most n bytes of a text.
func cutText(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " \n") + ellipsis
}

func shrinkContent(m *page.Map, much bool) {
	longest := 0
	for _, b := range m.MainContent {
		longest = max(longest, len(b.Text))
	}
	if longest <= minBlock+len(ellipsis) {
		cut(&m.MainContent, much)
		return
	}
	for i := range m.MainContent {
		if b := &m.MainContent[i]; len(b.Text) > longest/2 && len(b.Text) > minBlock {
			b.Text = cutText(b.Text, max(longest/2, minBlock))
		}
	}
}

// partsOf lists what can be shortened. Prose goes first, then what is told
// elsewhere too, and last what a client acts on.
func partsOf(m *page.Map) []*mapPart {
	return []*mapPart{
		{weight: 6, value: func() any { return m.MainContent }, shrink: func(much bool) { shrinkContent(m, much) }},
		{weight: 4, value: func() any { return m.Tables }, shrink: func(much bool) {
			cutLongest(&m.Tables, func(t *page.Table) *[][]string { return &t.Cells }, much)
		}},
		{weight: 4, value: func() any { return m.Definitions }, shrink: func(much bool) { cut(&m.Definitions, much) }},
		{weight: 3, value: func() any { return m.Footer }, shrink: func(much bool) { cut(&m.Footer.Links, much); cut(&m.Footer.Text, much) }},
		{weight: 3, value: func() any { return m.Links }, shrink: func(much bool) { cut(&m.Links, much) }},
		{weight: 3, value: func() any { return m.Media }, shrink: func(much bool) { shrinkMedia(m, much) }},
		{weight: 2, value: func() any { return m.Lists }, shrink: func(much bool) {
			cutLongest(&m.Lists, func(l *page.List) *[]string { return &l.Items }, much)
		}},
		{weight: 2, value: func() any { return m.Buttons }, shrink: func(much bool) { cut(&m.Buttons, much) }},
		{weight: 2, value: func() any { return m.Landmarks }, shrink: func(much bool) { cut(&m.Landmarks, much) }},
		{weight: 1, value: func() any { return m.Navigation }, shrink: func(much bool) {
			cutLongest(&m.Navigation.Navs, func(n *page.Nav) *[]page.Link { return &n.Links }, much)
		}},
		{weight: 1, value: func() any { return m.Headings }, shrink: func(much bool) { cut(&m.Headings, much) }},
		{weight: 1, value: func() any { return m.Forms }, shrink: func(much bool) { shrinkForms(m, much) }},
		{weight: 1, value: func() any { return m.LooseFields }, shrink: func(much bool) {
			if !cutOptions(m.LooseFields, much) {
				cut(&m.LooseFields, much)
			}
		}},
	}
}

// shrinkMedia drops the sources first.
func shrinkMedia(m *page.Map, much bool) {
	had := false
	for i := range m.Media {
		had = had || m.Media[i].Src != ""
		m.Media[i].Src = ""
	}
	if !had {
		cut(&m.Media, much)
	}
}

// shrinkForms drops options first, then fields and buttons.
func shrinkForms(m *page.Map, much bool) {
	shortened := false
	for _, f := range m.Forms {
		shortened = cutOptions(f.Fields, much) || shortened
	}
	if shortened {
		return
	}
	for i := range m.Forms {
		if f := &m.Forms[i]; len(f.Buttons) > minItems {
			cut(&f.Buttons, much)
		}
	}
	cutLongest(&m.Forms, func(f *page.Form) *[]page.Field { return &f.Fields }, much)
}

// cutOptions shortens long lists of options.
func cutOptions(fields []page.Field, much bool) (shortened bool) {
	for i := range fields {
		if f := &fields[i]; len(f.Options) > minItems {
			cut(&f.Options, much)
			shortened = true
		}
	}
	return shortened
}

// omitted counts what the page has more of than the map.
func omitted(m *page.Map, counts map[string]int) map[string]int {
	has := map[string]int{
		"headings": len(m.Headings), "navigation": len(m.Navigation.Navs), "main_content": len(m.MainContent), "lists": len(m.Lists), "forms": len(m.Forms),
		"fields_outside_forms": len(m.LooseFields), "buttons": len(m.Buttons), "tables": len(m.Tables), "media": len(m.Media), "links": len(m.Links),
		"definitions": len(m.Definitions), "landmarks": len(m.Landmarks), "footer": len(m.Footer.Text), "footer_links": len(m.Footer.Links),
	}
	for _, n := range m.Navigation.Navs {
		has["nav_links"] += len(n.Links)
	}
	for _, l := range m.Lists {
		has["list_items"] += len(l.Items)
	}
	for _, f := range m.Forms {
		has["fields"] += len(f.Fields)
		for _, field := range f.Fields {
			has["options"] += len(field.Options)
		}
	}
	for _, f := range m.LooseFields {
		has["options"] += len(f.Options)
	}
	for _, t := range m.Tables {
		has["table_rows"] += len(t.Cells)
	}
	out := map[string]int{}
	for name, n := range counts {
		if n > has[name] {
			out[name] = n - has[name]
		}
	}
	return out
}
