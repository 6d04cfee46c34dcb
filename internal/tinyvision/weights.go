package tinyvision

import (
	"fmt"
	"math"
	"slices"
)

// Dimensions of the text model's residual stream.
const (
	dRed, dGreen, dBlue = 0, 1, 2 // main colour, copied from the image tokens
	dImage              = 3       // set on image tokens
	dText               = 4       // set on text tokens
	dSeen               = 5       // an image token was attended to
	dTrigger            = 6       // set on the token LOOP
	dLoop               = 7       // a LOOP token was attended to
	dState              = 8       // first of the one-hot "last token" dimensions
	dRepeatTrigger      = 62      // set on the token REPEAT
	dRepeat             = 63      // a REPEAT token was attended to
)

// matrix is a linear map, row by row.
type matrix struct {
	in, out int
	v       []float32
}

func newMatrix(in, out int) *matrix { return &matrix{in, out, make([]float32, in*out)} }

func (m *matrix) set(out, in int, x float64) { m.v[out*m.in+in] = float32(x) }

// colour is a name and its signs in red, green and blue.
type colour struct {
	name    string
	r, g, b float64
}

var colours = []colour{
	{"red", 1, -1, -1}, {"green", -1, 1, -1}, {"blue", -1, -1, 1},
	{"yellow", 1, 1, -1}, {"cyan", -1, 1, 1}, {"magenta", 1, -1, 1},
	{"white", 1, 1, 1}, {"black", -1, -1, -1}, {"gray", 0, 0, 0},
}

// controlTokens come first in the vocabulary; the architecture fixes the places
// of [IMG], [IMG_BREAK] and [IMG_END].
var controlTokens = []string{"<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[C5]", "[C6]", "[C7]", "[C8]", "[C9]",
	"[IMG]", "[C11]", "[IMG_BREAK]", "[IMG_END]", "[C14]", "[C15]", "[C16]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[C19]"}

// sentenceTokens are the words of the two sentences; each is a state.
var sentenceTokens = []string{"The", " image", " is", " mostly", " in", " colour", " and", "No", " picture", " was", " given"}

// byteRune is the alphabet of byte-level BPE.
func byteRune(b byte) rune {
	switch r := rune(b); {
	case r == 0xad:
		return 0x143
	case r <= 0x20:
		return r + 0x100
	case r >= 0x7f && r <= 0xa0:
		return r + 0xa2
	default:
		return r
	}
}

func bpe(s string) string {
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = byteRune(s[i])
	}
	return string(out)
}

// builder collects the vocabulary and the weights.
type builder struct {
	tokens       []string
	types        []int32
	ids          map[string]int
	embed, logit *matrix
	bias         []float32
	states       map[string]int
	tensors      []tensor
}

func newBuilder() *builder {
	b := &builder{ids: map[string]int{}, states: map[string]int{}}
	const control, normal = 3, 1
	for _, s := range controlTokens {
		b.token(s, control)
	}
	for c := range 256 {
		b.token(bpe(string([]byte{byte(c)})), normal)
	}
	words := slices.Concat(sentenceTokens, []string{"none", "LOOP", " LOOP", "REPEAT", " REPEAT", " very"})
	for _, c := range colours {
		words = append(words, " "+c.name, c.name)
	}
	for _, s := range words {
		b.token(bpe(s), normal)
	}
	n := len(b.tokens)
	b.embed, b.logit, b.bias = newMatrix(hidden, n), newMatrix(hidden, n), make([]float32, n)
	for i := range n {
		b.embed.set(i, dText, 1)
	}
	return b
}

func (b *builder) token(s string, kind int32) {
	b.ids[s] = len(b.tokens)
	b.tokens = append(b.tokens, s)
	b.types = append(b.types, kind)
}

func (b *builder) id(s string) int {
	if i, ok := b.ids[s]; ok && i < len(controlTokens) {
		return i
	}
	return b.ids[bpe(s)]
}

// biases are preferences that hold in every state; they make any grammar end
// soon.
func (b *builder) biases() {
	for c := range 256 {
		at := len(controlTokens) + c
		switch ch := byte(c); {
		case ch >= 'a' && ch <= 'z':
			b.bias[at] = 1
		case ch >= '0' && ch <= '9':
			b.bias[at] = 3
		case ch < 0x21 || ch >= 0x7f:
			b.bias[at] = -8
		default:
			b.bias[at] = -2
		}
	}
	for s, x := range map[string]float32{`"`: 12, "}": 11, "]": 10, ",": 6, ":": 5, "1": 4, "t": 3.5, "f": 3.2, "n": 2.5, "{": 4, "[": 3.8} {
		b.bias[b.id(s)] = x
	}
	for i := range controlTokens {
		b.bias[i] = -20
	}
	b.bias[b.id("</s>")] = 2
}

