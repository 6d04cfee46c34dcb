package ocr_test

import (
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
)

func load(t testing.TB, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, _, err := image.Decode(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}

func recognizer(t testing.TB) *ocr.Recognizer {
	t.Helper()
	r := ocr.New(ocr.Config{Engine: program.New(program.Config{})})
	if _, err := r.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// kinds are the kinds of the drawn set as they are reported, with the least
// word F1 in percent that each must reach. docs/OCR.md says which of them fall
// short of what we want, and why.
var kinds = map[string]struct {
	name  string
	floor float64
}{
	"ui_light": {"UI", 97}, "ui_dark": {"UI", 97}, "ui_mixed": {"UI", 97}, "rotated": {"rotated", 99.5}, "table": {"table", 99}, "code": {"code", 96},
	"numbers": {"numbers", 95.5}, "para_light": {"paragraphs", 99}, "para_dark": {"paragraphs", 99}, "jpeg": {"JPEG", 92}, "lowcontrast": {"low contrast", 99.4},
	"columns": {"columns", 99},
}

// score sums the readings of a kind.
type score struct {
	counts
	images            int
	charErrors, chars int
	wordErrors        int
	floor             float64
}

// TestAccuracy reads the drawn set with default options.
func TestAccuracy(t *testing.T) {
	var list []struct{ File, Cat string }
	raw, err := os.ReadFile("testdata/meta.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	r := recognizer(t)
	scores := map[string]*score{}
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, item := range list {
		wait.Go(func() {
			res, err := r.Recognize(t.Context(), load(t, "testdata/"+item.File), ocr.Options{Lossy: strings.HasSuffix(item.File, ".jpg")})
			if err != nil {
				t.Errorf("%s: %v", item.File, err)
				return
			}
			raw, err := os.ReadFile("testdata/" + strings.TrimSuffix(item.File, filepath.Ext(item.File)) + ".txt")
			if err != nil {
				t.Error(err)
				return
			}
			truth, got := strings.Fields(string(raw)), strings.Fields(res.Text)
			c := compare(truth, got)
			mu.Lock()
			defer mu.Unlock()
			kind := kinds[item.Cat]
			for name, floor := range map[string]float64{kind.name: kind.floor, "all": 97} {
				s := scores[name]
				if s == nil {
					s = &score{floor: floor}
					scores[name] = s
				}
				s.images++
				s.add(c)
				a, b := []rune(strings.Join(truth, " ")), []rune(strings.Join(got, " "))
				s.charErrors, s.chars = s.charErrors+distanceOf(a, b), s.chars+len(a)
				s.wordErrors += distanceOf(truth, got)
			}
			if c.hit < c.truth || c.got > c.hit {
				missed, extra := difference(truth, got)
				t.Logf("%-24s %3d of %3d words, %3d read; %.2f; %s\n  missed %q\n  extra  %q", item.File, c.hit, c.truth, c.got, res.Confidence, strings.Join(res.Applied, ", "), missed, extra)
			}
		})
	}
	wait.Wait()
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(scores)) {
		s := scores[name]
		fmt.Fprintf(&table, "%-14s %3d images  F1 %5.1f (floor %.1f)  CER %5.1f  WER %5.1f\n", name, s.images, 100*s.f1(), s.floor,
			100*float64(s.charErrors)/float64(s.chars), 100*float64(s.wordErrors)/float64(s.truth))
		if 100*s.f1() < s.floor {
			t.Errorf("%s: word F1 %.1f, less than %.1f", name, 100*s.f1(), s.floor)
		}
	}
	t.Logf("\n%s", &table)
}
