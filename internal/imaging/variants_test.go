package imaging

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// variantInput decodes a file of testdata/variants: a picture of 256x128 and the
// gray form of the same at 768x384, reduced by the sharp library.
func variantInput(t testing.TB, name string) *Image {
	t.Helper()
	data, err := os.ReadFile("testdata/variants/" + name)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := Decode(context.Background(), data, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// spread returns the mean and standard deviation of a channel.
func spread(m *Image, channel int) (mean, deviation float64) {
	n := float64(len(m.Pix) / 4)
	for i := channel; i < len(m.Pix); i += 4 {
		mean += float64(m.Pix[i]) / n
	}
	for i := channel; i < len(m.Pix); i += 4 {
		d := float64(m.Pix[i]) - mean
		deviation += d * d / n
	}
	return mean, math.Sqrt(deviation)
}

// The sharp library's own results, measured: mean and deviation of its red
// channel.
func TestVariantsAreThoseOfSharp(t *testing.T) {
	const meanWithin, deviationWithin = 1.5, 0.03
	for name, c := range map[string]struct {
		input, variant  string
		set             func(*VariantOptions)
		w, h            int
		mean, deviation float64
	}{
		"original":      {"base-256x128.png", "original", nil, 256, 128, 110.78, 59.03},
		"grayscale":     {"base-256x128.png", "grayscale", nil, 256, 128, 120.99, 41.99},
		"sharpened":     {"base-256x128.png", "sharpened", nil, 256, 128, 111.34, 59.06},
		"clahe":         {"base-256x128.png", "clahe", nil, 256, 128, 135.39, 46.35},
		"height":        {"base-256x128.png", "original", func(o *VariantOptions) { o.MaxHeight = 100 }, 200, 100, 111.38, 59.07},
		"height gray":   {"base-256x128.png", "grayscale", func(o *VariantOptions) { o.MaxHeight = 100 }, 200, 100, 121.61, 41.97},
		"enlarged":      {"base-256x128.png", "original", func(o *VariantOptions) { o.MaxWidth, o.Enlarge = 1024, true }, 1024, 512, 110.78, 59.03},
		"not enlarged":  {"base-256x128.png", "original", func(o *VariantOptions) { o.MaxWidth = 1024 }, 256, 128, 110.78, 59.03},
		"gray at 768":   {"gray-768x384.png", "grayscale", nil, 768, 384, 121.16, 42.30},
		"blur 3":        {"gray-768x384.png", "denoised", func(o *VariantOptions) { o.BlurSigma = 3 }, 768, 384, 122.12, 41.91},
		"window of 8":   {"gray-768x384.png", "clahe", nil, 768, 384, 130.32, 47.07},
		"window of 64":  {"gray-768x384.png", "clahe", func(o *VariantOptions) { o.CLAHEWidth, o.CLAHEHeight = 64, 64 }, 768, 384, 122.17, 40.84},
		"window of 8x8": {"gray-768x384.png", "clahe", func(o *VariantOptions) { o.CLAHEWidth = 8 }, 768, 384, 130.32, 47.07},
	} {
		o := NewVariantOptions()
		o.Names = []string{c.variant}
		if c.set != nil {
			c.set(&o)
		}
		list, err := Variants(context.Background(), variantInput(t, c.input), o)
		if err != nil || len(list) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		m := list[0]
		mean, deviation := spread(m.Image, 0)
		if m.Width() != c.w || m.Height() != c.h || math.Abs(mean-c.mean) > meanWithin || math.Abs(deviation/c.deviation-1) > deviationWithin {
			t.Errorf("%s: %dx%d, mean %.2f, deviation %.2f; want %dx%d, %.2f, %.2f", name, m.Width(), m.Height(), mean, deviation, c.w, c.h, c.mean, c.deviation)
		}
	}
}

func TestVariantsComeInOrderFromOneBase(t *testing.T) {
	m := variantInput(t, "base-256x128.png")
	before := slices.Clone(m.Pix)
	o := NewVariantOptions()
	o.Names = []string{"clahe", "sharpened", "grayscale", "denoised", "original"}
	list, err := Variants(context.Background(), m, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, v := range list {
		names = append(names, v.Name)
		for _, w := range list[:i] {
			if slices.Equal(v.Pix, w.Pix) {
				t.Errorf("%s and %s are the same", v.Name, w.Name)
			}
		}
	}
	if !slices.Equal(names, VariantNames()) || !slices.Equal(m.Pix, before) {
		t.Errorf("%v, or the input has changed", names)
	}
}

// A window by hand: three grey levels in one row, a window of 3x1.
func TestTheWindowCountsWhatIsAround(t *testing.T) {
	m := New(3, 1)
	for x, v := range []byte{10, 20, 30} {
		m.SetNRGBA(x, 0, color.NRGBA{v, v, v, 255})
	}
	equaliseWindow(m, 3, 1, 0)
	// Around the first lie 10 10 20, around the last 20 30 30, by reflection.
	for x, want := range []byte{255 * 2 / 3, 255 * 2 / 3, 255} {
		if got := m.Pix[4*x]; got != want {
			t.Errorf("pixel %d is %d, want %d", x, got, want)
		}
	}
}

func TestBrightnessContrastAndNormalizeWork(t *testing.T) {
	m := New(100, 1) // grey levels 100 to 149, two pixels each
	for x := range 100 {
		v := byte(100 + x/2)
		m.SetNRGBA(x, 0, color.NRGBA{v, v, v, 200})
	}
	for name, c := range map[string]struct {
		set         func(*VariantOptions)
		first, last byte
	}{
		"nothing":    {func(*VariantOptions) {}, 100, 149},
		"brightness": {func(o *VariantOptions) { o.Brightness = 1.2 }, 120, 179},
		"contrast":   {func(o *VariantOptions) { o.Contrast = 1.3 }, 92, 155},
		"normalize":  {func(o *VariantOptions) { o.NormalizeLower, o.NormalizeUpper = 1, 99 }, 0, 255},
		"all":        {func(o *VariantOptions) { o.NormalizeUpper, o.Brightness, o.Contrast = 100, 0.5, 0.5 }, 64, 128},
	} {
		o := NewVariantOptions()
		o.Names = []string{"original"}
		c.set(&o)
		list, err := Variants(context.Background(), m, o)
		if err != nil {
			t.Fatal(err)
		}
		if pix := list[0].Pix; pix[0] != c.first || pix[len(pix)-4] != c.last || pix[3] != 200 {
			t.Errorf("%s: %d to %d, alpha %d; want %d to %d", name, pix[0], pix[len(pix)-4], pix[3], c.first, c.last)
		}
	}
}

func TestBadVariantOptionsAreRefused(t *testing.T) {
	for says, set := range map[string]func(*VariantOptions){
		"maxWidth is 333":     func(o *VariantOptions) { o.MaxWidth = 333 },
		"blurSigma is 0.1":    func(o *VariantOptions) { o.BlurSigma = 0.1 },
		"blurSigma is NaN":    func(o *VariantOptions) { o.BlurSigma = math.NaN() },
		"claheWidth is 0":     func(o *VariantOptions) { o.CLAHEWidth = 0 },
		"claheMaxSlope is":    func(o *VariantOptions) { o.CLAHESlope = 101 },
		"sharpenSigma is 11":  func(o *VariantOptions) { o.SharpSigma = 11 },
		"no variant":          func(o *VariantOptions) { o.Names = nil },
		`no variant "sepia"`:  func(o *VariantOptions) { o.Names = []string{"sepia"} },
		"normalizeLower is 9": func(o *VariantOptions) { o.NormalizeLower, o.NormalizeUpper = 9, 5 },
		"as many columns":     func(o *VariantOptions) { o.CLAHETiles, o.CLAHEWidth = true, 4 },
	} {
		o := NewVariantOptions()
		set(&o)
		if _, err := Variants(context.Background(), New(10, 10), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func TestVariantsOfTinyImages(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 9}, {2000, 1}, {3, 3}} {
		for _, tiles := range []bool{false, true} {
			o := NewVariantOptions()
			o.Names, o.CLAHETiles = VariantNames(), tiles
			list, err := Variants(context.Background(), New(size[0], size[1]), o)
			if err != nil || len(list) != 5 {
				t.Errorf("%v: %d variants, %v", size, len(list), err)
			}
		}
	}
}

func BenchmarkVariants(b *testing.B) {
	m := Resize(variantInput(b, "base-256x128.png"), 1200, 800)
	for _, names := range [][]string{{"original", "grayscale", "denoised", "clahe"}, {"sharpened"}} {
		b.Run(fmt.Sprint(names), func(b *testing.B) {
			o := NewVariantOptions()
			o.Names = names
			for b.Loop() {
				if _, err := Variants(context.Background(), m, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
