package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pagesFolder names an environment variable: a folder of pages, NAME/page.png
// with NAME/page.truth.json, that are judged instead of those in testdata.
const pagesFolder = "MEASURE_PAGES"

// score counts what [Contrast] gets right.
type score struct {
	images, right, unverified, falseClean, falseFailing int
	pairs, found, ratios                                int // texts of distinct colours
	failing, caught                                     int // of these, failing ones
	spurious                                            int // colours that are no text
}

func (s *score) add(o score) {
	s.images += o.images
	s.right += o.right
	s.unverified += o.unverified
	s.falseClean += o.falseClean
	s.falseFailing += o.falseFailing
	s.pairs += o.pairs
	s.found += o.found
	s.ratios += o.ratios
	s.failing += o.failing
	s.caught += o.caught
	s.spurious += o.spurious
}

// Images whose texts are known by construction.
func TestJudgeContrast(t *testing.T) {
	files, err := filepath.Glob("testdata/contrast/*.truth.json")
	if err != nil || len(files) != 45 {
		t.Fatalf("%d truths: %v", len(files), err)
	}
	total := judge(t, files, drawnVerdict)
	hold(t, total, score{right: 44, found: 79, ratios: 78, caught: 39, spurious: 0})
}

// Pages as Chromium draws them, their texts read from the DOM.
func TestJudgePages(t *testing.T) {
	folder, reached := "testdata/pages", score{right: 20, found: 99, ratios: 98, caught: 15, spurious: 0}
	if all := os.Getenv(pagesFolder); all != "" {
		folder, reached = all, score{right: 47, found: 305, ratios: 295, caught: 44, spurious: 1}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "page.truth.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no pages in %s: %v", folder, err)
	}
	hold(t, judge(t, files, pageVerdict), reached)
}

// hold fails where less is reached than was before.
func hold(t *testing.T, got, reached score) {
	t.Helper()
	if got.falseClean > 0 {
		t.Errorf("%d images with failing text are called clean", got.falseClean)
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"verdicts right", got.right, reached.right},
		{"pairs found", got.found, reached.found},
		{"ratios right", got.ratios, reached.ratios},
		{"failing pairs found", got.caught, reached.caught},
		{"colours that are no text", -got.spurious, -reached.spurious},
	} {
		if c.got < c.want {
			t.Errorf("%s: %d, was %d", c.what, max(c.got, -c.got), max(c.want, -c.want))
		}
	}
}

// known is what is known of an image.
type known struct {
	Kind    string
	Verdict json.RawMessage
	Texts   []knownText
}

// knownText is a text of an image. Ratio is that of its colours; where the
// background varies, RatioMin and RatioMax are the range under the text.
type knownText struct {
	Text, Color, Background string
	Size                    float64 // px
	Uniform                 *bool
	Ratio                   float64
	RatioMin                float64 `json:"ratio_min"`
	RatioMax                float64 `json:"ratio_max"`
	Core                    string  `json:"rendered_core"`
	Disabled, Inert, Partly bool
	Effects                 []string // shadow, stroke:WIDTH:COLOUR
	Outline                 string
}

// judge measures images and prints what is right, by kind.
func judge(t *testing.T, files []string, verdictOf func(*testing.T, known, *ContrastReport) (right bool)) (total score) {
	t.Helper()
	kinds := map[string]*score{}
	var names []string
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tr known
		if err := json.Unmarshal(raw, &tr); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rep, err := Contrast(context.Background(), open(t, pictureOf(file)), ContrastOptions{LargeRatio: DefaultMinRatio})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		s, misses := tr.score(t, rep, verdictOf(t, tr, rep))
		if len(misses) > 0 {
			t.Logf("%s: %s %q\n\t%s", nameOf(file), rep.Verdict, rep.Reasons, strings.Join(misses, "\n\t"))
		}
		if kinds[tr.Kind] == nil {
			kinds[tr.Kind] = &score{}
			names = append(names, tr.Kind)
		}
		kinds[tr.Kind].add(s)
		total.add(s)
	}
	slices.Sort(names)
	table := fmt.Sprintf("%-14s %6s %5s %10s %11s %13s %5s %5s %6s %7s %6s %8s\n", "kind", "images", "right", "unverified", "false clean", "false failing", "pairs", "found", "ratios", "failing", "caught", "spurious")
	for _, name := range names {
		table += kinds[name].row(name)
	}
	t.Log("\n" + table + total.row("all"))
	return total
}

func (s *score) row(name string) string {
	return fmt.Sprintf("%-14s %6d %5d %10d %11d %13d %5d %5d %6d %7d %6d %8d\n", name, s.images, s.right, s.unverified, s.falseClean, s.falseFailing, s.pairs, s.found, s.ratios, s.failing, s.caught, s.spurious)
}

// pictureOf is the image that a truth belongs to. Pages that OCR is judged by
// too lie with its test data.
func pictureOf(file string) string {
	path := strings.TrimSuffix(file, ".truth.json") + ".png"
	if _, err := os.Stat(path); err != nil && strings.HasPrefix(path, "testdata") {
		return filepath.Join("..", "ocr", path)
	}
	return path
}

func nameOf(file string) string {
	if name := strings.TrimSuffix(filepath.Base(file), ".truth.json"); name != "page" {
		return name
	}
	return filepath.Base(filepath.Dir(file))
}

