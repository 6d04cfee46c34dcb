package measure

import (
	"fmt"
	"image/color"
	"math"
)

// Coefficients and offsets of WCAG 2.2, "relative luminance" and "contrast
// ratio".
const (
	lumaR, lumaG, lumaB = 0.2126, 0.7152, 0.0722
	flare               = 0.05 // light that a screen reflects
)

// linear8 holds the linear light, 0 to 1, of each 8-bit sRGB level
// (IEC 61966-2-1, as WCAG 2.2 restates it).
var linear8 = linearLevels()

func linearLevels() (table [256]float64) {
	for i := range table {
		v := float64(i) / 255
		if v <= 0.04045 {
			table[i] = v / 12.92
		} else {
			table[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return table
}

// RelativeLuminance is the relative luminance of WCAG 2.2: 0 for black, 1 for
// white. Alpha is ignored; see [Over].
func RelativeLuminance(c color.NRGBA) float64 {
	return lumaR*linear8[c.R] + lumaG*linear8[c.G] + lumaB*linear8[c.B]
}

// ContrastRatio is the contrast ratio of WCAG 2.2, 1 to 21, whichever of the
// two is lighter. Alpha is ignored; see [Over].
func ContrastRatio(a, b color.NRGBA) float64 {
	return luminanceRatio(RelativeLuminance(a), RelativeLuminance(b))
}

func luminanceRatio(a, b float64) float64 {
	return (max(a, b) + flare) / (min(a, b) + flare)
}

// Constants of APCA-W3 0.1.9 (SAPC-APCA, "sRGB 0.0.98G-4g base").
const (
	apcaTRC                      = 2.4
	apcaR, apcaG, apcaB          = 0.2126729, 0.7151522, 0.0721750
	apcaNormalBack, apcaNormal   = 0.56, 0.57 // dark text on light
	apcaReverseBack, apcaReverse = 0.65, 0.62 // light text on dark
	apcaBlackThreshold           = 0.022
	apcaBlackPower               = 1.414
	apcaScale                    = 1.14
	apcaOffset                   = 0.027
	apcaLeastDelta               = 0.0005
	apcaLowClip                  = 0.1
)

// APCA is the lightness contrast Lc of APCA-W3 0.1.9, about -108 to 106:
// positive for dark text on a light background, negative for the reverse, 0
// when there is too little to see. It is advisory; WCAG 2.2 does not use it.
// Alpha is ignored.
func APCA(text, bg color.NRGBA) float64 {
	t, b := apcaLuminance(text), apcaLuminance(bg)
	if math.Abs(b-t) < apcaLeastDelta {
		return 0
	}
	if b > t {
		s := apcaScale * (math.Pow(b, apcaNormalBack) - math.Pow(t, apcaNormal))
		if s < apcaLowClip {
			return 0
		}
		return 100 * (s - apcaOffset)
	}
	s := apcaScale * (math.Pow(b, apcaReverseBack) - math.Pow(t, apcaReverse))
	if s > -apcaLowClip {
		return 0
	}
	return 100 * (s + apcaOffset)
}

// apcaLuminance is APCA's screen luminance with its soft clamp near black.
func apcaLuminance(c color.NRGBA) float64 {
	y := apcaR*math.Pow(float64(c.R)/255, apcaTRC) + apcaG*math.Pow(float64(c.G)/255, apcaTRC) + apcaB*math.Pow(float64(c.B)/255, apcaTRC)
	if y < apcaBlackThreshold {
		y += math.Pow(apcaBlackThreshold-y, apcaBlackPower)
	}
	return y
}

// Over composites c on an opaque background (CSS Compositing 1, "source over",
// in sRGB as browsers do). The result is opaque.
func Over(c, bg color.NRGBA) color.NRGBA {
	mix := func(c8, b8 uint8) uint8 {
		a := uint32(c.A)
		return uint8((uint32(c8)*a + uint32(b8)*(255-a) + 127) / 255)
	}
	return color.NRGBA{mix(c.R, bg.R), mix(c.G, bg.G), mix(c.B, bg.B), 255}
}

// Hex writes a colour as #rrggbb in lower case. Alpha is left out.
func Hex(c color.NRGBA) string {
	return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
}

// lightnessSteps divides HSL lightness for [NearestPassing]: four steps to a
// level of 8 bits, so that no level is jumped over.
const lightnessSteps = 1020

// ratioSlack lets a ratio that is equal but for rounding pass.
const ratioSlack = 1e-9

// NearestPassing finds the colour for text that reaches at least that contrast
// ratio on bg with the least change: hue and saturation (HSL, CSS Color 4) stay
// and the lightness moves, up or down, by the smallest step that suffices. Text
// that passes already is returned as it is. The second result is false when no
// lightness reaches the ratio: then the colour is black or white, whichever
// comes nearer. Alpha is ignored; the result is opaque.
func NearestPassing(text, bg color.NRGBA, ratio float64) (color.NRGBA, bool) {
	text.A = 255
	passes := func(c color.NRGBA) bool { return ContrastRatio(c, bg) >= ratio-ratioSlack }
	if passes(text) {
		return text, true
	}
	h, s, l := toHSL(text)
	start := int(math.Round(l * lightnessSteps))
	at := func(step int) color.NRGBA { return fromHSL(h, s, float64(step)/lightnessSteps) }
	for d := 1; d <= lightnessSteps; d++ {
		darker, lighter := start-d, start+d
		down := darker >= 0 && passes(at(darker))
		up := lighter <= lightnessSteps && passes(at(lighter))
		switch {
		case down && up:
			if distance2(text, at(lighter)) < distance2(text, at(darker)) {
				return at(lighter), true
			}
			return at(darker), true
		case down:
			return at(darker), true
		case up:
			return at(lighter), true
		}
	}
	black, white := color.NRGBA{A: 255}, color.NRGBA{255, 255, 255, 255}
	if ContrastRatio(black, bg) > ContrastRatio(white, bg) {
		return black, false
	}
	return white, false
}

// distance2 is the square of the Euclidean distance of two sRGB colours, 0 to
// 195075.
func distance2(a, b color.NRGBA) int {
	dr, dg, db := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return dr*dr + dg*dg + db*db
}

// toHSL converts to hue in degrees, saturation and lightness 0 to 1 (CSS Color
// 4, 7.2).
func toHSL(c color.NRGBA) (h, s, l float64) {
	r, g, b := float64(c.R)/255, float64(c.G)/255, float64(c.B)/255
	high, low := max(r, g, b), min(r, g, b)
	l = (high + low) / 2
	d := high - low
	if d == 0 {
		return 0, 0, l
	}
	s = (high - l) / min(l, 1-l)
	switch high {
	case r:
		h = (g - b) / d
	case g:
		h = (b-r)/d + 2
	default:
		h = (r-g)/d + 4
	}
	return math.Mod(h*60+360, 360), s, l
}

// fromHSL is the inverse of toHSL (CSS Color 4, 7.1), rounded to 8 bits.
func fromHSL(h, s, l float64) color.NRGBA {
	a := s * min(l, 1-l)
	f := func(n float64) uint8 {
		k := math.Mod(n+h/30, 12)
		return uint8(math.Round(255 * (l - a*max(-1, min(k-3, 9-k, 1)))))
	}
	return color.NRGBA{f(0), f(8), f(4), 255}
}
