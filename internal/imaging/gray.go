package imaging

import "encoding/binary"

// Weights of BT.601 luma in 1/65536, the weighting of image/color.
const lumaR, lumaG, lumaB = 19595, 38470, 7471

func luma(p []byte) byte {
	return byte((uint32(p[0])*lumaR + uint32(p[1])*lumaG + uint32(p[2])*lumaB + 1<<15) >> 16)
}

// gray returns one luma byte a pixel.
func gray(m *Image) []byte {
	out := make([]byte, len(m.Pix)/4)
	for i := range out {
		out[i] = luma(m.Pix[4*i : 4*i+3])
	}
	return out
}

// setGray gives the pixels these luma bytes. Transparency stays.
func setGray(m *Image, g []byte) {
	pix := m.Pix[:4*len(g)]
	for i, v := range g {
		p := pix[4*i : 4*i+4 : 4*i+4]
		binary.LittleEndian.PutUint32(p, uint32(v)*0x010101|uint32(p[3])<<24)
	}
	m.Gray = true
}

// Grayscale replaces the colours of m by their BT.601 luma. Transparency stays.
func Grayscale(m *Image) {
	if m.Gray {
		return
	}
	for i := 0; i+4 <= len(m.Pix); i += 4 {
		p := m.Pix[i : i+4 : i+4]
		binary.LittleEndian.PutUint32(p, uint32(luma(p))*0x010101|uint32(p[3])<<24)
	}
	m.Gray = true
}

// Invert turns every colour channel v of m into 255-v. Transparency stays.
func Invert(m *Image) {
	for i := 0; i+4 <= len(m.Pix); i += 4 {
		p := m.Pix[i : i+4 : i+4]
		binary.LittleEndian.PutUint32(p, binary.LittleEndian.Uint32(p)^0xffffff)
	}
}

// isGray reports whether red, green and blue are equal everywhere.
func isGray(m *Image) bool {
	if m.Gray {
		return true
	}
	for i := 0; i+3 < len(m.Pix); i += 4 {
		if p := m.Pix[i : i+3 : i+3]; p[0] != p[1] || p[1] != p[2] {
			return false
		}
	}
	return true
}
