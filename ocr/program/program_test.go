package program_test

import (
	"errors"
	"image"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
)

// page is a blank page.
func page(w, h int) *image.Gray {
	g := image.NewGray(image.Rect(0, 0, w, h))
	for i := range g.Pix {
		g.Pix[i] = 255
	}
	return g
}

func TestThePlaceOfTheLanguageData(t *testing.T) {
	system, err := program.New(program.Config{}).Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if system.Engine != "program" || system.Version == "" || system.Version[0] < '0' || system.Version[0] > '9' {
		t.Errorf("%+v does not tell the engine and its version", system)
	}
	own := t.TempDir()
	if err := os.Symlink(filepath.Join(system.DataDir, "deu.traineddata"), filepath.Join(own, "own_name.traineddata")); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	if err := os.Symlink(own, filepath.Join(parent, "tessdata")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ configured, prefix, dir string }{
		"configured":             {own, "/nowhere", own},
		"prefix":                 {"", own, own},
		"folder above":           {"", parent, filepath.Join(parent, "tessdata")},
		"prefix leads nowhere":   {"", "/nowhere", system.DataDir},
		"prefix without a file":  {"", t.TempDir(), system.DataDir},
		"nothing in environment": {"", "", system.DataDir},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TESSDATA_PREFIX", c.prefix)
			e := program.New(program.Config{DataDir: c.configured})
			info, err := e.Info(t.Context())
			if err != nil || info.DataDir != c.dir {
				t.Fatalf("found %q (%v), want %q", info.DataDir, err, c.dir)
			}
			client, err := e.NewClient(t.Context(), info.Languages[:1])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := client.Read(t.Context(), page(60, 20), ocr.PageOptions{Segmentation: ocr.TextLine}); err != nil {
				t.Errorf("reading with the data of %s: %v", c.dir, err)
			}
		})
	}
	_, err = program.New(program.Config{DataDir: "/nowhere"}).Info(t.Context())
	if !errors.Is(err, ocr.ErrUnavailable) || !strings.Contains(err.Error(), "/nowhere") || !strings.Contains(err.Error(), "apt-get install tesseract-ocr-eng") {
		t.Errorf("a configured folder that is not there: %v", err)
	}
}

func TestALanguageThatIsNotThere(t *testing.T) {
	client, err := program.New(program.Config{}).NewClient(t.Context(), []string{"xyz"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Read(t.Context(), page(60, 20), ocr.PageOptions{Segmentation: ocr.Page}); !errors.Is(err, ocr.ErrEngine) || !strings.Contains(err.Error(), "xyz") {
		t.Errorf("%v, want ErrEngine with what the program said of xyz", err)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	_, err := program.New(program.Config{Path: "no-such-program"}).Info(t.Context())
	if !errors.Is(err, ocr.ErrUnavailable) || !strings.Contains(err.Error(), "no-such-program") || !strings.Contains(err.Error(), "apt-get install tesseract-ocr") {
		t.Errorf("%v", err)
	}
}
