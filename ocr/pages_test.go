package ocr_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/visions-mcp/visions/ocr"
)

// byLang are the Tesseract languages of the pages' own.
var byLang = map[string][]string{"zh": {"chi_sim", "eng"}, "he": {"heb", "eng"}, "ja": {"jpn", "eng"}}

// languages are those of a page, where they are installed.
func languages(t *testing.T, path string, installed []string) []string {
	html, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return nil
	}
	_, rest, _ := strings.Cut(string(html), `lang="`)
	list := byLang[rest[:min(2, len(rest))]]
	if list != nil && slices.Contains(installed, list[0]) {
		return list
	}
	return nil
}

// pageFloor is the least word F1 of a kind of page. Percent signs beside small
// numbers are lost on pages of icons.
func pageFloor(kind string) float64 {
	if kind == "iconbuttons" {
		return 0.60
	}
	return 0.85
}

// TestPages reads pages that a browser rendered, against their text: those in
// testdata/pages, or those in the folder VISIONS_PAGES.
func TestPages(t *testing.T) {
	dir := os.Getenv("VISIONS_PAGES")
	if dir == "" {
		dir = "testdata/pages"
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*", "page.png"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages in %s (%v)", dir, err)
	}
	r := recognizer(t)
	info, err := r.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byKind := map[string]*counts{}
	var pooled counts
	var mean float64
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, path := range pages {
		name := filepath.Base(filepath.Dir(path))
		wait.Go(func() {
			raw, err := os.ReadFile(filepath.Join(filepath.Dir(path), "page.txt"))
			if err != nil {
				t.Error(err)
				return
			}
			res, err := r.Recognize(t.Context(), load(t, path), ocr.Options{Languages: languages(t, filepath.Join(filepath.Dir(path), "page.html"), info.Languages)})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			truth, got := pageTokens(string(raw)), pageTokens(res.Text)
			c := compare(truth, got)
			missed, extra := difference(truth, got)
			mu.Lock()
			defer mu.Unlock()
			t.Logf("%-20s F1 %.3f  %d of %d, %d read  %s\n  missed %q\n  extra  %q", name, c.f1(), c.hit, c.truth, c.got, strings.Join(res.Applied, ", "), missed, extra)
			kind := name[:strings.LastIndexByte(name, '_')]
			if byKind[kind] == nil {
				byKind[kind] = &counts{}
			}
			byKind[kind].add(c)
			pooled.add(c)
			mean += c.f1() / float64(len(pages))
			if floor := pageFloor(kind); c.f1() < floor {
				t.Errorf("%s: word F1 %.3f, less than %.2f", name, c.f1(), floor)
			}
		})
	}
	wait.Wait()
	var table strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		fmt.Fprintf(&table, "%-16s %.3f\n", kind, byKind[kind].f1())
	}
	if mean < 0.95 {
		t.Errorf("the mean word F1 is %.3f, less than 0.95", mean)
	}
	t.Logf("%s of %s\n%smean %.3f, pooled %.3f", info.Engine, strings.Join(info.Languages, " "), &table, mean, pooled.f1())
}