// state gives tokens a dimension that says "this was the last token".
func (b *builder) state(name string, tokens ...string) {
	d := dState + len(b.states)
	b.states[name] = d
	for _, t := range tokens {
		b.embed.set(b.id(t), d, 4)
	}
}

// follow makes tokens likely after a state.
func (b *builder) follow(state string, weight float64, tokens ...string) {
	for _, t := range tokens {
		b.logit.set(b.id(t), b.states[state], weight)
	}
}

// rules write the sentences and the JSON into the output matrix.
func (b *builder) rules() {
	var spaced, bare []string
	for _, c := range colours {
		spaced, bare = append(spaced, " "+c.name), append(bare, c.name)
	}
	for _, w := range sentenceTokens {
		b.state(w, w)
	}
	b.state("inst", "[/INST]")
	b.state("spaced", spaced...)
	b.state("bare", append([]string{"none"}, bare...)...)
	b.state("quote", `"`)
	b.state("brace", "{")
	b.state("bracket", "[")

	b.follow("inst", 5, "The")
	b.follow("inst", 6, "No")
	b.logit.set(b.id("The"), dSeen, 4)
	b.logit.set(b.id("No"), dSeen, -4)
	for _, pair := range [][2]string{{"The", " image"}, {" image", " is"}, {" is", " mostly"}, {"spaced", " in"}, {" in", " colour"},
		{" and", " mostly"}, {"No", " picture"}, {" picture", " was"}, {" was", " given"}, {"bare", `"`}} {
		b.follow(pair[0], 5, pair[1])
	}
	b.follow(" mostly", 5, spaced...)
	for _, last := range []string{" colour", " given"} {
		b.follow(last, 5, "</s>")
		b.follow(last, 4, " and")
	}
	b.logit.set(b.id(" and"), dLoop, 8)
	b.follow("quote", 5, bare...)
	b.follow("quote", 6, "none")
	b.logit.set(b.id("none"), dSeen, -6)
	b.follow("brace", -4, "}")
	b.follow("bracket", -4, "]")
	for _, c := range colours {
		for _, t := range []int{b.id(c.name), b.id(" " + c.name)} {
			b.logit.set(t, dRed, c.r)
			b.logit.set(t, dGreen, c.g)
			b.logit.set(t, dBlue, c.b)
			if c.name == "gray" {
				b.logit.set(t, dSeen, 2.2)
			}
		}
	}
	for _, space := range []string{"", " "} {
		b.embed.set(b.id(space+"LOOP"), dTrigger, 8)
		b.embed.set(b.id(space+"REPEAT"), dRepeatTrigger, 8)
	}
	b.logit.set(b.id(" very"), dRepeat, 40)
}

func (b *builder) emit(name string, v []float32, dims ...int) {
	t := tensor{name: name, data: v}
	for _, d := range dims {
		t.dims = append(t.dims, uint64(d))
	}
	b.tensors = append(b.tensors, t)
}

func (b *builder) linear(name string, m *matrix) { b.emit(name+".weight", m.v, m.in, m.out) }

func (b *builder) ones(name string, n int) { b.emit(name+".weight", slices.Repeat([]float32{1}, n), n) }

const headSize = hidden / heads

// text writes the text tower. Head 0 of the first layer averages the image
// tokens, heads 1 and 2 look for the trigger words.
func (b *builder) text(layers, ffn int) {
	b.emit("token_embd.weight", b.embed.v, hidden, len(b.tokens))
	b.emit("output.weight", b.logit.v, hidden, len(b.tokens))
	b.emit("output.bias", b.bias, len(b.tokens))
	b.ones("output_norm", hidden)
	for l := range layers {
		p := fmt.Sprintf("blk.%d.", l)
		q, k, v, o := newMatrix(hidden, hidden), newMatrix(hidden, hidden), newMatrix(hidden, hidden), newMatrix(hidden, hidden)
		if l == 0 {
			b.attention(q, k, v, o)
		}
		b.ones(p+"attn_norm", hidden)
		b.linear(p+"attn_q", q)
		b.linear(p+"attn_k", k)
		b.linear(p+"attn_v", v)
		b.linear(p+"attn_output", o)
		b.ones(p+"ffn_norm", hidden)
		b.linear(p+"ffn_gate", newMatrix(hidden, ffn))
		b.linear(p+"ffn_up", newMatrix(hidden, ffn))
		b.linear(p+"ffn_down", newMatrix(ffn, hidden))
	}
}

// attention sets the heads. After the norm dText is about 1.9 on text tokens
// and dImage about 8 on image tokens.
func (b *builder) attention(q, k, v, o *matrix) {
	const slow = headSize - 2 // first of the rotary pair that turns slowest
	for head, key := range []int{dImage, dTrigger, dRepeatTrigger} {
		q.set(head*headSize+slow, dText, 2)
		k.set(head*headSize+slow, key, 2)
	}
	for i := range 3 {
		v.set(i, dRed+i, 1)
		o.set(dRed+i, i, 4)
	}
	v.set(3, dImage, 1)
	o.set(dSeen, 3, 1./8)
	v.set(headSize, dTrigger, 1)
	o.set(dLoop, headSize, 1./7)
	v.set(2*headSize, dRepeatTrigger, 1)
	o.set(dRepeat, 2*headSize, 1./7)
}

