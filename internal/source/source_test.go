package source

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
)

// picture is a 9x7 image that no other test image equals.
func picture() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 9, 7))
	for i := range m.Pix {
		m.Pix[i] = byte(i * 37)
		if i%4 == 3 {
			m.Pix[i] = 255
		}
	}
	return m
}

func pngOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func resolver(t *testing.T, c Config, roots ...string) *Resolver {
	t.Helper()
	var err error
	if c.Roots, err = guard.NewRoots(roots); err != nil {
		t.Fatal(err)
	}
	return New(c)
}

var anyPath = Options{AllowPaths: true}

// TestFormsOfOneImage gives the same picture in every form; each must come
// back with the same bytes.
func TestFormsOfOneImage(t *testing.T) {
	data := pngOf(t, picture())
	dir := t.TempDir()
	path := write(t, dir, "a b%.png", data)
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	files, err := store.Open(store.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	up, err1 := files.Put(store.Uploads, "png", data)
	down, err2 := files.Put(store.Downloads, "png", data)
	out, err3 := files.Put(store.Outputs, "png", data)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	std := base64.StdEncoding.EncodeToString(data)
	fileURL := (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
	lines := ""
	for i := 0; i < len(std); i += 76 {
		lines += std[i:min(i+76, len(std))] + "\r\n"
	}
	r := resolver(t, Config{Store: files})
	for name, arg := range map[string]any{
		"bytes":                     data,
		"data URI":                  "data:image/png;base64," + std,
		"data URI, loud":            " DATA:IMAGE/PNG;BASE64," + std + "\n",
		"data URI with parameters":  "data:image/png;name=x.png;charset=binary;base64," + std,
		"data URI without type":     "data:;base64," + std,
		"data URI, octets":          "data:application/octet-stream;base64," + std,
		"data URI, percent encoded": "data:image/png," + url.PathEscape(string(data)),
		"base64":                    std,
		"base64 without padding":    strings.TrimRight(std, "="),
		"base64 in lines":           lines,
		"base64url":                 base64.URLEncoding.EncodeToString(data),
		"path":                      path,
		"path with spaces around":   "  " + path + "\n",
		"file URI":                  fileURL,
		"file URI with host":        strings.Replace(fileURL, "file://", "file://localhost", 1),
		"home":                      "~/a b%.png",
		"upload":                    "upload://" + up.ID,
		"download":                  "download://" + down.ID,
		"uploaded, as a resource":   "visions://uploads/" + up.ID,
		"made by a tool":            "visions://outputs/" + out.ID,
	} {
		b, err := r.Fetch(t.Context(), arg, anyPath)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !bytes.Equal(b.Data, data) {
			t.Errorf("%s: other bytes came back", name)
		}
		if len(b.Warnings) > 0 {
			t.Errorf("%s: warnings %q", name, b.Warnings)
		}
		if len(b.Name) > maxName || strings.Contains(b.Name, std[:40]) {
			t.Errorf("%s: the name %q holds data", name, b.Name)
		}
	}
}

// TestBadForms checks that every bad argument has its error and that none of
// the messages repeats data.
func TestBadForms(t *testing.T) {
	dir := t.TempDir()
	outside := write(t, t.TempDir(), "secret.png", pngOf(t, picture()))
	write(t, dir, "big.png", make([]byte, 3000))
	if err := os.Symlink(outside, filepath.Join(dir, "link.png")); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	files, err := store.Open(store.Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	old, err := files.Put(store.Uploads, "png", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour)
	r := resolver(t, Config{Store: files, Limits: imaging.Limits{Bytes: 2000}, NoURLs: true}, dir)
	secret := strings.Repeat("QUJD", 1000)
	for name, c := range map[string]struct {
		arg  any
		want error
	}{
		"empty":                    {"", ErrInvalidArgument},
		"spaces":                   {" \n", ErrInvalidArgument},
		"a word":                   {"screenshot", ErrInvalidArgument},
		"a number":                 {7, ErrInvalidArgument},
		"an empty image":           {image.NewNRGBA(image.Rectangle{}), ErrInvalidArgument},
		"text in base64":           {base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("no image "), 20)), ErrInvalidArgument},
		"a data URI without comma": {"data:image/png;base64", ErrInvalidArgument},
		"a data URI, bad base64":   {"data:image/png;base64,????", ErrInvalidArgument},
		"a data URI too long":      {"data:image/png;base64," + secret, ErrTooLarge},
		"base64 too long":          {secret, ErrTooLarge},
		"bytes too long":           {make([]byte, 2001), ErrTooLarge},
		"a file too long":          {filepath.Join(dir, "big.png"), ErrTooLarge},
		"a missing file":           {filepath.Join(dir, "none.png"), ErrNotFound},
		"a folder":                 {dir, guard.ErrDenied},
		"a relative path":          {"./shot.png", ErrInvalidArgument},
		"a Windows path":           {`C:\Users\me\shot.png`, ErrNotFound},
		"a path outside":           {outside, guard.ErrDenied},
		"a symlink outside":        {filepath.Join(dir, "link.png"), guard.ErrDenied},
		"a walk outside":           {dir + "/../" + filepath.Base(filepath.Dir(outside)) + "/secret.png", guard.ErrDenied},
		"a path with NUL":          {dir + "/a\x00b", ErrInvalidArgument},
		"a file URI of a host":     {"file://example.com/a.png", ErrInvalidArgument},
		"an unknown scheme":        {"ftp://example.com/a.png", ErrInvalidArgument},
		"javascript":               {"javascript:alert(1)", ErrInvalidArgument},
		"a URL where none are":     {"https://example.com/a.png", ErrURLDenied},
		"an unknown reference":     {"upload://" + strings.Repeat("0", 32) + ".png", store.ErrNotFound},
		"an expired reference":     {"upload://" + old.ID, store.ErrExpired},
		"another kind's reference": {"download://../uploads/" + old.ID, store.ErrNotFound},
		"a resource that walks":    {"visions://outputs/../uploads/" + old.ID, store.ErrNotFound},
		"a kind that is none":      {"visions://secrets/" + old.ID, ErrInvalidArgument},
		"half a scheme":            {"upload:", store.ErrNotFound},
		"a reference that walks":   {"upload://../../etc/passwd", store.ErrNotFound},
	} {
		_, err := r.Fetch(t.Context(), c.arg, anyPath)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		} else if len(err.Error()) > 600 || strings.Contains(err.Error(), secret[:64]) {
			t.Errorf("%s: the message holds data: %.200s", name, err)
		}
	}
	if _, err := r.Fetch(t.Context(), filepath.Join(dir, "big.png"), Options{}); !errors.Is(err, ErrPathDenied) {
		t.Errorf("a path where none are served: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if _, err := r.Fetch(ctx, "x", anyPath); !errors.Is(err, errStop) {
		t.Errorf("a context that has ended: %v", err)
	}
}

var errStop = errors.New("stop")

// TestAFileWinsOverBase64 uses a name that is base64 and an image too.
func TestAFileWinsOverBase64(t *testing.T) {
	dir := t.TempDir()
	text := base64.StdEncoding.EncodeToString(jpegOf(t, picture())) // begins with /9j/
	if !strings.HasPrefix(text, "/9j/") {
		t.Fatal("the base64 of a JPEG does not start with a slash")
	}
	r := resolver(t, Config{})
	b, err := r.Fetch(t.Context(), text, anyPath)
	if err != nil || imaging.Sniff(b.Data) != "jpeg" {
		t.Fatalf("base64 of a JPEG was taken for a path: %v", err)
	}
	name := filepath.Join(dir, "QUJD"+strings.Repeat("QUJD", 20))
	data := pngOf(t, picture())
	write(t, dir, filepath.Base(name), data)
	if b, err = r.Fetch(t.Context(), name, anyPath); err != nil || !bytes.Equal(b.Data, data) {
		t.Errorf("a file whose path is base64: %v", err)
	}
}

// TestBytesWinOverTheDeclaredType checks the warnings about a wrong type.
func TestBytesWinOverTheDeclaredType(t *testing.T) {
	dir := t.TempDir()
	jpg := jpegOf(t, picture())
	r := resolver(t, Config{})
	std := base64.StdEncoding.EncodeToString(jpg)
	for arg, warned := range map[string]bool{
		"data:image/png;base64," + std:       true,
		"data:image/jpeg;base64," + std:      false,
		"data:image/jpg;base64," + std:       false,
		write(t, dir, "named.png", jpg):      true,
		write(t, dir, "named.JPG", jpg):      false,
		write(t, dir, "named.whatever", jpg): false,
	} {
		b, err := r.Fetch(t.Context(), arg, anyPath)
		if err != nil || warned != (len(b.Warnings) == 1 && strings.Contains(b.Warnings[0], "image/jpeg")) {
			t.Errorf("%.40s: %v, warnings %q", arg, err, b.Warnings)
		}
	}
}

func TestDecodeTellsWhatWasLeftOut(t *testing.T) {
	frames := &gif.GIF{}
	for range 3 {
		frames.Image = append(frames.Image, image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{color.Black, color.White}))
		frames.Delay = append(frames.Delay, 1)
	}
	var animation bytes.Buffer
	if err := gif.EncodeAll(&animation, frames); err != nil {
		t.Fatal(err)
	}
	r := resolver(t, Config{})
	mine := imaging.FromImage(picture())
	pictures := decode(t, r, animation.Bytes(), mine, picture())
	if w := pictures[0].Warnings; len(w) != 1 || !strings.Contains(w[0], "3 frames") {
		t.Errorf("an animation: warnings %q", w)
	}
	for i, p := range pictures[1:] {
		if !bytes.Equal(p.Pix, picture().Pix) {
			t.Errorf("image.Image %d came back with other pixels", i)
		}
		imaging.Invert(p.Image)
	}
	if !bytes.Equal(mine.Pix, picture().Pix) {
		t.Error("a filter changed the caller's own picture")
	}
}

