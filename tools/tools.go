// Package tools holds the vision tools: one file a tool with its schemas, its
// arguments and its handler, and beside them what all share: the registry that
// checks arguments and shapes answers, error codes, and provenance. It knows no
// protocol: transports and hosts call [Registry.Call].
package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Handler answers one call. The error may be of any kind; [AsError] gives it a
// code.
type Handler func(ctx context.Context, c *Call) (*Result, error)

// Tool is one tool as clients see it, and the function that answers.
type Tool struct {
	Name        string // letters, digits, underscore; at most 64
	Title       string
	Description string
	Group       string          // toolset the tool belongs to: "measure", "ocr", "model", "image", ...
	Input       json.RawMessage // JSON Schema of the arguments, type object
	Output      json.RawMessage // JSON Schema of structuredContent, nil for none
	Writes      bool            // leaves something behind that outlives the call, or downloads: not listed when read-only
	OpenWorld   bool            // reaches beyond this machine
	Listed      bool            // listed whatever toolset is chosen
	ErrorObject bool            // its errors are structuredContent too; see [Error.Object]
	Handle      Handler
}

// Builtin returns the tools of this package in the order they are listed.
func Builtin() []Tool {
	return []Tool{checkVisionHealth, analyzeImage, fastOCRTesseract, measureImage, visualDiff, preprocessAndCrop, downloadImage, chatCompletion,
		extractSemanticPage,
		visionJobStart, visionJobStatus, visionJobResult, visionStatus, visionJobCancel,
	}
}

// Groups names the toolsets that [NewRegistry] knows beside tools' own names.
func Groups(list []Tool) []string {
	var groups []string
	for _, t := range list {
		if t.Group != "" && !slices.Contains(groups, t.Group) {
			groups = append(groups, t.Group)
		}
	}
	return groups
}

// Registry is the set of tools a server offers, ready to be called. It is safe
// for concurrent use.
type Registry struct {
	env   *Env
	tools []*compiledTool
}

type compiledTool struct {
	Tool
	input       map[string]any // the input schema, parsed
	inputSchema *jsonschema.Schema
	images      map[string]bool // members that are image arguments
	imageLists  map[string]bool // those of them that are lists
}

// Selection says which tools a registry offers.
type Selection struct {
	Toolset  []string // groups or names; nil offers all
	ReadOnly bool     // leaves out tools that write or download
	Plain    bool     // leaves the marks x-mcp-file out of the schemas that clients see
}

// NewRegistry compiles the schemas of the tools that are selected.
//
// # Errors
//
// A duplicate or malformed name, a schema that does not compile, or a toolset
// entry that names no tool and no group.
func NewRegistry(env *Env, list []Tool, sel Selection) (*Registry, error) {
	r := &Registry{env: env}
	known := Groups(list)
	for _, t := range list {
		known = append(known, t.Name)
	}
	for _, want := range sel.Toolset {
		if !slices.Contains(known, want) {
			return nil, fmt.Errorf("toolset %q: no such group or tool (known: %s)", want, strings.Join(known, ", "))
		}
	}
	seen := map[string]bool{}
	for _, t := range list {
		if seen[t.Name] {
			return nil, fmt.Errorf("tool %q is given twice", t.Name)
		}
		seen[t.Name] = true
		chosen := sel.Toolset == nil || t.Listed || slices.Contains(sel.Toolset, t.Name) || slices.Contains(sel.Toolset, t.Group)
		if !chosen || sel.ReadOnly && t.Writes {
			continue
		}
		c, err := compile(t)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", t.Name, err)
		}
		if sel.Plain { // compile has read the marks
			c.Input = withoutFileMarks(bytes.TrimSpace(c.Input))
		}
		r.tools = append(r.tools, c)
	}
	return r, nil
}

// maxToolName leaves room for the prefix that clients put before a tool's name
// within the 64 characters some of them allow.
const maxToolName = 48