// anchor is the constant that rides beside the colour through the norms.
const anchor = 32

// vision writes the vision tower: the mean colour of each patch.
func (b *builder) vision() {
	const area = patchSize * patchSize
	conv := make([]float32, area*3*visionHidden)
	for ch := range 3 {
		for i := range area {
			conv[(ch*3+ch)*area+i] = 1. / area
		}
	}
	b.emit("v.patch_conv.weight", conv, patchSize, patchSize, 3, visionHidden)
	bias := make([]float32, visionHidden)
	bias[3] = anchor
	b.emit("v.patch_conv.bias", bias, visionHidden)
	b.ones("v.encoder_norm", visionHidden)
	for l := range visionLayers {
		p := fmt.Sprintf("v.blk.%d.", l)
		b.ones(p+"attn_norm", visionHidden)
		for _, n := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
			b.linear(p+n, newMatrix(visionHidden, visionHidden))
		}
		b.ones(p+"ffn_norm", visionHidden)
		b.linear(p+"ffn_gate", newMatrix(visionHidden, visionFFN))
		b.linear(p+"ffn_up", newMatrix(visionHidden, visionFFN))
		b.linear(p+"ffn_down", newMatrix(visionFFN, visionHidden))
	}
}

// projector averages four patches into one token and scales the anchor back.
func (b *builder) projector() {
	b.ones("mm.norm", visionHidden)
	merge := newMatrix(visionHidden*4, visionHidden)
	for i := range 4 {
		for j := range 4 {
			merge.set(i, i*4+j, 0.25)
		}
	}
	b.linear("mm.patch_merger.merging_layer", merge)
	up, down := newMatrix(visionHidden, hidden), newMatrix(hidden, hidden)
	gain := anchor / math.Sqrt(visionHidden)
	for i := range 4 {
		up.set(2*i, i, 1)
		up.set(2*i+1, i, -1)
		down.set(i, 2*i, gain)
		down.set(i, 2*i+1, -gain)
	}
	b.linear("mm.linear_1", up)
	b.linear("mm.linear_2", down)
}

// arch is the architecture whose runner has room for a vocabulary this small.
const arch = "mistral3."

func (b *builder) metadata(o Options) []kv {
	const eps = float32(1e-5)
	return []kv{
		{"general.architecture", "mistral3"}, {"general.name", "tinyvision"}, {"general.file_type", uint32(0)},
		{arch + "block_count", uint32(o.Layers)}, {arch + "context_length", uint32(contextLength)},
		{arch + "embedding_length", uint32(hidden)}, {arch + "feed_forward_length", uint32(o.FFN)},
		{arch + "attention.head_count", uint32(heads)}, {arch + "attention.head_count_kv", uint32(heads)},
		{arch + "attention.key_length", uint32(headSize)}, {arch + "attention.value_length", uint32(headSize)},
		{arch + "attention.layer_norm_rms_epsilon", eps},
		{arch + "rope.dimension_count", uint32(headSize)}, {arch + "rope.freq_base", float32(1e8)},
		{arch + "vocab_size", uint32(len(b.tokens))}, {arch + "spatial_merge_size", uint32(2)},
		{arch + "vision.block_count", uint32(visionLayers)}, {arch + "vision.embedding_length", uint32(visionHidden)},
		{arch + "vision.feed_forward_length", uint32(visionFFN)}, {arch + "vision.attention.head_count", uint32(visionHeads)},
		{arch + "vision.attention.key_length", uint32(visionHidden / visionHeads)},
		{arch + "vision.image_size", uint32(imageEdge)}, {arch + "vision.longest_edge", uint32(imageEdge)},
		{arch + "vision.patch_size", uint32(patchSize)}, {arch + "vision.num_channels", uint32(3)},
		{arch + "vision.attention.layer_norm_epsilon", eps}, {arch + "vision.rope.freq_base", float32(10000)},
		{"tokenizer.ggml.model", "gpt2"}, {"tokenizer.ggml.pre", "default"},
		{"tokenizer.ggml.tokens", b.tokens}, {"tokenizer.ggml.token_type", b.types}, {"tokenizer.ggml.merges", []string{"t h"}},
		{"tokenizer.ggml.bos_token_id", uint32(1)}, {"tokenizer.ggml.eos_token_id", uint32(2)}, {"tokenizer.ggml.unknown_token_id", uint32(0)},
		{"tokenizer.ggml.add_bos_token", true}, {"tokenizer.ggml.add_eos_token", false},
	}
}
