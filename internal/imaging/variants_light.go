package imaging

import (
	"math"
	"sync"
)

// Linear light and back (IEC 61966-2-1), by table.
const lightSteps = 1 << 13 // of the way back; its steepest part rises by 0.4 grey levels a step

var (
	toLight = sync.OnceValue(func() *[256]float32 {
		var t [256]float32
		for i := range t {
			v := float64(i) / 255
			if v <= 0.04045 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			t[i] = float32(v)
		}
		return &t
	})
	fromLight = sync.OnceValue(func() *[lightSteps + 1]byte {
		var t [lightSteps + 1]byte
		for i := range t {
			v := float64(i) / lightSteps
			if v <= 0.0031308 {
				v *= 12.92
			} else {
				v = 1.055*math.Pow(v, 1/2.4) - 0.055
			}
			t[i] = byte(math.Round(255 * v))
		}
		return &t
	})
)

func encodeLight(t *[lightSteps + 1]byte, v float64) byte {
	return t[int(max(0, min(1, v))*lightSteps+0.5)]
}

// grayLinear makes m gray by its relative luminance, weighted in linear light as
// the eye does, not by the luma of coded values. Transparency stays.
func grayLinear(m *Image) {
	light, back := toLight(), fromLight()
	g := make([]byte, len(m.Pix)/4)
	for i := range g {
		p := m.Pix[4*i : 4*i+3 : 4*i+3]
		if p[0] == p[1] && p[1] == p[2] {
			g[i] = p[0]
			continue
		}
		g[i] = encodeLight(back, float64(0.2126*light[p[0]]+0.7152*light[p[1]]+0.0722*light[p[2]]))
	}
	setGray(m, g)
}

// Amplitudes at which a Gaussian's kernel ends, as libvips sets them for blurs
// and for sharpening.
const (
	blurEnd  = 0.2
	sharpEnd = 0.1
)

// weightsOf is one half of a Gaussian, from its middle on; the sum over both
// halves is 1.
func weightsOf(sigma, end float64) []float32 {
	half := []float64{1}
	sum := 1.0
	for x := 1; x < 10_000; x++ {
		v := math.Exp(-float64(x*x) / (2 * sigma * sigma))
		if v < end {
			break
		}
		half = append(half, v)
		sum += 2 * v
	}
	out := make([]float32, len(half))
	for i, v := range half {
		out[i] = float32(v / sum)
	}
	return out
}

// smooth convolves a plane of w x h values with a Gaussian, across and then
// down; at the edges the outermost value goes on.
func smooth(plane []float32, w, h int, half []float32) {
	reach := len(half) - 1
	if reach == 0 {
		return
	}
	line := make([]float32, max(w, h)+2*reach)
	pass := func(n, start, step int) {
		for i := range n {
			line[reach+i] = plane[start+i*step]
		}
		for i := range reach {
			line[i], line[reach+n+i] = line[reach], line[reach+n-1]
		}
		for i := range n {
			at := line[i : i+2*reach+1]
			v := at[reach] * half[0]
			for k := 1; k <= reach; k++ {
				v += (at[reach-k] + at[reach+k]) * half[k]
			}
			plane[start+i*step] = v
		}
	}
	for y := range h {
		pass(w, y*w, 1)
	}
	for x := range w {
		pass(h, x, w)
	}
}

// blurGray smooths a gray image.
func blurGray(m *Image, sigma float64) {
	g := make([]byte, len(m.Pix)/4)
	plane := make([]float32, len(g))
	for i := range plane {
		plane[i] = float32(m.Pix[4*i])
	}
	smooth(plane, m.Width(), m.Height(), weightsOf(sigma, blurEnd))
	for i, v := range plane {
		g[i] = byte(v + 0.5)
	}
	setGray(m, g)
}

// How much of a difference from the smoothed lightness is added back, in units
// of L* (libvips' defaults): up to the threshold with the gain of flat areas,
// beyond it with that of edges, and never more than these.
const (
	sharpThreshold = 2
	mostBrighter   = 10
	mostDarker     = 20
)

// CIE 1976 constants, and the D65 white of sRGB.
const (
	labEpsilon = 216.0 / 24389
	labKappa   = 24389.0 / 27
	whiteX     = 0.95047
	whiteZ     = 1.08883
)

func labF(t float64) float64 {
	if t > labEpsilon {
		return math.Cbrt(t)
	}
	return (labKappa*t + 16) / 116
}

func labInverse(f float64) float64 {
	if cube := f * f * f; cube > labEpsilon {
		return cube
	}
	return (116*f - 16) / labKappa
}

// sharpenLightness sharpens L* of CIELAB and leaves the colours.
func sharpenLightness(m *Image, o VariantOptions) {
	light, back := toLight(), fromLight()
	n := len(m.Pix) / 4
	lightness := make([]float32, n)
	for i := range n {
		p := m.Pix[4*i : 4*i+3 : 4*i+3]
		lightness[i] = float32(116*labF(float64(0.2126*light[p[0]]+0.7152*light[p[1]]+0.0722*light[p[2]])) - 16)
	}
	soft := append([]float32{}, lightness...)
	smooth(soft, m.Width(), m.Height(), weightsOf(o.SharpSigma, sharpEnd))
	for i := range n {
		before := float64(lightness[i])
		after := max(0, min(100, before+sharpening(before-float64(soft[i]), o.SharpFlat, o.SharpJagged)))
		if after == before {
			continue
		}
		p := m.Pix[4*i : 4*i+3 : 4*i+3]
		r, g, b := float64(light[p[0]]), float64(light[p[1]]), float64(light[p[2]])
		fy, to := (before+16)/116, (after+16)/116
		x := whiteX * labInverse(labF((0.4124564*r+0.3575761*g+0.1804375*b)/whiteX)-fy+to)
		y := labInverse(to)
		z := whiteZ * labInverse(labF((0.0193339*r+0.1191920*g+0.9503041*b)/whiteZ)-fy+to)
		p[0] = encodeLight(back, 3.2404542*x-1.5371385*y-0.4985314*z)
		p[1] = encodeLight(back, -0.9692660*x+1.8760108*y+0.0415560*z)
		p[2] = encodeLight(back, 0.0556434*x-0.2040259*y+1.0572252*z)
	}
}

// sharpening is what is added for a difference in lightness.
func sharpening(d, flat, jagged float64) float64 {
	switch {
	case d < -sharpThreshold:
		d = (d+sharpThreshold)*jagged - sharpThreshold*flat
	case d > sharpThreshold:
		d = (d-sharpThreshold)*jagged + sharpThreshold*flat
	default:
		d *= flat
	}
	return max(-mostDarker, min(mostBrighter, d))
}
