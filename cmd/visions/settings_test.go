package main

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions"
)

// rows reads the tables of docs/SETTINGS.md: by heading, the cells of each row.
func rows(t *testing.T) map[string][][]string {
	t.Helper()
	data, err := os.ReadFile("../../docs/SETTINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	tables, heading := map[string][][]string{}, ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## visions."); ok {
			heading = name
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		tables[heading] = append(tables[heading], cells)
	}
	return tables
}

var quoted = regexp.MustCompile("`([^`]+)`")

// names are the words in backquotes.
func names(cell string) []string {
	var list []string
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestEverySettingIsDocumented holds the table of Config to the settings: the
// field that is set, flag, environment, default and words.
func TestEverySettingIsDocumented(t *testing.T) {
	table := rows(t)["Config"]
	for i, e := range engineSettings {
		def := "`" + e.def + "`"
		if e.def == "" {
			def = "empty"
		}
		want := []string{"`" + fieldOf(t, e) + "`", "`-" + e.flag + "`", "`" + e.env + "`", def, e.help}
		if i >= len(table) || !reflect.DeepEqual(table[i], want) {
			t.Errorf("row %d of docs/SETTINGS.md should be\n| %s |", i+1, strings.Join(want, " | "))
		}
	}
}

// fieldOf finds the field of Config that a setting sets.
func fieldOf(t *testing.T, e setting) string {
	t.Helper()
	value := map[string]string{"ollama": "http://127.0.0.1:1", "read-only": "true", "omit-images": "true", "allow-private-urls": "true", "plain-schemas": "true"}[e.flag]
	if value == "" {
		value = "7"
	}
	var c visions.Config
	if err := e.set(&c, value); err != nil {
		t.Fatalf("-%s: %v", e.flag, err)
	}
	field := ""
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			field += v.Type().Field(i).Name
		}
	}
	return field
}

// The defaults that the settings name are those of the library.
func TestDefaultsAreTheLibrarys(t *testing.T) {
	var c visions.Config
	for _, e := range engineSettings {
		if e.def != "" {
			if err := e.set(&c, e.def); err != nil {
				t.Errorf("-%s: %v", e.flag, err)
			}
		}
	}
	want := visions.Config{
		FastModel: visions.DefaultFastModel, HeavyModel: visions.DefaultHeavyModel, ModelTimeout: visions.DefaultModelTimeout,
		ModelCalls: visions.DefaultModelCalls, ModelQueue: visions.DefaultModelQueue,
		MaxResponseBytes: visions.DefaultMaxResponseBytes, MaxResponseText: visions.DefaultMaxResponseText,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("the defaults of the settings are\n%+v, those of the library\n%+v", c, want)
	}
}

func TestEveryFieldIsDocumented(t *testing.T) {
	tables := rows(t)
	for heading, config := range map[string]any{
		"Config": visions.Config{}, "ServerConfig": visions.ServerConfig{}, "HTTPConfig": visions.HTTPConfig{}, "UnixConfig": visions.UnixConfig{},
	} {
		listed := map[string]bool{}
		for _, row := range tables[heading] {
			for _, name := range names(row[0]) {
				listed[name] = true
			}
		}
		kind := reflect.TypeOf(config)
		for i := range kind.NumField() {
			if name := kind.Field(i).Name; !listed[name] {
				t.Errorf("docs/SETTINGS.md lacks %s.%s", heading, name)
			}
			delete(listed, kind.Field(i).Name)
		}
		for name := range listed {
			t.Errorf("docs/SETTINGS.md has %s.%s, which is no field", heading, name)
		}
	}
}

