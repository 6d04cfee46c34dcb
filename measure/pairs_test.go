package measure

import (
	"encoding/json"
	"image"
	_ "image/png"
	"os"
	"path/filepath"
	"testing"
)

// truth is what a pair of testdata/pairs is known to be: pages rendered by a
// browser before and after a change to their source.
type truth struct {
	Note                string
	Changed, Meaningful bool
	ChangedPixels       int `json:"changed_px"`
	MaxDelta            int `json:"max_delta"`
	Regions             []struct{ Left, Top, Width, Height int }
}

func open(t testing.TB, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, _, err := image.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestPairsOfPages(t *testing.T) {
	names, err := filepath.Glob("testdata/pairs/*")
	if err != nil || len(names) == 0 {
		t.Fatalf("no pairs: %v", err)
	}
	for _, dir := range names {
		raw, err := os.ReadFile(filepath.Join(dir, "truth.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want truth
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		before, after := open(t, filepath.Join(dir, "before.png")), open(t, filepath.Join(dir, "after.png"))
		strict := diff(t, before, after, DiffOptions{})
		if strict.Changed != want.ChangedPixels || strict.MaxDelta != want.MaxDelta || (strict.Changed > 0) != want.Changed {
			t.Errorf("%s (%s): %d pixels changed by up to %d, want %d by %d", dir, want.Note, strict.Changed, strict.MaxDelta, want.ChangedPixels, want.MaxDelta)
		}
		if got := covered(strict, want); got < 0.95 {
			t.Errorf("%s (%s): the boxes cover %.2f of what changed", dir, want.Note, got)
		}
		seen := diff(t, before, after, DiffOptions{Method: DiffPerceptual})
		if (seen.Changed > 0) != want.Meaningful {
			t.Errorf("%s (%s): perceptual finds %d pixels changed in %v", dir, want.Note, seen.Changed, seen.Regions)
		}
		if got := covered(seen, want); want.Meaningful && got < 0.95 {
			t.Errorf("%s (%s): the perceptual boxes cover %.2f of what changed", dir, want.Note, got)
		}
	}
}

// covered is the share of the true regions' area that the reported boxes cover.
func covered(rep *DiffReport, want truth) float64 {
	in, all := 0, 0
	for _, r := range want.Regions {
		for y := r.Top; y < r.Top+r.Height; y++ {
			for x := r.Left; x < r.Left+r.Width; x++ {
				all++
				for _, g := range rep.Regions {
					if image.Pt(x, y).In(g.Bounds) {
						in++
						break
					}
				}
			}
		}
	}
	if all == 0 {
		return 1
	}
	return float64(in) / float64(all)
}
