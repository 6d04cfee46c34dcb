package imaging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// manifestClasses maps the manifest's error names to classes.
var manifestClasses = map[string][]Class{
	"dimension":       {ClassDimension},
	"too_many_pixels": {ClassPixels, ClassDimension},
	"pixels":          {ClassPixels},
	"scans":           {ClassScans},
	"truncated":       {ClassTruncated},
	"corrupt":         {ClassCorrupt},
	"unsupported":     {ClassUnsupported},
	"not_image":       {ClassNotImage},
}

// matches reports whether an outcome is what the manifest expects: "WxH",
// "error:class", "no_panic", alternatives by a bar. size is "WxH" of a decoded
// image, class that of the error.
func matches(expect, size string, class Class) bool {
	for want := range strings.SplitSeq(expect, "|") {
		name, isError := strings.CutPrefix(want, "error:")
		switch {
		case want == "no_panic", isError && name == "any" && class != "":
			return true
		case isError && slices.Contains(manifestClasses[name], class):
			return true
		case class == "" && want == size:
			return true
		}
	}
	return false
}

type hostileFile struct{ File, Expect, Why string }

// manifest lists testdata/hostile.
func manifest(t *testing.T) []hostileFile {
	t.Helper()
	raw, err := os.ReadFile("testdata/hostile/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var files []hostileFile
	if err := json.Unmarshal(raw, &files); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestHostileFiles(t *testing.T) {
	for _, f := range manifest(t) {
		data, err := os.ReadFile(filepath.Join("testdata/hostile", f.File))
		if err != nil {
			t.Fatal(err)
		}
		var size string
		var e *Error
		m, _, err := Decode(context.Background(), data, Limits{})
		if err == nil {
			size = fmt.Sprintf("%dx%d", m.Width(), m.Height())
		} else if !errors.As(err, &e) {
			t.Errorf("%s: %v has no class", f.File, err)
			continue
		} else {
			size = string(e.Class)
		}
		class := Class("")
		if e != nil {
			class = e.Class
		}
		if !matches(f.Expect, size, class) {
			t.Errorf("%s (%s): got %s %v, want %s", f.File, f.Why, size, err, f.Expect)
		}
	}
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