// Every flag of serve is in a table, and every flag of the tables is one of
// serve.
func TestEveryFlagOfServeIsDocumented(t *testing.T) {
	var help strings.Builder
	p := &program{out: &help, err: &help, env: func(string) string { return "" }}
	if code := p.run(context.Background(), []string{"serve", "-h"}); code != exitOK {
		t.Fatalf("serve -h exits with %d", code)
	}
	data, err := os.ReadFile("../../docs/SETTINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  (-[a-z-]+)`).FindAllStringSubmatch(help.String(), -1) {
		flags[m[1]] = true
		if !regexp.MustCompile("`" + m[1] + "[ `]").Match(data) {
			t.Errorf("docs/SETTINGS.md lacks %s", m[1])
		}
	}
	for heading, table := range rows(t) {
		for _, row := range table {
			for _, name := range names(row[1]) {
				if strings.HasPrefix(name, "-") && !flags[name] {
					t.Errorf("docs/SETTINGS.md has %s in %s, which serve does not know", name, heading)
				}
			}
		}
	}
}

func TestFlagThenEnvironmentThenFileThenDefault(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.env")
	lines := "# settings of the test\n\nexport VISION_MODEL_FAST = \"from-file\"\nVISION_MODEL_HEAVY='heavy file'\nOLLAMA_TIMEOUT_MS=1500\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args, env   []string
		fast, heavy string
		timeout     time.Duration
	}{
		"default":     {fast: "", heavy: ""}, // left to the library
		"file":        {args: []string{"-env", file}, fast: "from-file", heavy: "heavy file", timeout: 1500 * time.Millisecond},
		"environment": {args: []string{"-env", file}, env: []string{"VISION_MODEL_FAST", "from-env"}, fast: "from-env", heavy: "heavy file", timeout: 1500 * time.Millisecond},
		"flag":        {args: []string{"-env", file, "-fast-model", "from-flag"}, env: []string{"VISION_MODEL_FAST", "from-env"}, fast: "from-flag", heavy: "heavy file", timeout: 1500 * time.Millisecond},
		"empty flag":  {args: []string{"-fast-model", ""}, env: []string{"VISION_MODEL_FAST", "from-env"}, fast: ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &program{err: os.Stderr, env: func(name string) string {
				if len(c.env) == 2 && name == c.env[0] {
					return c.env[1]
				}
				return ""
			}}
			fs := flag.NewFlagSet("test", flag.ContinueOnError)
			settings := define(fs)
			if err := fs.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			got, _, err := p.config(fs, settings)
			if err != nil {
				t.Fatal(err)
			}
			if got.FastModel != c.fast || got.HeavyModel != c.heavy || got.ModelTimeout != c.timeout {
				t.Errorf("fast %q, heavy %q, timeout %s", got.FastModel, got.HeavyModel, got.ModelTimeout)
			}
		})
	}
}

// The same by the binary, where what is offered shows whose setting won.
func TestTheBinarysSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.env")
	if err := os.WriteFile(file, []byte("TOOLSET=model\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args, env []string
		has, not  string
	}{
		"default":     {nil, nil, "analyze_image", "nothing"},
		"file":        {[]string{"-env", file}, nil, "analyze_image", "preprocess_and_crop"},
		"environment": {[]string{"-env", file}, []string{"TOOLSET=image"}, "preprocess_and_crop", "analyze_image"},
		"flag":        {[]string{"-env", file, "-toolset", "model"}, []string{"TOOLSET=image"}, "analyze_image", "preprocess_and_crop"},
	} {
		t.Run(name, func(t *testing.T) {
			o := visionsWith(t, "", surroundings(t, c.env...), append([]string{"tools"}, c.args...)...)
			o.want(t, exitOK, c.has, "")
			o.want(t, exitOK, "check_vision_health", "")
			if strings.Contains("\n"+o.out, "\n"+c.not+" ") {
				t.Errorf("%s is offered", c.not)
			}
		})
	}
}

func TestEnvFileMistakesNameTheLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.env")
	if err := os.WriteFile(file, []byte("A=1\nno value\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	visionsWith(t, "", surroundings(t), "doctor", "-env", file).want(t, exitUsage, "", file+":2: want NAME=value")
}
