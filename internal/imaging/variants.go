package imaging

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// VariantNames are the variants in the order in which [Variants] returns them.
var variantNames = []string{"original", "grayscale", "denoised", "sharpened", "clahe"}

// VariantNames returns the names of variants, in the order of [Variants].
func VariantNames() []string { return slices.Clone(variantNames) }

// Longest widths that a variant may be reduced to, in pixels.
var variantWidths = []int{256, 384, 512, 640, 768, 1024}

// Defaults of [VariantOptions].
const (
	DefaultVariantWidth  = 768 // pixels
	DefaultBlurSigma     = 0.8 // at 0.55 and less the kernel is one pixel and smooths nothing
	DefaultSharpenSigma  = 1
	DefaultSharpenFlat   = 1
	DefaultSharpenJagged = 2
	DefaultCLAHEWindow   = 8 // pixels
	DefaultCLAHETiles    = 8
	DefaultCLAHESlope    = 3
)

// VariantOptions say which variants of an image to make for a model, and how.
// [NewVariantOptions] has the defaults.
type VariantOptions struct {
	MaxWidth    int  // pixels: 256, 384, 512, 640, 768 or 1024
	MaxHeight   int  // pixels; 0 for no limit
	Enlarge     bool // whether a smaller image is scaled up to fit
	Names       []string
	BlurSigma   float64 // of the Gaussian of denoised, 0.56 to 1000 pixels
	SharpSigma  float64 // 0.000001 to 10 pixels
	SharpFlat   float64 // gain in flat areas, 0 to 1000000
	SharpJagged float64 // gain at edges, 0 to 1000000
	CLAHEWidth  int     // of the window in pixels, 1 to 256; with CLAHETiles the tiles a side, 1 to 64
	CLAHEHeight int
	CLAHESlope  int  // most steps of grey a grey level may be spread over: the count at which a window's histogram is clipped, in tiles a multiple of its mean; 0 for no limit, to 100
	CLAHETiles  bool // equalise a grid of tiles, not a window around each pixel

	// What is done to the image before its variants are made; zero is nothing.
	Brightness     float64 // factor, to 10
	Contrast       float64 // factor around middle grey, to 10
	NormalizeLower float64 // percentile of luma that becomes black, 0 to 99
	NormalizeUpper float64 // percentile that becomes white, 1 to 100; 0 leaves both out
}

// NewVariantOptions returns the defaults: within 768 pixels of width, and all
// variants but sharpened.
func NewVariantOptions() VariantOptions {
	return VariantOptions{
		MaxWidth: DefaultVariantWidth, Names: []string{"original", "grayscale", "denoised", "clahe"}, BlurSigma: DefaultBlurSigma,
		SharpSigma: DefaultSharpenSigma, SharpFlat: DefaultSharpenFlat, SharpJagged: DefaultSharpenJagged,
		CLAHEWidth: DefaultCLAHEWindow, CLAHEHeight: DefaultCLAHEWindow, CLAHESlope: DefaultCLAHESlope,
	}
}

// Limits on the sides of a window and of a grid. A window's histogram is moved
// by twice its height for each pixel.
const (
	maxWindow = 256 // pixels
	maxTiles  = 64
)

// Check says which option is out of range, nil when none is.
func (o *VariantOptions) Check() error {
	if !slices.Contains(variantWidths, o.MaxWidth) {
		return fmt.Errorf("maxWidth is %d (one of %v)", o.MaxWidth, variantWidths)
	}
	if len(o.Names) == 0 {
		return fmt.Errorf("no variant is chosen (there are %v)", variantNames)
	}
	for _, name := range o.Names {
		if !slices.Contains(variantNames, name) {
			return fmt.Errorf("there is no variant %q (there are %v)", name, variantNames)
		}
	}
	most := float64(maxWindow)
	if o.CLAHETiles {
		most = maxTiles
	}
	for _, r := range []struct {
		name           string
		value, low, up float64
	}{
		{"maxHeight", float64(o.MaxHeight), 0, math.MaxInt32},
		{"blurSigma", o.BlurSigma, 0.56, 1000},
		{"sharpenSigma", o.SharpSigma, 1e-6, 10},
		{"sharpenM1", o.SharpFlat, 0, 1e6},
		{"sharpenM2", o.SharpJagged, 0, 1e6},
		{"claheWidth", float64(o.CLAHEWidth), 1, most},
		{"claheHeight", float64(o.CLAHEHeight), 1, most},
		{"claheMaxSlope", float64(o.CLAHESlope), 0, 100},
		{"brightnessLevel", o.Brightness, 0, 10},
		{"contrastLevel", o.Contrast, 0, 10},
		{"normalizeLower", o.NormalizeLower, 0, 99},
		{"normalizeUpper", o.NormalizeUpper, 0, 100},
	} {
		if math.IsNaN(r.value) || r.value < r.low || r.value > r.up {
			return fmt.Errorf("%s is %g (%g to %g)", r.name, r.value, r.low, r.up)
		}
	}
	if o.NormalizeUpper > 0 && o.NormalizeLower >= o.NormalizeUpper {
		return fmt.Errorf("normalizeLower is %g, not less than normalizeUpper (%g)", o.NormalizeLower, o.NormalizeUpper)
	}
	if o.CLAHETiles && o.CLAHEWidth != o.CLAHEHeight {
		return fmt.Errorf("a grid of tiles has as many columns as rows: claheWidth is %d and claheHeight %d", o.CLAHEWidth, o.CLAHEHeight)
	}
	return nil
}

