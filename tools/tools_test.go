package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/job"
	"github.com/visions-mcp/visions/internal/source"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
)

// registry returns the built-in tools on an Env of the test's own.
func registry(t *testing.T, extra ...Tool) *Registry {
	t.Helper()
	files, err := store.Open(store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	roots, err := guard.NewRoots(nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := ocr.New(ocr.Config{Engine: program.New(program.Config{})})
	t.Cleanup(func() { reader.Close() })
	env := &Env{
		OCR:     reader,
		Sources: source.New(source.Config{Roots: roots}), Store: files,
		CPU: admission.NewGate("cpu", 2, 0), ModelQ: admission.NewGate("model", 1, 2),
		MaxResponseBytes: 1_000_000, MaxResponseText: 12_000, Images: true, Started: time.Now(), Logger: slog.New(slog.DiscardHandler),
	}
	if env.Jobs, err = job.New(job.Config{Run: env.RunJob}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		env.Jobs.Close(ctx)
	})
	r, err := NewRegistry(env, append(Builtin(), extra...), Selection{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// subset are the keywords that every client understands.
var subset = map[string]bool{"type": true, "properties": true, "items": true, "enum": true, "description": true, "required": true, "default": true,
	"minimum": true, "maximum": true, "minItems": true, "maxItems": true, "additionalProperties": true, "x-mcp-file": true, "x-mcp-file-accept": true}

func TestSchemasStayInThePlainSubset(t *testing.T) {
	var walk func(at string, v map[string]any)
	walk = func(at string, v map[string]any) {
		for key := range v {
			if !subset[key] {
				t.Errorf("%s uses %q", at, key)
			}
		}
		props, isObject := v["properties"].(map[string]any)
		if v["type"] == "object" && !isObject || v["type"] == "array" && v["items"] == nil {
			t.Errorf("%s is an object without properties or an array without items", at)
		}
		for name, p := range props {
			walk(at+"."+name, p.(map[string]any))
		}
		if items, ok := v["items"].(map[string]any); ok {
			walk(at+"[]", items)
		}
	}
	for _, tool := range Builtin() {
		for name, raw := range map[string]json.RawMessage{"input": tool.Input, "output": tool.Output} {
			var v map[string]any
			if err := json.Unmarshal(raw, &v); err != nil {
				t.Fatal(err)
			}
			walk(tool.Name+" "+name, v)
		}
	}
}

func noise(w, h int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	r := rand.New(rand.NewPCG(1, 1))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
	}
	for i := 3; i < len(m.Pix); i += 4 {
		m.Pix[i] = 255
	}
	return m
}

func TestArgumentsInWrongButClearForms(t *testing.T) {
	r := registry(t)
	path := "../internal/imaging/testdata/images/base-640x360.png"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	res, err := r.Call(context.Background(), "preprocess_and_crop", map[string]any{
		"image_source": data, "crop": `{"left":"1","top":2,"width":30,"height":20}`, "rotate": "90", "grayscale": "true",
		"clahe": nil, "sharpen": "0.5", "invert": true, "_session_key": "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `"applied":["region 1,2 30x20","rotate 90","grayscale","sharpen sigma 0.5","invert"]`
	if !strings.Contains(string(res.JSON), want) {
		t.Errorf("the answer lacks %s:\n%s", want, res.JSON)
	}
}

func TestBadArgumentsSayWhatIsRight(t *testing.T) {
	r := registry(t)
	img := noise(64, 48)
	box := map[string]int{"left": 0, "top": 0, "width": 65, "height": 10}
	for name, c := range map[string]struct {
		tool string
		args map[string]any
		code Code
		says string
	}{
		"unknown tool":         {"preprocess_and_crap", nil, UnknownTool, `did you mean "preprocess_and_crop"?`},
		"unknown argument":     {"preprocess_and_crop", map[string]any{"image_source": img, "grayscal": true}, InvalidArgument, `did you mean "grayscale"?`},
		"missing image":        {"preprocess_and_crop", map[string]any{}, InvalidArgument, "image_source"},
		"region outside":       {"preprocess_and_crop", map[string]any{"image_source": img, "region": box}, InvalidArgument, "64x48"},
		"region and crop":      {"preprocess_and_crop", map[string]any{"image_source": img, "region": box, "crop": box}, InvalidArgument, "one of them"},
		"denoise out of range": {"preprocess_and_crop", map[string]any{"image_source": img, "denoise": 9}, InvalidArgument, "5"},
		"sharpen out of range": {"preprocess_and_crop", map[string]any{"image_source": img, "sharpen": 99}, InvalidArgument, "0.3 to 10"},
		"keep_alive nonsense":  {"analyze_image", map[string]any{"image_source": img, "keep_alive": "forever"}, InvalidArgument, `"5m"`},
		"heic":                 {"preprocess_and_crop", map[string]any{"image_source": []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic")}, UnsupportedFormat, "HEIC"},
	} {
		_, err := r.Call(context.Background(), c.tool, c.args)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
}

func TestLargePicturesFitTheAnswer(t *testing.T) {
	res, err := registry(t).Call(context.Background(), "preprocess_and_crop", map[string]any{"image_source": noise(3840, 2160)})
	if err != nil {
		t.Fatal(err)
	}
	size := 2 * len(res.JSON)
	for _, b := range res.Images {
		size += (len(b.Data) + 2) / 3 * 4
		if got := http.DetectContentType(b.Data); got != b.MIMEType {
			t.Errorf("a block says %s and is %s", b.MIMEType, got)
		}
	}
	var out struct {
		Width      int
		Path       string `json:"output_file_path"`
		Provenance Provenance
	}
	if err := json.Unmarshal(res.JSON, &out); err != nil {
		t.Fatal(err)
	}
	if len(res.Images) != 1 || size >= 1_000_000 || out.Width != 3840 || out.Provenance.Returned[0].Scale >= 1 {
		t.Errorf("%d pictures, %d bytes, width %d, returned %+v", len(res.Images), size, out.Width, out.Provenance.Returned)
	}
	info, err := os.Stat(out.Path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the full file: %v, %v", info, err)
	}
}

func TestOrientationAndCMYKComeOutRight(t *testing.T) {
	r := registry(t)
	for file, size := range map[string]image.Point{"images/exif-orient6-360x640-stored.jpg": {640, 360}, "hostile/jpeg_cmyk.jpeg": {150, 103}} {
		data, err := os.ReadFile("../internal/imaging/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		res, err := r.Call(context.Background(), "preprocess_and_crop", map[string]any{"image_source": data})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		m, format, err := image.Decode(bytes.NewReader(res.Images[0].Data))
		if err != nil || format != "png" || m.Bounds().Size() != size {
			t.Fatalf("%s: %v %s, %v", file, m.Bounds(), format, err)
		}
		if _, gray := m.ColorModel().(color.Palette); m.ColorModel() == color.CMYKModel || gray && size.X == 150 {
			t.Errorf("%s came out as %v", file, m.ColorModel())
		}
	}
}

func TestAPanicOfAToolIsAnError(t *testing.T) {
	r := registry(t, Tool{Name: "boom", Input: Object(nil).JSON(), Handle: func(context.Context, *Call) (*Result, error) { panic("boom") }})
	_, err := r.Call(context.Background(), "boom", nil)
	if e := AsError(err); e.Code != Internal {
		t.Fatalf("%v, want INTERNAL", err)
	}
}

func TestShorteningKeepsJSONAndWhatMatters(t *testing.T) {
	items := make([]string, 500)
	for i := range items {
		items[i] = strings.Repeat("x", 50)
	}
	raw, err := json.Marshal(map[string]any{"success": true, "text": strings.Repeat("long ", 5000), "list": items, "worst": strings.Repeat("w", 500)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := truncate(raw, 6000)
	if err != nil || len(out) > 6000 {
		t.Fatalf("%d bytes, %v", len(out), err)
	}
	var v struct {
		Worst      string
		Truncation struct{ Actions []truncationAction } `json:"_truncation"`
	}
	if err := json.Unmarshal(out, &v); err != nil || len(v.Worst) != 500 || len(v.Truncation.Actions) != 2 {
		t.Errorf("%v: %+v", err, v)
	}
}

func FuzzRawMembers(f *testing.F) {
	f.Add(`{"a":"x\\\"y","b":[1,{"c":2}],"d":null}`)
	f.Fuzz(func(t *testing.T, s string) {
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(s), &want) != nil || want == nil {
			return
		}
		raw := bytes.TrimSpace([]byte(s))
		got := map[string]json.RawMessage{}
		for name, v := range rawMembers(raw) {
			got[name] = v
		}
		if len(got) != len(want) {
			t.Fatalf("%d members, want %d", len(got), len(want))
		}
		for name, v := range want {
			if string(got[name]) != string(v) {
				t.Errorf("%s: %s, want %s", name, got[name], v)
			}
		}
	})
}
