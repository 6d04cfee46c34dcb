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
	"truncated":       {ClassTruncated},
	"corrupt":         {ClassCorrupt},
	"unsupported":     {ClassUnsupported},
	"not_image":       {ClassNotImage},
}

// matches reports whether an outcome is what the manifest expects: "WxH",
// "error:class", "no_panic", alternatives by a bar.
func matches(expect string, m *Image, err error) bool {
	for want := range strings.SplitSeq(expect, "|") {
		class, isError := strings.CutPrefix(want, "error:")
		var e *Error
		switch {
		case want == "no_panic", class == "any" && errors.As(err, &e):
			return true
		case isError && errors.As(err, &e) && slices.Contains(manifestClasses[class], e.Class):
			return true
		case err == nil && want == fmt.Sprintf("%dx%d", m.Width(), m.Height()):
			return true
		}
	}
	return false
}

func TestHostileFiles(t *testing.T) {
	raw, err := os.ReadFile("testdata/hostile/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var files []struct{ File, Expect, Why string }
	if err := json.Unmarshal(raw, &files); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join("testdata/hostile", f.File))
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := Decode(context.Background(), data, Limits{})
		if !matches(f.Expect, m, err) {
			got := fmt.Sprint(err)
			if m != nil {
				got = fmt.Sprintf("%dx%d", m.Width(), m.Height())
			}
			t.Errorf("%s (%s): got %s, want %s", f.File, f.Why, got, f.Expect)
		}
	}
}
