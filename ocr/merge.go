package ocr

import (
	"cmp"
	"image"
	"slices"
)

// sameWord is the share of the smaller box that two readings of one word have in
// common at least.
const sameWord = 0.3

// firstPass is the confidence by which a reading of the first pass is preferred.
const firstPass = 0.03

// merge joins the readings of two passes: where they overlap, the surer one
// stays.
func merge(a, b []Word) []Word {
	type reading struct {
		Word
		second bool
		trust  float64
	}
	all := make([]reading, 0, len(a)+len(b))
	for _, w := range a {
		all = append(all, reading{w, false, w.Confidence + firstPass})
	}
	for _, w := range b {
		all = append(all, reading{w, true, w.Confidence})
	}
	slices.SortStableFunc(all, func(x, y reading) int { return cmp.Compare(y.trust, x.trust) })
	var kept []reading
	for _, r := range all {
		if !slices.ContainsFunc(kept, func(k reading) bool { return k.second != r.second && covered(k.Box, r.Box) > sameWord }) {
			kept = append(kept, r)
		}
	}
	words := make([]Word, len(kept))
	for i, k := range kept {
		words[i] = k.Word
	}
	return words
}

// covered is the share of the smaller of two boxes that both have.
func covered(a, b image.Rectangle) float64 {
	common := a.Intersect(b)
	if common.Empty() {
		return 0
	}
	return float64(common.Dx()*common.Dy()) / float64(min(a.Dx()*a.Dy(), b.Dx()*b.Dy()))
}
