package measure

import (
	"image"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// drawn is a mask of rows in which # is set.
func drawn(rows string) *image.Alpha {
	lines := strings.Fields(rows)
	m := image.NewAlpha(image.Rect(0, 0, len(lines[0]), len(lines)))
	for y, line := range lines {
		for x, c := range line {
			if c == '#' {
				m.Pix[y*m.Stride+x] = uint8(1 + (x+y)%255)
			}
		}
	}
	return m
}

func TestComponents(t *testing.T) {
	for name, c := range map[string]struct {
		mask        string
		four, eight []Component
	}{
		"diagonals": {"#.. .#. ..#",
			[]Component{{image.Rect(0, 0, 1, 1), 1}, {image.Rect(1, 1, 2, 2), 1}, {image.Rect(2, 2, 3, 3), 1}},
			[]Component{{image.Rect(0, 0, 3, 3), 3}}},
		"two arms that meet below": {"#.# #.# ###",
			[]Component{{image.Rect(0, 0, 3, 3), 7}}, []Component{{image.Rect(0, 0, 3, 3), 7}}},
		"ordered by first pixel": {"...## ##... ....#",
			[]Component{{image.Rect(3, 0, 5, 1), 2}, {image.Rect(0, 1, 2, 2), 2}, {image.Rect(4, 2, 5, 3), 1}},
			[]Component{{image.Rect(3, 0, 5, 1), 2}, {image.Rect(0, 1, 2, 2), 2}, {image.Rect(4, 2, 5, 3), 1}}},
		"long runs": {strings.Repeat("#", 30) + " " + strings.Repeat(".", 17) + "#" + strings.Repeat(".", 12),
			[]Component{{image.Rect(0, 0, 30, 2), 31}}, []Component{{image.Rect(0, 0, 30, 2), 31}}},
		"nothing": {"... ...", nil, nil},
	} {
		if got := Components(drawn(c.mask), Four); !reflect.DeepEqual(got, c.four) {
			t.Errorf("%s, 4: %v, want %v", name, got, c.four)
		}
		if got := Components(drawn(c.mask), Eight); !reflect.DeepEqual(got, c.eight) {
			t.Errorf("%s, 8: %v, want %v", name, got, c.eight)
		}
	}
}

// flood finds components pixel by pixel.
func flood(m *image.Alpha, c Connectivity) []Component {
	seen := map[image.Point]bool{}
	var list []Component
	for y := m.Rect.Min.Y; y < m.Rect.Max.Y; y++ {
		for x := m.Rect.Min.X; x < m.Rect.Max.X; x++ {
			todo := []image.Point{{x, y}}
			var comp Component
			for len(todo) > 0 {
				p := todo[len(todo)-1]
				todo = todo[:len(todo)-1]
				if !p.In(m.Rect) || seen[p] || m.AlphaAt(p.X, p.Y).A == 0 {
					continue
				}
				seen[p] = true
				comp.Pixels++
				comp.Bounds = comp.Bounds.Union(image.Rectangle{p, p.Add(image.Pt(1, 1))})
				for dy := -1; dy <= 1; dy++ {
					for dx := -1; dx <= 1; dx++ {
						if c == Eight || dx == 0 || dy == 0 {
							todo = append(todo, p.Add(image.Pt(dx, dy)))
						}
					}
				}
			}
			if comp.Pixels > 0 {
				list = append(list, comp)
			}
		}
	}
	return list
}

func TestComponentsAgreeWithFlooding(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		m := image.NewAlpha(image.Rect(3, -2, 3+1+r.IntN(40), -2+1+r.IntN(30)))
		density := r.IntN(256)
		for i := range m.Pix {
			if r.IntN(256) < density {
				m.Pix[i] = uint8(1 + r.IntN(255))
			}
		}
		part := m.SubImage(m.Rect.Inset(r.IntN(3))).(*image.Alpha)
		for _, c := range []Connectivity{Four, Eight} {
			if got, want := Components(part, c), flood(part, c); !reflect.DeepEqual(got, want) {
				t.Fatalf("%d neighbours, density %d: %v, want %v", c, density, got, want)
			}
		}
	}
}