func decode(t *testing.T, r *Resolver, args ...any) []*Picture {
	t.Helper()
	var blobs []*Blob
	for _, a := range args {
		b, err := r.Fetch(t.Context(), a, anyPath)
		if err != nil {
			t.Fatal(err)
		}
		blobs = append(blobs, b)
	}
	release, err := r.Reserve(t.Context(), blobs)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	pictures, err := r.Decode(t.Context(), blobs)
	if err != nil {
		t.Fatal(err)
	}
	return pictures
}

// TestReserveTakesMemoryOnceForAllImages checks that two calls with two images
// each cannot hold half of what the other waits for.
func TestReserveTakesMemoryOnceForAllImages(t *testing.T) {
	data := pngOf(t, picture())
	info, err := imaging.Probe(data, imaging.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	r := resolver(t, Config{Memory: 3 * info.DecodeCost()}) // room for three of four images
	blobs := func(n int) (list []*Blob) {
		for range n {
			list = append(list, &Blob{Data: data, Name: "a"})
		}
		return list
	}
	first, err := r.Reserve(t.Context(), blobs(2))
	if err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() {
		release, err := r.Reserve(t.Context(), blobs(2))
		if err == nil {
			release()
		}
		second <- err
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if _, err := r.Reserve(ctx, blobs(2)); !errors.Is(err, errStop) {
		t.Errorf("waiting with a context that has ended: %v", err)
	}
	first()
	first() // once more does nothing
	if err := <-second; err != nil {
		t.Errorf("the second call: %v", err)
	}
	if !r.memory.TryAcquire(3 * info.DecodeCost()) {
		t.Error("memory was not given back")
	}
	if _, err := r.Reserve(t.Context(), blobs(4)); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "limit") {
		t.Errorf("more than the whole memory: %v", err)
	}
}
