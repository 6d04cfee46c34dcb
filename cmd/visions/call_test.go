package main

import (
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// announcedHTTP is the line that tells an HTTP address.
var announcedHTTP = regexp.MustCompile(`^listening http (http://127\.0\.0\.1:[1-9][0-9]*/mcp)$`)

// picture writes a PNG of two colours and returns its path.
func picture(t *testing.T, w, h int) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{200, 60, 20, 255}
			if x > y {
				c = color.NRGBA{20, 60, 200, 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	path := filepath.Join(t.TempDir(), "page.png")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(f, m); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func argumentsFor(t *testing.T, path string) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"image_source": path, "invert": true})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// wantSaved tests that an answer names the one picture in dir, of this size, and
// returns its path.
func wantSaved(t *testing.T, o outcome, dir string, w, h int) string {
	t.Helper()
	var answer struct {
		Path string `json:"output_file_path"`
	}
	if err := json.Unmarshal([]byte(o.out), &answer); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || answer.Path != filepath.Join(dir, entries[0].Name()) {
		t.Fatalf("the answer names %s, the folder has %v (%v)", answer.Path, entries, err)
	}
	f, err := os.Open(answer.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if c, err := png.DecodeConfig(f); err != nil || c.Width != w || c.Height != h {
		t.Errorf("saved %dx%d (%v), want %dx%d", c.Width, c.Height, err, w, h)
	}
	return answer.Path
}

func TestCallTakesArgumentsInThreeWays(t *testing.T) {
	arguments := argumentsFor(t, picture(t, 64, 48))
	file := filepath.Join(t.TempDir(), "arguments.json")
	if err := os.WriteFile(file, []byte(arguments), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ arg, stdin string }{
		"JSON": {arguments, ""}, "@FILE": {"@" + file, ""}, "-": {"-", arguments},
	} {
		t.Run(name, func(t *testing.T) {
			o := visionsWith(t, c.stdin, surroundings(t), "call", "preprocess_and_crop", c.arg)
			o.want(t, exitOK, `"applied":["invert"]`, "give -o DIR to keep it")
			if !json.Valid([]byte(o.out)) {
				t.Errorf("standard output is no JSON: %s", o.out)
			}
		})
	}
	visionsWith(t, "", surroundings(t), "call", "check_vision_health").want(t, exitOK, `"status"`, "")
}

func TestCallSavesPictures(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	o := visionsWith(t, "", surroundings(t), "call", "preprocess_and_crop", argumentsFor(t, picture(t, 2400, 1200)), "-o", dir)
	o.want(t, exitOK, `"width":2400`, "saved "+dir)
	wantSaved(t, o, dir, 2400, 1200) // the program has ended: what -o wrote stays
}

func TestCallExitCodes(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		says string
	}{
		"no tool":                      {nil, exitUsage, "want 1 to 2"},
		"too many":                     {[]string{"check_vision_health", "{}", "{}"}, exitUsage, "3 arguments"},
		"arguments that are no JSON":   {[]string{"check_vision_health", "{"}, exitUsage, "not JSON"},
		"arguments that are no object": {[]string{"check_vision_health", "[]"}, exitUsage, "not a JSON object"},
		"a file that is not there":     {[]string{"check_vision_health", "@/nowhere/at/all"}, exitFailed, "/nowhere/at/all"},
		"an unknown tool":              {[]string{"chek_vision_health"}, exitFailed, `"code":"UNKNOWN_TOOL"`},
		"an argument out of range":     {[]string{"preprocess_and_crop", `{"image_source":"x","rotate":45}`}, exitFailed, `"code":"INVALID_ARGUMENT"`},
		"a missing image":              {[]string{"preprocess_and_crop", `{"image_source":"/no/such.png"}`}, exitFailed, `"code":"NOT_FOUND"`},
		"no model server":              {[]string{"analyze_image", argumentsFor(t, picture(t, 64, 64))}, exitFailed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := visionsWith(t, "", surroundings(t), append([]string{"call"}, c.args...)...)
			o.want(t, c.code, "", c.says)
			if o.out != "" {
				t.Errorf("standard output has %q", o.out)
			}
		})
	}
}

func TestTools(t *testing.T) {
	o := visionsWith(t, "", surroundings(t), "tools", "-json")
	o.want(t, exitOK, "", "")
	var list []struct {
		Name, Description, Group string
		InputSchema              struct{ Type string }
	}
	if err := json.Unmarshal([]byte(o.out), &list); err != nil {
		t.Fatal(err)
	}
	text := visionsWith(t, "", surroundings(t), "tools").out
	for _, tool := range list {
		if tool.Description == "" || tool.InputSchema.Type != "object" {
			t.Errorf("incomplete: %+v", tool)
		}
		if !strings.Contains(text, tool.Name+" ") {
			t.Errorf("the plain list lacks %s", tool.Name)
		}
	}
	if len(list) < 3 {
		t.Errorf("%d tools", len(list))
	}
	if o := visionsWith(t, "", surroundings(t), "tools", "-read-only", "true"); strings.Contains(o.out, "preprocess_and_crop") {
		t.Error("a tool that writes is offered read-only")
	}
}

func TestDoctorSaysWhatIsHere(t *testing.T) {
	roots := t.TempDir()
	o := visionsWith(t, "", surroundings(t), "doctor", "-roots", roots)
	for _, want := range []string{"127.0.0.1:1", "Transport http: built in", "Transport stdio: built in", "Default socket: ", "Output folder: private", "Image paths: inside [" + roots + "]"} {
		o.want(t, exitOK, want, "")
	}
	visionsWith(t, "", surroundings(t), "doctor").want(t, exitOK, "confine them with -roots", "")
}

func TestVersionAndUsage(t *testing.T) {
	for _, arg := range []string{"-version", "--version", "version"} {
		if o := visionsWith(t, "", nil, arg); !regexp.MustCompile(`^visions \S+\n$`).MatchString(o.out) || o.code != exitOK {
			t.Errorf("%s: %q", arg, o.out)
		}
	}
	visionsWith(t, "", nil, "-h").want(t, exitOK, "usage:", "")
	visionsWith(t, "", nil).want(t, exitUsage, "", "usage:")
	visionsWith(t, "", nil, "sing").want(t, exitUsage, "", `there is no command "sing"`)
	visionsWith(t, "", nil, "call", "-h").want(t, exitOK, "", "-fast-model")
}