func compile(t Tool) (*compiledTool, error) {
	if t.Name == "" || len(t.Name) > maxToolName || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return nil, fmt.Errorf("the name must be 1 to %d of letters, digits, _ and -", maxToolName)
	}
	if t.Handle == nil {
		return nil, fmt.Errorf("it has no handler")
	}
	schema, parsed, err := compileSchema(t.Input)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if t.Output != nil {
		if _, _, err := compileSchema(t.Output); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	c := &compiledTool{Tool: t, input: parsed, inputSchema: schema, images: map[string]bool{}, imageLists: map[string]bool{}}
	properties, _ := parsed["properties"].(map[string]any)
	for name, p := range properties {
		p, _ := p.(map[string]any)
		items, _ := p["items"].(map[string]any)
		c.imageLists[name] = items["x-mcp-file"] == true
		c.images[name] = p["x-mcp-file"] == true || c.imageLists[name]
	}
	return c, nil
}

// noLoader refuses every reference to another document: schemas never read
// files or the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

func compileSchema(raw json.RawMessage) (*jsonschema.Schema, map[string]any, error) {
	v, err := decodeValue(raw)
	if err != nil {
		return nil, nil, err
	}
	m, ok := v.(map[string]any)
	if !ok || m["type"] != "object" {
		return nil, nil, fmt.Errorf(`its type must be "object"`)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("schema.json", m); err != nil {
		return nil, nil, err
	}
	s, err := c.Compile("schema.json")
	return s, m, err
}

// Tools returns the offered tools in a fixed order.
func (r *Registry) Tools() []Tool {
	list := make([]Tool, len(r.tools))
	for i, t := range r.tools {
		list[i] = t.Tool
	}
	return list
}

// Canonical returns the name a tool is listed by: dots become underscores, so
// that visions.analyze finds visions_analyze.
func Canonical(name string) string { return strings.ReplaceAll(name, ".", "_") }

func (r *Registry) find(name string) (*compiledTool, error) {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		if t.Name == name || t.Name == Canonical(name) {
			return t, nil
		}
		names[i] = t.Name
	}
	e := Errorf(UnknownTool, "there is no tool %q", name)
	if near := nearest(name, names); near != "" {
		e.Message += fmt.Sprintf(": did you mean %q?", near)
	}
	return nil, e.Suggest("tools here: " + strings.Join(names, ", "))
}

// Call checks the arguments, runs the tool and shapes its answer. args is raw
// JSON, nil, or a map[string]any whose image arguments may also be []byte
// (an encoded image) or image.Image. A panic of the tool becomes an error of
// code INTERNAL; its stack goes to the log.
func (r *Registry) Call(ctx context.Context, name string, args any) (res *Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.env.Logger.Error("tool panicked", "tool", name, "panic", p, "stack", string(debug.Stack()))
			res, err = nil, Errorf(Internal, "%s failed inside; the server's log says where", name).Suggest("report this with the input that caused it; the server goes on")
		}
	}()
	t, err := r.find(name)
	if err != nil {
		return nil, err
	}
	if t.ErrorObject {
		defer func() {
			if err != nil {
				e := *AsError(err)
				e.Structured = true
				err = &e
			}
		}()
	}
	a, err := t.parseArguments(args)
	if err == nil {
		err = t.check(a)
	}
	if err != nil {
		return nil, invalid(t.Name, err)
	}
	c := &Call{Env: r.env, Tool: t.Name, args: a}
	defer c.close()
	res, err = t.Handle(ctx, c)
	if err != nil {
		return nil, AsError(contextFirst(ctx, err))
	}
	if err := r.env.finish(ctx, res); err != nil {
		return nil, AsError(err)
	}
	return res, nil
}

// contextFirst prefers the cause of an ended context to what an inner part made
// of it, but keeps a model's error, which says more.
func contextFirst(ctx context.Context, err error) error {
	if e := AsError(err); e.Code == Internal && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func invalid(tool string, err error) error {
	e, ok := err.(*Error)
	if !ok {
		e = &Error{Code: InvalidArgument, Message: err.Error(), Err: err}
	}
	e.Message = tool + ": " + e.Message
	return e
}

// Call is one call as its handler sees it.
type Call struct {
	*Env
	Tool     string
	args     *arguments
	closers  []io.Closer
	noted    []ImageProvenance
	warnings []string
}

// Bind fills dst, a pointer to a struct with json tags, from the arguments that
// are not images.
func (c *Call) Bind(dst any) error { return c.args.bind(dst) }

// closerFunc lets a release function be kept with the other closers.
type closerFunc func()

func (f closerFunc) Close() error { f(); return nil }

// close gives back what the call holds.
func (c *Call) close() {
	for _, cl := range slices.Backward(c.closers) {
		cl.Close()
	}
}
