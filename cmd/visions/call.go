package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions"
	"github.com/visions-mcp/visions/tools"
)

// call runs one tool in this process, or in a daemon with -unix.
func (p *program) call(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("call", flag.ContinueOnError)
	dir := fs.String("o", "", "folder to save pictures in")
	daemon := fs.String("unix", "", `ask the daemon at this socket; "default" is the one of bridge`)
	settings := define(fs)
	rest, err := p.parse(fs, args, 1, 2)
	if err != nil {
		return err
	}
	tool := rest[0]
	raw, err := p.arguments(argument(rest, 1))
	if err != nil {
		return err
	}
	var answer *answer
	if *daemon != "" {
		answer, err = p.askDaemon(ctx, *daemon, tool, raw, *dir != "")
	} else {
		c, _, configErr := p.config(fs, settings)
		if configErr != nil {
			return configErr
		}
		answer, err = p.askEngine(ctx, c, tool, raw)
	}
	if err != nil {
		return err
	}
	saved, err := p.save(*dir, tool, answer)
	fmt.Fprintln(p.out, answer.text(saved))
	for _, path := range saved {
		fmt.Fprintln(p.err, "saved", path)
	}
	if *dir == "" && len(answer.files) > 0 {
		fmt.Fprintln(p.err, "the output file ended with this program; give -o DIR to keep it")
	}
	return err
}

// arguments reads a tool's arguments: JSON, @FILE, or - for standard input.
func (p *program) arguments(arg string) (json.RawMessage, error) {
	raw := []byte(arg)
	var err error
	switch {
	case arg == "":
		return json.RawMessage(`{}`), nil
	case arg == "-":
		raw, err = io.ReadAll(p.in)
	case arg[0] == '@':
		raw, err = os.ReadFile(arg[1:])
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid(raw) {
		return nil, usageError{fmt.Errorf("the arguments are not JSON: %.80s", raw)}
	}
	return raw, nil
}

// answer is a tool's answer wherever it ran.
type answer struct {
	json   []byte
	images []tools.ImageBlock
	files  map[string][]byte // full pictures by name
}

// outputPath is the member of an answer that names the saved file.
const outputPath = "output_file_path"

// text is the answer's JSON, naming the file that was saved where the answer
// names one that ends with the program.
func (a *answer) text(saved []string) string {
	var m map[string]any
	if len(a.files) != 1 || len(saved) != 1 || json.Unmarshal(a.json, &m) != nil {
		return string(a.json)
	}
	old, ok := m[outputPath].(string)
	if !ok {
		return string(a.json)
	}
	return strings.ReplaceAll(string(a.json), strconv.Quote(old), strconv.Quote(saved[0]))
}

func (p *program) askEngine(ctx context.Context, c visions.Config, tool string, raw json.RawMessage) (*answer, error) {
	eng, err := visions.New(c)
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	var args visions.Args
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, usageError{fmt.Errorf("the arguments are not a JSON object")}
	}
	if terminal(p.err) {
		ctx = tools.WithProgress(ctx, p.showProgress())
		defer fmt.Fprint(p.err, clearLine)
	}
	res, err := eng.Call(ctx, tool, args)
	if err != nil {
		return nil, p.toolError(err)
	}
	a := &answer{json: res.JSON, images: res.Images, files: map[string][]byte{}}
	for _, l := range res.Links {
		if a.files[l.Name], err = eng.ReadOutput(l.URI); err != nil {
			return nil, err
		}
	}
	return a, nil
}

const clearLine = "\r\x1b[K"

func (p *program) showProgress() tools.Progress {
	last := ""
	return func(phase string, _, _ float64) {
		if phase != last {
			last = phase
			fmt.Fprint(p.err, clearLine, phase, " ...")
		}
	}
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// toolError prints a tool's error as JSON and says it in words.
func (p *program) toolError(err error) error {
	var e *visions.Error
	if errors.As(err, &e) {
		raw, encodeErr := json.Marshal(e)
		if encodeErr == nil {
			fmt.Fprintln(p.err, string(raw))
		}
	}
	return err
}

// askDaemon runs a tool in the daemon at path; full gets the full pictures too,
// which the daemon keeps for a while.
func (p *program) askDaemon(ctx context.Context, path, tool string, raw json.RawMessage, full bool) (*answer, error) {
	conn, err := p.dial(ctx, path)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "visions-call", Version: visions.Version()}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the daemon: %w", err)
	}
	defer session.Close()
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: raw})
	if err != nil {
		return nil, fmt.Errorf("asking the daemon: %w", err)
	}
	a := &answer{files: map[string][]byte{}}
	for _, content := range res.Content {
		switch c := content.(type) {
		case *mcp.TextContent:
			a.json = []byte(c.Text)
		case *mcp.ImageContent:
			a.images = append(a.images, tools.ImageBlock{Data: c.Data, MIMEType: c.MIMEType})
		case *mcp.ResourceLink:
			if !full {
				continue
			}
			file, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: c.URI})
			if err != nil {
				return nil, fmt.Errorf("asking the daemon for %s: %w", c.URI, err)
			}
			for _, part := range file.Contents {
				a.files[c.Name] = part.Blob
			}
		}
	}
	if res.IsError {
		fmt.Fprintln(p.err, string(a.json))
		return nil, fmt.Errorf("%s failed", tool)
	}
	return a, nil
}

// save writes the pictures of an answer and returns their paths: the full files
// where they are at hand, else those that came in the answer. Files are never
// overwritten.
func (p *program) save(dir, tool string, a *answer) ([]string, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	named := map[string][]byte{}
	for name, data := range a.files {
		named[tool+"-"+name] = data
	}
	for i, image := range a.images {
		if len(a.files) == 0 {
			named[fmt.Sprintf("%s-%s-%d.%s", tool, time.Now().Format("20060102-150405.000"), i+1, strings.TrimPrefix(image.MIMEType, "image/"))] = image.Data
		}
	}
	var saved []string
	for _, name := range slices.Sorted(maps.Keys(named)) {
		path, err := filepath.Abs(filepath.Join(dir, name))
		if err == nil {
			err = write(path, named[name])
		}
		if err != nil {
			return saved, err
		}
		saved = append(saved, path)
	}
	return saved, nil
}

func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
