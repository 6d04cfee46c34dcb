package ocr

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// dataDirs are where systems keep Tesseract's language data.
var dataDirs = []string{
	"/usr/share/tesseract-ocr/5/tessdata", "/usr/share/tesseract-ocr/4.00/tessdata", "/usr/share/tessdata",
	"/usr/local/share/tessdata", "/opt/homebrew/share/tessdata", "/opt/local/share/tessdata",
	`C:\Program Files\Tesseract-OCR\tessdata`,
}

// FindData returns the folder with the language data and the languages in it:
// dir when that is given, otherwise the environment's TESSDATA_PREFIX, else
// where systems keep it. Tesseract itself would fail at a prefix that leads
// nowhere; here the next place is tried.
//
// # Errors
//
// [ErrUnavailable] when there is no data, naming what to install.
func FindData(dir string) (string, []string, error) {
	tried := dataDirs
	if dir != "" {
		tried = []string{dir}
	} else if prefix := os.Getenv("TESSDATA_PREFIX"); prefix != "" {
		tried = append([]string{prefix, filepath.Join(prefix, "tessdata")}, dataDirs...)
	}
	for _, d := range tried {
		if languages := languagesIn(d); len(languages) > 0 {
			return d, languages, nil
		}
	}
	return "", nil, fmt.Errorf("%w: no language data (*.traineddata) in %s; install it (apt-get install tesseract-ocr-eng)", ErrUnavailable, strings.Join(tried, ", "))
}

// languagesIn lists the codes of a folder, with those of its script folder.
func languagesIn(dir string) []string {
	var list []string
	for _, pattern := range []string{"*.traineddata", "script/*.traineddata"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			continue // the folder's name is a malformed pattern
		}
		for _, f := range files {
			rel, err := filepath.Rel(dir, f)
			if err != nil {
				continue
			}
			list = append(list, strings.TrimSuffix(filepath.ToSlash(rel), ".traineddata"))
		}
	}
	slices.Sort(list)
	return list
}

// languageCode is what a code looks like. Codes become file names: nothing that
// leads elsewhere passes.
var languageCode = regexp.MustCompile(`^[A-Za-z0-9_]{2,32}(/[A-Za-z0-9_]{2,32})?$`)

// maxLanguages is how many languages one picture may be read in.
const maxLanguages = 8

// CheckLanguages returns the codes to use, "eng" for none. A code may be several
// joined by "+".
//
// # Errors
//
// [ErrLanguage] for a malformed code, too many, or one that is not among
// installed; Tesseract itself would go on without it.
func CheckLanguages(wanted, installed []string) ([]string, error) {
	var list []string
	for _, w := range wanted {
		for _, code := range strings.Split(w, "+") {
			if code = strings.TrimSpace(code); code != "" && !slices.Contains(list, code) {
				list = append(list, code)
			}
		}
	}
	if len(list) == 0 {
		list = []string{"eng"}
	}
	if len(list) > maxLanguages {
		return nil, fmt.Errorf("%w: %d languages were asked for (limit %d)", ErrLanguage, len(list), maxLanguages)
	}
	for _, code := range list {
		if !languageCode.MatchString(code) {
			return nil, fmt.Errorf("%w: %.40q is no language code; codes look like eng, deu, chi_sim", ErrLanguage, code)
		}
		if !slices.Contains(installed, code) {
			return nil, fmt.Errorf("%w: %s is not installed (installed: %s); apt-get install tesseract-ocr-%s", ErrLanguage, code, strings.Join(installed, ", "), strings.ReplaceAll(code, "_", "-"))
		}
	}
	return list, nil
}
