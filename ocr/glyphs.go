package ocr

import (
	"image"
	"slices"
)

// largeGlyph is the glyph height, in pixels, from which text needs no
// enlarging.
const largeGlyph = 24

// tileSide is the side of the squares in which a ground is looked for, in pixels.
const tileSide = 24

// distance redraws a page as its distance from the ground around each pixel:
// dark text on white, whatever its colours. The ground of a tile is the commonest
// brightness in and about it.
func distance(g *image.Gray) *image.Gray {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	nx, ny := (w+tileSide-1)/tileSide, (h+tileSide-1)/tileSide
	ground, reach := make([]int, nx*ny), make([]int, nx*ny)
	for ty := range ny {
		for tx := range nx {
			var hist [256]int
			for y := max(0, ty*tileSide-tileSide/2); y < min(h, (ty+1)*tileSide+tileSide/2); y++ {
				for _, v := range g.Pix[y*w+max(0, (tx-1)*tileSide) : y*w+min(w, (tx+2)*tileSide)] {
					hist[v]++
				}
			}
			at := commonest(&hist)
			ground[ty*nx+tx] = at
			lo, hi := 0, 255
			for lo < 255 && hist[lo] == 0 {
				lo++
			}
			for hi > 0 && hist[hi] == 0 {
				hi--
			}
			reach[ty*nx+tx] = max(at-lo, hi-at, leastContrast)
		}
	}
	out := image.NewGray(g.Rect)
	for y := range h {
		for x := range w {
			t := (y/tileSide)*nx + x/tileSide
			d := int(g.Pix[y*w+x]) - ground[t]
			if d < 0 {
				d = -d
			}
			out.Pix[y*w+x] = uint8(255 - min(255, d*255/reach[t]))
		}
	}
	return out
}

// leastContrast keeps noise on a plain ground from being taken for ink: levels
// of 255.
const leastContrast = 40

// commonest is the value around which most pixels are.
func commonest(h *[256]int) int {
	best, at := -1, 0
	for v := range h {
		n := h[v]
		if v > 0 {
			n += h[v-1]
		}
		if v < 255 {
			n += h[v+1]
		}
		if n > best {
			best, at = n, v
		}
	}
	return at
}

// glyphs are the components of a page that have the size of letters.
type glyphs struct {
	ink    *image.Gray // the distance page that they were found in
	cut    uint8       // ink is at most this bright
	height int         // median height in pixels, 0 when there are too few
}

// enoughGlyphs is how many components make a median that means something.
const enoughGlyphs = 5

// findGlyphs measures the text of a page.
func findGlyphs(g *image.Gray) glyphs {
	f := distance(g)
	h := histogram(f)
	out := glyphs{ink: f, cut: uint8(threshold(&h))}
	var heights []int
	components(f, func(v uint8) bool { return v <= out.cut }, func(box image.Rectangle, n int) {
		w, h := box.Dx(), box.Dy()
		if h >= 4 && h <= 120 && w >= 2 && w <= 4*h && n >= 6 {
			heights = append(heights, h)
		}
	})
	if len(heights) >= enoughGlyphs {
		slices.Sort(heights)
		out.height = heights[len(heights)/2]
	}
	return out
}

// letterInk is the brightness, of 255, below which a redrawn page has ink.
const letterInk = 128

// letterLike counts the components of a redrawn page that have the size of a
// letter.
func letterLike(page *image.Gray) (n int) {
	components(page, func(v uint8) bool { return v < letterInk }, func(box image.Rectangle, ink int) {
		if h, w := box.Dy(), box.Dx(); h >= 5 && h <= 60 && w <= 3*h && ink >= 6 {
			n++
		}
	})
	return n
}

// components calls found for each 8-connected component of pixels that are in.
func components(g *image.Gray, in func(uint8) bool, found func(box image.Rectangle, n int)) {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	seen := make([]bool, w*h)
	stack := make([]int32, 0, 1024)
	for i := range g.Pix {
		if seen[i] || !in(g.Pix[i]) {
			continue
		}
		box, n := image.Rect(w, h, 0, 0), 0
		box.Min, box.Max = image.Pt(w, h), image.Point{}
		stack = append(stack[:0], int32(i))
		seen[i] = true
		for len(stack) > 0 {
			p := int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			x, y := p%w, p/w
			n++
			box.Min.X, box.Min.Y = min(box.Min.X, x), min(box.Min.Y, y)
			box.Max.X, box.Max.Y = max(box.Max.X, x+1), max(box.Max.Y, y+1)
			for yy := max(0, y-1); yy <= min(h-1, y+1); yy++ {
				for xx := max(0, x-1); xx <= min(w-1, x+1); xx++ {
					if q := yy*w + xx; !seen[q] && in(g.Pix[q]) {
						seen[q] = true
						stack = append(stack, int32(q))
					}
				}
			}
		}
		found(box, n)
	}
}
