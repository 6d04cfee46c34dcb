// Package program reads text by the tesseract program, one process a page, over
// pipes: no temporary files, nothing loaded into the host, and a process that
// can be killed. It writes nothing to the host's standard streams.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/visions-mcp/visions/ocr"
)

// Config of the engine. The zero value works.
type Config struct {
	Path    string // the program; "" is tesseract in PATH
	DataDir string // language data; "" is found, see [ocr.FindData]
}

// New returns the engine. It looks for nothing yet.
func New(c Config) ocr.Engine { return &engine{c: c} }

type engine struct {
	c Config

	mu   sync.Mutex
	info *ocr.Info // found once; not being there is asked again
	path string
}

// killDelay is what a killed program gets to close its pipes.
const killDelay = 2 * time.Second

// maxOutput bounds what the program may answer for a page, in bytes; a dense
// page of 16 Mpx has under 1 MB.
const maxOutput = 32 << 20

// Info implements [ocr.Engine].
func (e *engine) Info(ctx context.Context) (ocr.Info, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
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
	out, err := run(ctx, path, nil, "--version")
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

// bounded keeps the first max bytes.
type bounded struct {
	bytes.Buffer
	max int
}

var errTooMuch = errors.New("it answered more than a page can hold")

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.max {
		return 0, errTooMuch
	}
	return b.Buffer.Write(p)
}

// run runs the program on one core: with more, its threads wait for each other
// by spinning.
func run(ctx context.Context, path string, in []byte, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	cmd.WaitDelay = killDelay
	cmd.Stdin = bytes.NewReader(in)
	out, trouble := &bounded{max: maxOutput}, &bounded{max: 64 << 10}
	cmd.Stdout, cmd.Stderr = out, trouble
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: %s", ocr.ErrEngine, path, err, strings.TrimSpace(trouble.String()))
	}
	return out.Bytes(), nil
}
