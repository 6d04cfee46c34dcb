package imaging

import (
	"context"
	"errors"
	"image"
	"math"
	"slices"
	"testing"
)

// at reads channel c of the pixel at x, y, repeating the edge outward.
func at(m *Image, x, y, c int) int {
	x, y = max(0, min(m.Width()-1, x)), max(0, min(m.Height()-1, y))
	return int(m.Pix[y*m.Stride+4*x+c])
}

// filtered applies f to a copy of m.
func filtered(m *Image, f func(*Image) error) *Image {
	out := Clone(m)
	if err := f(out); err != nil {
		panic(err)
	}
	return out
}

func TestMedianMatchesSorting(t *testing.T) {
	m := photo(23, 17)
	for _, radius := range []int{1, 2, 5} {
		got := filtered(m, func(m *Image) error { return Median(t.Context(), m, radius) })
		for y := range m.Height() {
			for x := range m.Width() {
				for c := range 3 {
					var window []int
					for dy := -radius; dy <= radius; dy++ {
						for dx := -radius; dx <= radius; dx++ {
							window = append(window, at(m, x+dx, y+dy, c))
						}
					}
					slices.Sort(window)
					if want := window[len(window)/2]; at(got, x, y, c) != want {
						t.Fatalf("radius %d at %d,%d channel %d: %d, want %d", radius, x, y, c, at(got, x, y, c), want)
					}
				}
			}
		}
	}
}

func TestSharpen3MatchesItsKernel(t *testing.T) {
	for _, m := range []*Image{photo(19, 11), photo(1, 5), photo(7, 1), photo(2, 2)} {
		got := filtered(m, func(m *Image) error { return Sharpen(t.Context(), m, 0) })
		for y := range m.Height() {
			for x := range m.Width() {
				for c := range 3 {
					v := 33 * at(m, x, y, c)
					for dy := -1; dy <= 1; dy++ {
						for dx := -1; dx <= 1; dx++ {
							v -= at(m, x+dx, y+dy, c)
						}
					}
					want := max(0, min(255, (v+12)/24))
					if at(got, x, y, c) != want {
						t.Fatalf("%dx%d at %d,%d: %d, want %d", m.Width(), m.Height(), x, y, at(got, x, y, c), want)
					}
				}
			}
		}
	}
}

// TestSharpenMatchesItsBlur compares with the same formula in floating point.
func TestSharpenMatchesItsBlur(t *testing.T) {
	for _, sigma := range []float64{0.3, 1, 4} {
		m := photo(31, 23)
		got := filtered(m, func(m *Image) error { return Sharpen(t.Context(), m, sigma) })
		reach := int(math.Ceil(3 * sigma))
		for y := range m.Height() {
			for x := range m.Width() {
				for c := range 3 {
					sum, weights := 0.0, 0.0
					for dy := -reach; dy <= reach; dy++ {
						for dx := -reach; dx <= reach; dx++ {
							w := math.Exp(-float64(dx*dx+dy*dy) / (2 * sigma * sigma))
							sum += w * float64(at(m, x+dx, y+dy, c))
							weights += w
						}
					}
					want := max(0, min(255, 2*float64(at(m, x, y, c))-sum/weights))
					if math.Abs(float64(at(got, x, y, c))-want) > 1.5 {
						t.Fatalf("sigma %g at %d,%d: %d, want %.2f", sigma, x, y, at(got, x, y, c), want)
					}
				}
			}
		}
	}
}

func TestFiltersKeepTransparencyAndKnowGray(t *testing.T) {
	m := photo(20, 20)
	m.Opaque = false
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = byte(i)
	}
	for name, f := range map[string]func(*Image) error{
		"grayscale": func(m *Image) error { Grayscale(m); return nil },
		"invert":    func(m *Image) error { Invert(m); return nil },
		"otsu":      func(m *Image) error { ThresholdOtsu(m); return nil },
		"adaptive":  func(m *Image) error { ThresholdAdaptive(m); return nil },
		"clahe":     func(m *Image) error { CLAHE(m, 4, 3); return nil },
		"median 1":  func(m *Image) error { return Median(t.Context(), m, 1) },
		"median 3":  func(m *Image) error { return Median(t.Context(), m, 3) },
		"sharpen":   func(m *Image) error { return Sharpen(t.Context(), m, 0) },
		"unsharp":   func(m *Image) error { return Sharpen(t.Context(), m, 1) },
	} {
		gray := Clone(m)
		Grayscale(gray)
		if gray = filtered(gray, f); !isGray(&Image{NRGBA: gray.NRGBA}) {
			t.Errorf("%s makes a gray picture colourful", name)
		}
		colour := filtered(m, f)
		if colour.Gray && !isGray(&Image{NRGBA: colour.NRGBA}) {
			t.Errorf("%s says gray of a picture that is not", name)
		}
		for i := 3; i < len(m.Pix); i += 4 {
			if colour.Pix[i] != m.Pix[i] || gray.Pix[i] != m.Pix[i] {
				t.Fatalf("%s changes the transparency of pixel %d", name, i/4)
			}
		}
	}
}

func TestLongFiltersStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	cancel(why)
	m := photo(200, 200)
	for name, err := range map[string]error{
		"median 1": Median(ctx, m, 1), "median 5": Median(ctx, m, 5), "sharpen": Sharpen(ctx, m, 0), "unsharp": Sharpen(ctx, m, 2),
	} {
		if !errors.Is(err, why) {
			t.Errorf("%s: %v, want the cause", name, err)
		}
	}
}

func TestAdaptiveMatchesTheMeanOfItsWindow(t *testing.T) {
	m := photo(50, 40)
	Grayscale(m)
	got := filtered(m, func(m *Image) error { ThresholdAdaptive(m); return nil })
	for y := range m.Height() {
		for x := range m.Width() {
			sum, n := 0, 0
			for yy := max(0, y-adaptiveRadius); yy <= min(m.Height()-1, y+adaptiveRadius); yy++ {
				for xx := max(0, x-adaptiveRadius); xx <= min(m.Width()-1, x+adaptiveRadius); xx++ {
					sum, n = sum+at(m, xx, yy, 0), n+1
				}
			}
			want := 0
			if (at(m, x, y, 0)+adaptiveOffset)*n >= sum {
				want = 255
			}
			if at(got, x, y, 0) != want {
				t.Fatalf("at %d,%d: %d, want %d", x, y, at(got, x, y, 0), want)
			}
		}
	}
}

func TestOtsuSeparatesTwoTones(t *testing.T) {
	m := New(20, 20)
	m.Opaque = true
	for i := 0; i < len(m.Pix); i += 4 {
		v := byte(60)
		if i/4%3 == 0 {
			v = 180
		}
		m.Pix[i], m.Pix[i+1], m.Pix[i+2], m.Pix[i+3] = v, v, v, 255
	}
	got := filtered(m, func(m *Image) error { ThresholdOtsu(m); return nil })
	for i := 0; i < len(m.Pix); i += 4 {
		if want := map[byte]byte{60: 0, 180: 255}[m.Pix[i]]; got.Pix[i] != want {
			t.Fatalf("tone %d became %d, want %d", m.Pix[i], got.Pix[i], want)
		}
	}
}

func TestCLAHEWidensAFlatRangeAndKeepsOrder(t *testing.T) {
	m := New(64, 64)
	m.Opaque = true
	for y := range 64 {
		for x := range 64 {
			v := byte(100 + x%16)
			copy(m.Pix[m.PixOffset(x, y):], []byte{v, v, v, 255})
		}
	}
	got := filtered(m, func(m *Image) error { CLAHE(m, 4, 40); return nil })
	low, high := 255, 0
	for x := range 16 {
		low, high = min(low, at(got, 16+x, 32, 0)), max(high, at(got, 16+x, 32, 0))
		if x > 0 && at(got, 16+x, 32, 0) < at(got, 15+x, 32, 0) {
			t.Errorf("order lost at %d", x)
		}
	}
	if high-low < 100 {
		t.Errorf("16 levels were widened to %d only", high-low)
	}
}

func TestResizeKeepsFlatColourAndMean(t *testing.T) {
	m := photo(97, 61)
	for _, size := range [][2]int{{40, 25}, {200, 130}, {1, 1}, {97, 5}} {
		got := Resize(m, size[0], size[1])
		if got.Width() != size[0] || got.Height() != size[1] {
			t.Fatalf("size %dx%d, want %v", got.Width(), got.Height(), size)
		}
		for c := range 3 {
			if a, b := mean(m, c), mean(got, c); a-b > 3 || b-a > 3 {
				t.Errorf("%v: the mean of channel %d went from %.1f to %.1f", size, c, a, b)
			}
		}
	}
	flat := New(50, 50)
	for i := range flat.Pix {
		flat.Pix[i] = 77
	}
	if got := Resize(flat, 13, 90); slices.ContainsFunc(got.Pix, func(v byte) bool { return v < 75 || v > 79 }) {
		t.Error("a flat translucent colour changed")
	}
}

func mean(m *Image, c int) float64 {
	sum := 0
	for i := c; i < len(m.Pix); i += 4 {
		sum += int(m.Pix[i])
	}
	return float64(sum) / float64(len(m.Pix)/4)
}

func TestRotateAndOrient(t *testing.T) {
	m := photo(5, 3)
	for degrees, at90 := range map[int]image.Point{90: {2, 0}, 180: {4, 2}, 270: {0, 4}} {
		got := Rotate(m, degrees)
		if got.NRGBAAt(at90.X, at90.Y) != m.NRGBAAt(0, 0) {
			t.Errorf("%d degrees: the top left pixel is not at %v", degrees, at90)
		}
		if back := Rotate(got, 360-degrees); !slices.Equal(back.Pix, m.Pix) {
			t.Errorf("%d degrees and back differs", degrees)
		}
	}
	// EXIF 5 is a transpose: x and y change places.
	if got := orient(m, 5); got.NRGBAAt(2, 4) != m.NRGBAAt(4, 2) || got.NRGBAAt(1, 3) != m.NRGBAAt(3, 1) {
		t.Error("orientation 5 is not the transpose")
	}
	if got := orient(m, 7); got.NRGBAAt(0, 0) != m.NRGBAAt(4, 2) {
		t.Error("orientation 7 is not the transverse")
	}
}