// Variant is one form of an image.
type Variant struct {
	Name string
	*Image
}

// Variants makes the chosen variants, in the order of [VariantNames], each from
// the same reduced base. m stays as it is.
//
// # Errors
//
// That of [VariantOptions.Check], and the cause of ctx.
func Variants(ctx context.Context, m *Image, o VariantOptions) ([]Variant, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	w, h := o.size(m.Width(), m.Height())
	base := Clone(Resize(m, w, h))
	adjust(base, o)
	var list []Variant
	var gray *Image // made once for the variants that begin with it
	for _, name := range variantNames {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if !slices.Contains(o.Names, name) {
			continue
		}
		v := base
		switch name {
		case "sharpened":
			v = Clone(base)
			sharpenLightness(v, o)
		case "grayscale", "denoised", "clahe":
			if gray == nil {
				gray = Clone(base)
				grayLinear(gray)
			}
			v = Clone(gray)
		}
		switch {
		case name == "denoised":
			blurGray(v, o.BlurSigma)
		case name == "clahe" && o.CLAHETiles:
			CLAHE(v, o.CLAHEWidth, slopeOf(o.CLAHESlope))
		case name == "clahe":
			equaliseWindow(v, o.CLAHEWidth, o.CLAHEHeight, o.CLAHESlope)
		}
		list = append(list, Variant{name, v})
	}
	return list, nil
}

// slopeOf is the clip of a tile's histogram; 256 times its mean clips nothing.
func slopeOf(slope int) float64 {
	if slope == 0 {
		return 256
	}
	return float64(slope)
}

// size is the largest that fits, with the proportions kept.
func (o *VariantOptions) size(w, h int) (int, int) {
	scale := float64(o.MaxWidth) / float64(w)
	if o.MaxHeight > 0 {
		scale = min(scale, float64(o.MaxHeight)/float64(h))
	}
	if scale > 1 && !o.Enlarge {
		return w, h
	}
	return max(1, int(math.Round(float64(w)*scale))), max(1, int(math.Round(float64(h)*scale)))
}

// adjust stretches, brightens and spreads the values of m, all in one table.
func adjust(m *Image, o VariantOptions) {
	if o.NormalizeUpper == 0 && o.Brightness == 0 && o.Contrast == 0 {
		return
	}
	low, high := 0.0, 255.0
	if o.NormalizeUpper > 0 {
		low, high = percentiles(m, o.NormalizeLower, o.NormalizeUpper)
	}
	var table [256]byte
	for i := range table {
		v := (float64(i) - low) * 255 / (high - low)
		if o.Brightness > 0 {
			v *= o.Brightness
		}
		if o.Contrast > 0 {
			v = (v-127.5)*o.Contrast + 127.5
		}
		table[i] = byte(math.Round(max(0, min(255, v))))
	}
	for i := 0; i+4 <= len(m.Pix); i += 4 {
		p := m.Pix[i : i+4 : i+4]
		p[0], p[1], p[2] = table[p[0]], table[p[1]], table[p[2]]
	}
}

// percentiles are the luma values below which that share of the pixels lies. An
// image of one luma keeps its values.
func percentiles(m *Image, lower, upper float64) (low, high float64) {
	var counts [256]int
	total := 0
	for i := 0; i+4 <= len(m.Pix); i += 4 {
		counts[luma(m.Pix[i:i+3])]++
		total++
	}
	at := func(percent float64) float64 {
		need, sum := percent/100*float64(total), 0
		for v, n := range counts {
			if sum += n; float64(sum) > need || sum == total {
				return float64(v)
			}
		}
		return 255
	}
	low, high = at(lower), at(upper)
	if high <= low {
		return 0, 255
	}
	return low, high
}
