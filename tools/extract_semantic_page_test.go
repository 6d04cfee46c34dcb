package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/visions-mcp/visions/internal/page"
)

// readPage calls extract_semantic_page.
func readPage(t *testing.T, args map[string]any) pageAnswer {
	t.Helper()
	res, err := registry(t).Call(context.Background(), "extract_semantic_page", args)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.JSON) > 12_000 {
		t.Errorf("the answer has %d bytes, want at most 12000", len(res.JSON))
	}
	var a pageAnswer
	if err := json.Unmarshal(res.JSON, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAPageBecomesAControlMap(t *testing.T) {
	a := readPage(t, map[string]any{"include_raw": true, "html_content": `<title>Shop</title><nav aria-label=Main><a href=/a>Tea</a></nav>
		<main><h1>Tea &amp; more</h1><p>Leaves from the hills, dried slowly.<p>Short.<ul><li>Green<ol><li>Sencha</ol><li>Black</ul>
		<form action=/find><label>Search <input type=search name=q required></label><button>Go</button></form></main><footer>Since 1900</footer>`})
	got, err := json.Marshal(a.Map)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"title":"Shop","headings":[{"level":1,"text":"Tea \u0026 more"}],"navigation":{"navs":[{"label":"Main","links":[{"text":"Tea","href":"/a"}]}]},` +
		`"main_content":[{"type":"paragraph","text":"Leaves from the hills, dried slowly.","heading":0}],` +
		`"lists":[{"ordered":false,"in_nav":false,"items":["Green","Black"]},{"ordered":true,"in_nav":false,"items":["Sencha"],"parent":{"list":0,"item":0}}],` +
		`"forms":[{"action":"/find","fields":[{"type":"search","name":"q","label":"Search","required":true}],"buttons":["Go"]}],"fields_outside_forms":[],` +
		`"buttons":[{"text":"Go"}],"tables":[],"media":[],"links":[],"landmarks":[{"tag":"nav","role":"navigation","label":"Main"},{"tag":"main","role":"main"},{"tag":"footer","role":"contentinfo"}],` +
		`"footer":{"text":["Since 1900"],"links":[]}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if a.Raw == nil || a.Raw.ContentBy != "landmark" || a.Raw.Words == 0 {
		t.Errorf("raw is %+v", a.Raw)
	}
}

func TestAnEmptyPageIsAnEmptyMap(t *testing.T) {
	for _, source := range []string{"", " ", "<!doctype html><html><body></body></html>"} {
		if a := readPage(t, map[string]any{"html_content": source}); !a.Success || len(a.Map.Headings) != 0 || a.Map.Headings == nil {
			t.Errorf("%q: %+v", source, a)
		}
	}
}

// Pages of browsers keep what is acted on whole; long pages tell what is
// missing.
func TestAnswersStayShortAndSayWhatIsMissing(t *testing.T) {
	files, err := filepath.Glob("../internal/page/testdata/*.html")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d pages, %v", len(files), err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		a := readPage(t, map[string]any{"html_content": string(source)})
		for _, member := range []string{"headings", "nav_links", "list_items", "fields", "media", "tables"} {
			if n := a.Omitted[member]; n > 0 {
				t.Errorf("%s: %d of %s are missing", file, n, member)
			}
		}
	}
	long := strings.Repeat(`<h2>A heading of some length</h2><p>`+strings.Repeat("Some words of prose. ", 30)+`</p><a href="/somewhere/far/away">A link</a><ul><li>One</li><li>Two</li></ul>`, 2000)
	a := readPage(t, map[string]any{"html_content": long})
	if a.Counts["headings"] != 2000 || a.Omitted["headings"] != 2000-len(a.Map.Headings) || len(a.Map.Headings) == 0 || len(a.Map.MainContent) == 0 || a.Note == "" {
		t.Errorf("%d headings, %d pieces, counts %v, omitted %v, note %q", len(a.Map.Headings), len(a.Map.MainContent), a.Counts, a.Omitted, a.Note)
	}
}

func TestBadPagesSayWhatIsRight(t *testing.T) {
	for name, c := range map[string]struct {
		args map[string]any
		code Code
		says string
	}{
		"nothing":   {map[string]any{}, InvalidArgument, "html_content"},
		"url":       {map[string]any{"html_content": "x", "url": "http://example.org"}, InvalidArgument, `unknown argument "url"`},
		"negative":  {map[string]any{"html_content": "x", "min_text_length": -1}, InvalidArgument, "min_text_length"},
		"too large": {map[string]any{"html_content": strings.Repeat("x", page.MaxBytes+1)}, TooLarge, "5242880"},
	} {
		_, err := registry(t).Call(context.Background(), "extract_semantic_page", c.args)
		if e := AsError(err); e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
}
