package imaging

import (
	"bytes"
	"fmt"
	"strings"
)

// Probe reads the headers of an image and judges them by the limits. It decodes
// no pixels and allocates nothing that grows with the picture's claims.
//
// # Errors
//
// [*Error], whose Class says what is wrong.
func Probe(data []byte, lim Limits) (Info, error) {
	lim = lim.filled()
	if int64(len(data)) > lim.Bytes {
		return Info{}, refuse(ClassBytes, "", "the image has %d bytes (limit %d bytes)", len(data), lim.Bytes)
	}
	format := Sniff(data)
	i := Info{Format: format, MIME: "image/" + format, Orientation: 1, Depth: 8}
	var err error
	switch format {
	case "png":
		err = probePNG(&i, data, lim)
	case "jpeg":
		err = probeJPEG(&i, data, lim)
	case "gif":
		err = probeGIF(&i, data, lim)
	case "webp":
		err = probeWebP(&i, data, lim)
	case "bmp":
		err = probeBMP(&i, data, lim)
	default:
		return Info{}, notSupported(format, data)
	}
	if err != nil {
		return Info{}, err
	}
	i.upright()
	return i, nil
}

// Sniff names an image format by its first bytes: png, jpeg, gif, webp, bmp, and
// those that are known but not decoded (heic, avif, tiff, svg, ico, jxl, pdf,
// html). It returns "" for anything else.
func Sniff(data []byte) string {
	has := func(at int, magic string) bool {
		return len(data) >= at+len(magic) && string(data[at:at+len(magic)]) == magic
	}
	switch {
	case has(0, pngMagic):
		return "png"
	case has(0, "\xff\xd8\xff"):
		return "jpeg"
	case has(0, "GIF87a"), has(0, "GIF89a"):
		return "gif"
	case has(0, "RIFF") && has(8, "WEBP"):
		return "webp"
	case has(0, "BM") && len(data) >= 26:
		return "bmp"
	case has(4, "ftyp"):
		return isoFormat(data)
	case has(0, "II*\x00"), has(0, "MM\x00*"), has(0, "II+\x00"), has(0, "MM\x00+"):
		return "tiff"
	case has(0, "\x00\x00\x01\x00"):
		return "ico"
	case has(0, "\xff\x0a"), has(0, "\x00\x00\x00\x0cJXL "):
		return "jxl"
	case has(0, "%PDF-"):
		return "pdf"
	}
	head := strings.ToLower(string(bytes.TrimLeft(data[:min(len(data), 1024)], "\ufeff \t\r\n")))
	switch {
	case strings.HasPrefix(head, "<!doctype html"), strings.HasPrefix(head, "<html"):
		return "html"
	case strings.Contains(head, "<svg"):
		return "svg"
	}
	return ""
}

// brand is the major brand of an ISO media file.
func brand(data []byte) string {
	if len(data) < 12 {
		return ""
	}
	return strings.TrimSpace(string(data[8:12]))
}

func isoFormat(data []byte) string {
	switch brand(data) {
	case "heic", "heix", "hevc", "hevx", "heim", "heis":
		return "heic"
	case "avif", "avis":
		return "avif"
	case "mif1", "msf1": // the generic brands: the compatible ones say more
		if bytes.Contains(data[:min(len(data), 64)], []byte("avif")) {
			return "avif"
		}
		return "heic"
	}
	return ""
}

// notSupported words the refusal of what is not decoded here.
func notSupported(format string, data []byte) error {
	const how = "convert it to PNG, JPEG or WebP first"
	switch format {
	case "heic":
		return refuse(ClassUnsupported, format, "HEIC/HEIF images (brand %q) are not decoded here; %s (phones can save as JPEG)", brand(data), how)
	case "avif", "tiff", "ico", "jxl":
		return refuse(ClassUnsupported, format, "%s images are not decoded here; %s", strings.ToUpper(format), how)
	case "svg":
		return refuse(ClassNotImage, format, "SVG is a drawing, not pixels, and is never rendered here; render it to PNG first")
	case "pdf":
		return refuse(ClassNotImage, format, "this is a PDF document; render the page to PNG first")
	case "html":
		return refuse(ClassNotImage, format, "this is an HTML page, not an image; a download may have answered an error page")
	}
	if len(data) == 0 {
		return refuse(ClassNotImage, "", "the image is empty")
	}
	return refuse(ClassNotImage, "", "these %d bytes are no image (they begin with %s); PNG, JPEG, GIF, WebP and BMP are accepted", len(data), fmt.Sprintf("% x", data[:min(8, len(data))]))
}
