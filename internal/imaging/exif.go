package imaging

import "encoding/binary"

// maxExifEntries is more than the first directory of any camera has.
const maxExifEntries = 64

const orientationTag = 0x0112 // EXIF 2.32, 4.6.4

// exifOrientation finds the orientation in a TIFF-structured EXIF block; 1 when
// there is none that makes sense.
func exifOrientation(b []byte) int {
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder
	switch string(b[:4]) {
	case "II*\x00":
		order = binary.LittleEndian
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return 1
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	entries := int64(min(order.Uint16(b[at:]), maxExifEntries))
	for n := range entries {
		e := at + 2 + 12*n
		if e+12 > int64(len(b)) {
			return 1
		}
		if order.Uint16(b[e:]) == orientationTag && order.Uint16(b[e+2:]) == 3 {
			if v := int(order.Uint16(b[e+8:])); v >= 1 && v <= 8 {
				return v
			}
			return 1
		}
	}
	return 1
}
