package tools

import "strings"

// nearest returns the known name closest to name, "" when none is close: at
// most a third of its letters may differ (Levenshtein distance), or one is part
// of the other.
func nearest(name string, known []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, k := range known {
		a, b := strings.ToLower(name), strings.ToLower(k)
		d := distance(a, b)
		if len(a) >= 4 && (strings.Contains(b, a) || strings.Contains(a, b)) {
			d = min(d, 1)
		}
		if d < bestDistance || d == bestDistance && best == "" {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two strings, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
