package imaging

import "encoding/binary"

// probeBMP reads the header and checks that the pixels are all there.
func probeBMP(i *Info, data []byte, lim Limits) error {
	info := binary.LittleEndian.Uint32(data[14:])
	if info < 40 || len(data) < 14+int(min(info, 256)) || len(data) < 54 {
		return refuse(ClassUnsupported, "bmp", "the old header of %d bytes is not read here; save it again or convert it to PNG", info)
	}
	w, h := int32(binary.LittleEndian.Uint32(data[18:])), int32(binary.LittleEndian.Uint32(data[22:]))
	if h < 0 && h != -1<<31 {
		h = -h // stored top down
	}
	i.StoredWidth, i.StoredHeight = int(w), int(h)
	bits, compression := int64(binary.LittleEndian.Uint16(data[28:])), binary.LittleEndian.Uint32(data[30:])
	i.Alpha = bits == 32
	if err := i.check(lim, 4); err != nil {
		return err
	}
	if compression != 0 && compression != 3 || bits != 1 && bits != 2 && bits != 4 && bits != 8 && bits != 24 && bits != 32 {
		return refuse(ClassUnsupported, "bmp", "%d bits with compression %d are not read here; save it as 24 bit, or convert it to PNG", bits, compression)
	}
	need := int64(binary.LittleEndian.Uint32(data[10:])) + (int64(w)*bits+31)/32*4*int64(h)
	if need > int64(len(data)) {
		return refuse(ClassTruncated, "bmp", "the header claims %d bytes and the file has %d", need, len(data))
	}
	return nil
}
