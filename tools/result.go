package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"strings"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
)

// Result is a tool's answer. A handler fills Value, Provenance and Pictures;
// the registry makes JSON and Images of them.
type Result struct {
	Value      any         // a struct or map that becomes a JSON object
	Provenance *Provenance // becomes its member provenance, nil for none
	Pictures   []Picture

	JSON   json.RawMessage // the answer: structuredContent, and the text block
	Images []ImageBlock    // pictures as they are returned, scaled to fit
	Links  []Link          // the full pictures, as resources
}

// Picture is a picture that a tool made.
type Picture struct {
	Image   *imaging.Image // nil: linked only
	Encoded []byte         // Image at full size in the asked format, when that is at hand already
	Reduced int            // how many times smaller than the full file Image is already, 0 for not
	JPEG    bool           // returned as JPEG, otherwise PNG
	File    *store.Ref     // the full file in the output store, nil when not saved
	Title   string
}

// ImageBlock is an encoded picture of an answer. MIMEType is that of Data.
type ImageBlock struct {
	Data     []byte
	MIMEType string
}

// Link points to a file in the output store.
type Link struct {
	URI      string
	Name     string
	MIMEType string
	Size     int64
}

// Limits on one image block, from what model APIs accept: longer sides are
// scaled down by them anyway, and larger blocks are refused.
const (
	maxBlockSide  = 2000      // pixels
	maxBlockBytes = 3_932_160 // 3.75 MiB before base64
	minBlockSide  = 64        // pixels; below this a picture is not worth its block
	jpegQuality   = 85        // of blocks that do not fit as PNG
	jsonOverhead  = 2048      // bytes of an answer that are neither text nor pictures
)

// OutputsURI is what the resource address of a file in the output store begins
// with; its id follows.
const OutputsURI = "visions://outputs/"

// OutputURI is the resource address of a file in the output store.
func OutputURI(ref store.Ref) string { return OutputsURI + ref.ID }

// MIMEType is the type of a file in the store, by its name.
func MIMEType(name string) string {
	switch ext := strings.TrimPrefix(path.Ext(name), "."); ext {
	case "jpg", "jpeg":
		return "image/jpeg"
	case "webp", "gif", "bmp":
		return "image/" + ext
	case "svg":
		return "image/svg+xml"
	}
	return "image/png"
}

// OutputID is the store's id in a resource address made by [OutputURI].
func OutputID(uri string) string { return strings.TrimPrefix(uri, OutputsURI) }

// finish encodes the pictures, scaled until the whole answer is under
// MaxResponseBytes, and the value with its provenance, shortened to
// MaxResponseText.
func (e *Env) finish(ctx context.Context, r *Result) error {
	for _, p := range r.Pictures {
		if p.File != nil {
			r.Links = append(r.Links, Link{URI: OutputURI(*p.File), Name: p.File.ID, MIMEType: MIMEType(p.File.ID), Size: p.File.Size})
		}
	}
	// The JSON stands in the answer twice, as text (where quotes take an
	// escape) and as structuredContent.
	budget := e.MaxResponseBytes - 3*e.MaxResponseText - jsonOverhead
	shown := 0
	for _, p := range r.Pictures {
		if p.Image != nil && e.Images {
			shown++
		}
	}
	for _, p := range r.Pictures {
		if p.Image == nil || !e.Images {
			continue
		}
		var block ImageBlock
		var info Returned
		err := e.Pixels(ctx, func() (err error) {
			block, info, err = fitBlock(p, min(maxBlockBytes, base64.StdEncoding.DecodedLen(budget/shown)))
			return err
		})
		if err != nil {
			return err
		}
		r.Images = append(r.Images, block)
		if r.Provenance != nil {
			info.Scale /= float64(max(1, p.Reduced))
			r.Provenance.Returned = append(r.Provenance.Returned, info)
		}
	}
	return r.encode(e.MaxResponseText)
}

// fitBlock encodes a picture within maxBlockSide and limit bytes: as asked, then
// as JPEG, then smaller and smaller.
func fitBlock(p Picture, limit int) (ImageBlock, Returned, error) {
	full := p.Image
	if p.Encoded != nil && len(p.Encoded) <= limit {
		block := ImageBlock{Data: p.Encoded, MIMEType: "image/png"}
		if p.JPEG {
			block.MIMEType = "image/jpeg"
		}
		return block, Returned{MIMEType: block.MIMEType, Width: full.Width(), Height: full.Height(), Scale: 1, Bytes: len(block.Data)}, nil
	}
	scale := min(1, float64(maxBlockSide)/float64(max(full.Width(), full.Height())))
	asJPEG := p.JPEG
	for {
		img := full
		if scale < 1 {
			img = imaging.Resize(full, scaled(full.Width(), scale), scaled(full.Height(), scale))
		}
		block, err := encodeBlock(img, asJPEG)
		if err != nil {
			return ImageBlock{}, Returned{}, err
		}
		if len(block.Data) <= limit {
			return block, Returned{MIMEType: block.MIMEType, Width: img.Width(), Height: img.Height(),
				Scale: math.Round(scale*1e4) / 1e4, Bytes: len(block.Data)}, nil
		}
		if !asJPEG && full.Opaque {
			asJPEG = true
			continue
		}
		if max(img.Width(), img.Height()) <= minBlockSide {
			return ImageBlock{}, Returned{}, Errorf(TooLarge, "the picture does not fit the answer even at %dx%d: %d bytes where MaxResponseBytes leaves %d", img.Width(), img.Height(), len(block.Data), limit).
				Suggest("raise Config.MaxResponseBytes, or read the file named by output_file_path")
		}
		scale *= min(0.9, math.Sqrt(float64(limit)/float64(len(block.Data))))
	}
}

func scaled(side int, scale float64) int { return max(1, int(math.Round(float64(side)*scale))) }

func encodeBlock(img *imaging.Image, asJPEG bool) (ImageBlock, error) {
	var buf bytes.Buffer
	if asJPEG {
		err := imaging.EncodeJPEG(&buf, img, jpegQuality)
		return ImageBlock{Data: buf.Bytes(), MIMEType: "image/jpeg"}, err
	}
	err := imaging.EncodePNG(&buf, img, imaging.Fast)
	return ImageBlock{Data: buf.Bytes(), MIMEType: "image/png"}, err
}

// encode makes the JSON of the value and its provenance.
func (r *Result) encode(maxText int) error {
	raw, err := marshal(r.Value)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	if r.Provenance != nil {
		if r.Provenance.Warnings == nil {
			r.Provenance.Warnings = []string{}
		}
		prov, err := marshal(r.Provenance)
		if err != nil {
			return fmt.Errorf("encoding the provenance: %w", err)
		}
		raw = appendMember(raw, "provenance", prov)
	}
	if len(raw) > maxText {
		if raw, err = truncate(raw, maxText); err != nil {
			return fmt.Errorf("shortening the answer: %w", err)
		}
	}
	r.JSON = raw
	return nil
}

// marshal is json.Marshal without the escapes that HTML wants.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(buf.Bytes(), "\n"), err
}

// appendMember adds a member to the JSON text of an object.
func appendMember(obj []byte, name string, value []byte) []byte {
	out := append([]byte{}, obj[:len(obj)-1]...)
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(out, '"')
	out = append(out, name...)
	out = append(out, `":`...)
	out = append(out, value...)
	return append(out, '}')
}
