// Package program reads text by the tesseract program, one process a page, over
// pipes: no temporary files, nothing loaded into the host, and a process that
// can be killed with all that it started. It writes nothing to the host's
// standard streams. OMP_THREAD_LIMIT=1 is set for the program alone.
package program

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/visions-mcp/visions/ocr"
)

// Config of the engine. The zero value works.
type Config struct {
	Path    string // the program; "" is tesseract in PATH
	DataDir string // language data; "" is found, see [ocr.FindData]
}

// New returns the engine. It looks for nothing yet.
func New(c Config) ocr.Engine { return &engine{c: c, lock: make(chan struct{}, 1)} }

type engine struct {
	c Config

	lock chan struct{} // holds a token while info is looked for: waiting for it ends with a context
	info *ocr.Info     // found once; not being there is asked again
	path string
}

// versionDelay is what the program gets to tell its version.
const versionDelay = 10 * time.Second

// killDelay is what a killed program gets to close its pipes.
const killDelay = 2 * time.Second

// maxOutput bounds what the program may answer for a page, in bytes; a dense
// page of 16 Mpx has under 1 MB.
const maxOutput = 32 << 20

// maxTrouble is how much of what the program says on its standard error goes
// into an error, in bytes.
const maxTrouble = 1 << 10

// Info implements [ocr.Engine].
func (e *engine) Info(ctx context.Context) (ocr.Info, error) {
	select {
	case e.lock <- struct{}{}:
		defer func() { <-e.lock }()
	case <-ctx.Done():
		return ocr.Info{}, context.Cause(ctx)
	}
	if e.info != nil {
		return *e.info, nil
	}
	name := e.c.Path
	if name == "" {
		name = "tesseract"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ocr.Info{}, fmt.Errorf("%w: the program %s was not found; install it (apt-get install tesseract-ocr)", ocr.ErrUnavailable, name)
	}
	dir, languages, err := ocr.FindData(e.c.DataDir)
	if err != nil {
		return ocr.Info{}, err
	}
	short, cancel := context.WithTimeoutCause(ctx, versionDelay, fmt.Errorf("no answer within %s", versionDelay))
	defer cancel()
	out, err := run(short, path, nil, "--version")
	if cause := context.Cause(ctx); cause != nil {
		return ocr.Info{}, cause
	}
	if err != nil {
		return ocr.Info{}, fmt.Errorf("%w: %s --version: %w", ocr.ErrUnavailable, path, err)
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	e.info = &ocr.Info{Engine: "program", Version: strings.TrimPrefix(strings.TrimSpace(version), "tesseract "), DataDir: dir, Languages: languages}
	e.path = path
	return *e.info, nil
}

// NewClient implements [ocr.Engine].
func (e *engine) NewClient(ctx context.Context, languages []string) (ocr.Client, error) {
	info, err := e.Info(ctx)
	if err != nil {
		return nil, err
	}
	return &client{path: e.path, args: []string{"stdin", "stdout", "--tessdata-dir", info.DataDir, "--dpi", strconv.Itoa(ocr.Resolution), "--oem", "1", "-l", ocr.LanguageArgument(languages)}}, nil
}

type client struct {
	path string
	args []string
}

// Close implements [ocr.Client].
func (c *client) Close() error { return nil }

// Read implements [ocr.Client].
func (c *client) Read(ctx context.Context, page *image.Gray, o ocr.PageOptions) ([]ocr.Word, error) {
	args := append(c.args[:len(c.args):len(c.args)], "--psm", strconv.Itoa(int(o.Segmentation)))
	if o.Whitelist != "" {
		args = append(args, "-c", "tessedit_char_whitelist="+o.Whitelist)
	}
	out, err := run(ctx, c.path, pgm(page), append(args, "tsv")...)
	if err != nil {
		return nil, err
	}
	return ocr.ParseTSV(string(out))
}

// pgm encodes a page as a binary PGM, which leptonica reads without a codec.
func pgm(page *image.Gray) []byte {
	b := page.Bounds()
	out := fmt.Appendf(make([]byte, 0, b.Dx()*b.Dy()+32), "P5\n%d %d\n255\n", b.Dx(), b.Dy())
	for y := b.Min.Y; y < b.Max.Y; y++ {
		i := page.PixOffset(b.Min.X, y)
		out = append(out, page.Pix[i:i+b.Dx()]...)
	}
	return out
}

// bounded keeps the first max bytes. The buffer is no embedded field: its
// ReadFrom would be copied with, past the bound.
type bounded struct {
	kept bytes.Buffer
	max  int
	stop bool // ends the program by a broken pipe when there is more; else the rest is dropped
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.kept.Len(); len(p) > room {
		b.over = true
		b.kept.Write(p[:room])
		if b.stop {
			return room, io.ErrShortWrite
		}
		return len(p), nil
	}
	return b.kept.Write(p)
}

// run runs the program on one core: with more, its threads wait for each other
// by spinning.
func run(ctx context.Context, path string, in []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	ownGroup(cmd)
	cmd.WaitDelay = killDelay
	cmd.Stdin = bytes.NewReader(in)
	out, trouble := &bounded{max: maxOutput, stop: true}, &bounded{max: maxTrouble}
	cmd.Stdout, cmd.Stderr = out, trouble
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if out.over {
		return nil, fmt.Errorf("%w: %s answered more than %d bytes, which no page holds", ocr.ErrEngine, path, maxOutput)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: %s", ocr.ErrEngine, path, err, strings.TrimSpace(trouble.kept.String()))
	}
	return out.kept.Bytes(), nil
}