// drawnVerdict judges an image with a verdict. Where there is no text, either
// unverified or clean without any colour is right.
func drawnVerdict(t *testing.T, tr known, rep *ContrastReport) bool {
	t.Helper()
	var want string
	if err := json.Unmarshal(tr.Verdict, &want); err != nil {
		t.Fatal(err)
	}
	if want == "no-text" {
		return rep.Verdict == Unverified || rep.Verdict == Clean && len(rep.Pairs) == 0
	}
	return string(rep.Verdict) == want
}

// pageVerdict judges a page. Any answer is right where the truth is ambiguous,
// and both verdicts are where only disabled text fails.
func pageVerdict(t *testing.T, tr known, rep *ContrastReport) bool {
	t.Helper()
	var v struct {
		Failing   bool `json:"failing_45"`
		Disabled  bool `json:"failing_with_disabled"`
		Ambiguous bool
	}
	if err := json.Unmarshal(tr.Verdict, &v); err != nil {
		t.Fatal(err)
	}
	switch rep.Verdict {
	case Failing:
		return v.Failing || v.Disabled || v.Ambiguous
	case Clean:
		return !v.Failing || v.Ambiguous
	}
	return v.Ambiguous
}

// score compares a report with the truth and says what was missed.
func (tr known) score(t *testing.T, rep *ContrastReport, right bool) (s score, misses []string) {
	t.Helper()
	miss := func(format string, args ...any) { misses = append(misses, fmt.Sprintf(format, args...)) }
	s.images = 1
	switch {
	case right:
		s.right = 1
	case rep.Verdict == Unverified:
		s.unverified = 1
	case rep.Verdict == Clean:
		s.falseClean = 1
	default:
		s.falseFailing = 1
	}
	if !right {
		miss("the verdict is wrong")
	}
	seen := map[[2]string]bool{}
	for _, x := range tr.Texts {
		pair := [2]string{x.Color, x.Background}
		if seen[pair] || x.Disabled || x.Inert || x.Partly || len(x.Effects) > 0 {
			continue
		}
		seen[pair] = true
		found, ratio, fails := x.lookUp(t, rep, tr.spread(x.Color))
		s.pairs++
		s.found += count(found)
		s.ratios += count(ratio)
		if x.judged() < DefaultMinRatio {
			s.failing++
			s.caught += count(found && (ratio || fails))
		}
		switch {
		case !found:
			miss("missed: %s on %s, %.2f:1, %g px, %q", x.Color, x.Background, x.judged(), x.Size, x.Text)
		case !ratio:
			miss("wrong ratio: %s on %s, %.2f:1, %g px, %q", x.Color, x.Background, x.judged(), x.Size, x.Text)
		}
	}
	for _, p := range rep.Pairs {
		if !slices.ContainsFunc(tr.Texts, func(x knownText) bool { return x.explains(t, p.Text) }) {
			s.spurious++
			miss("no text: %s on %s, %.2f:1, %d glyphs at %v", Hex(p.Text), Hex(p.Background), p.Ratio, p.Glyphs, p.Boxes[0])
		}
	}
	return s, misses
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// Distances within which a colour is that of a text: small text never shows its
// own.
const (
	plainSpread = 12
	smallSpread = 24
	smallText   = 16 // px
)

// spread is the distance for a colour by the sizes that it is used in.
func (tr known) spread(of string) int {
	if slices.ContainsFunc(tr.Texts, func(x knownText) bool { return x.Color == of && x.Size >= smallText }) {
		return plainSpread
	}
	return smallSpread
}

// judged is the ratio that counts: the worst where the background varies.
func (x knownText) judged() float64 {
	if x.Uniform != nil && !*x.Uniform {
		return x.RatioMin
	}
	return x.Ratio
}

// lookUp looks for a text among the pairs of a report.
func (x knownText) lookUp(t *testing.T, rep *ContrastReport, spread int) (found, ratio, fails bool) {
	t.Helper()
	want := x.judged()
	least, most := x.RatioMin, x.RatioMax
	if least == 0 {
		least = x.Ratio
	}
	if most == 0 {
		most = x.Ratio
	}
	near := func(v float64) bool { return math.Abs(v-want) <= max(0.05*want, 0.1) }
	for _, p := range rep.Pairs {
		if !alike(p.Text, parse(t, x.Color), spread) && (x.Core == "" || !alike(p.Text, parse(t, x.Core), plainSpread)) {
			continue
		}
		found = true
		ratio = ratio || near(p.Ratio) || near(p.RatioMin) || p.Ratio >= least && p.Ratio <= most
		fails = fails || p.RatioMin < DefaultMinRatio
	}
	return found, ratio, fails
}

// explains reports whether a colour is the text's or its outline's.
func (x knownText) explains(t *testing.T, c color.NRGBA) bool {
	t.Helper()
	spread := plainSpread
	if x.Size < smallText {
		spread = smallSpread
	}
	if alike(c, parse(t, x.Color), spread) || x.Core != "" && alike(c, parse(t, x.Core), plainSpread) || x.Outline != "" && alike(c, parse(t, x.Outline), smallSpread) {
		return true
	}
	for _, e := range x.Effects {
		if part := strings.SplitN(e, ":", 3); part[0] == "stroke" && alike(c, parse(t, part[2]), smallSpread) {
			return true
		}
	}
	return false
}

func alike(a, b color.NRGBA, within int) bool { return distance2(a, b) <= within*within }
