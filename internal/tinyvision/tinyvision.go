// Package tinyvision is a test part: it writes a vision model of 0.7 MB that a
// real Ollama server loads and runs on a processor, and starts such a server.
//
// The weights are written by hand, not trained. The model averages the colour
// of the picture through a real vision tower and names it:
//
//	a picture and any text   The image is mostly red in colour
//	no picture               No picture was given
//	the word LOOP in it      the sentence goes on until num_predict
//	the word REPEAT in it    one word over and over; the server cuts it
//	a JSON schema as format  short valid JSON whose free strings hold the colour
//
// The patch convolution takes the mean of red, green and blue of each patch,
// beside a large constant that keeps the RMS norms from rescaling the colour.
// The projector carries signed values through its GELU as gelu(x)-gelu(-x). In
// the first text layer one head attends to image tokens alone and writes the
// mean colour into the residual stream; two more look for the trigger words.
// The output matrix is a table of next words over "what was the last token",
// and its bias makes any JSON grammar end soon.
package tinyvision

import (
	"io"
	"slices"
	"strings"
)

// Options shape the model. The zero value is the usual tiny one.
type Options struct {
	TextOnly bool // leave the vision part out
	Layers   int  // text layers; 0 is 2. More make it slower
	FFN      int  // width of the text feed-forward; 0 is 128. More make it bigger and slower
}

// Sizes of the model. They are as small as the architecture allows.
const (
	hidden, heads             = 64, 4
	visionHidden, visionHeads = 32, 2
	visionLayers, visionFFN   = 2, 64
	contextLength             = 8192
	imageEdge, patchSize      = 224, 14 // pixels
)

// WriteGGUF writes the model file. The same options give the same bytes.
func WriteGGUF(w io.Writer, o Options) error {
	if o.Layers == 0 {
		o.Layers = 2
	}
	if o.FFN == 0 {
		o.FFN = 128
	}
	b := newBuilder()
	b.biases()
	b.rules()
	b.text(o.Layers, o.FFN)
	b.vision()
	b.projector()
	meta := b.metadata(o)
	if o.TextOnly {
		meta = slices.DeleteFunc(meta, func(m kv) bool { return strings.HasPrefix(m.key, arch+"vision.") })
		b.tensors = slices.DeleteFunc(b.tensors, func(t tensor) bool {
			return strings.HasPrefix(t.name, "v.") || strings.HasPrefix(t.name, "mm.")
		})
	}
	return writeGGUF(w, meta, b.tensors)
}
