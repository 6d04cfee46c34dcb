// Package visions gives a Go program an MCP (Model Context Protocol) vision
// server.
//
// A host builds one [Engine], wraps it in a [Server] handle and attaches
// transports to the handle, each on its own:
//
//	eng, err := visions.New(visions.Config{})
//	srv, err := visions.Init(eng, visions.ServerConfig{Name: "my-host", Version: "1.0"})
//	http := visions.HTTPConfig{}          // a free port, written back
//	err = srv.StartHTTP(ctx, &http)       // http://127.0.0.1:PORT/mcp
//	err = srv.StartUnix(ctx, &visions.UnixConfig{Path: "/run/user/1000/visions.sock"})
//	defer eng.Close()                     // closes its servers too
//
// The same tools are there for the host itself, without a transport:
//
//	res, err := eng.Call(ctx, "preprocess_and_crop", visions.Args{"image_source": img, "grayscale": true})
//
// What limits a call, from outside in:
//
//  1. The server's queue holds at most [ServerConfig.QueueDepth] calls; one more
//     is refused at once with the code QUEUE_FULL.
//  2. Pixel work runs on as many places as the machine has processors, given
//     out round robin over clients.
//  3. Models answer [Config.ModelCalls] questions at a time over the whole
//     Engine. Waiting for a model holds no place that pixel work needs.
//
// The library installs no signal handlers, writes to no standard stream, never
// exits, and changes no process-wide setting. It logs to [Config.Logger], and
// nowhere by default.
package visions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/job"
	"github.com/visions-mcp/visions/internal/mcpserver"
	"github.com/visions-mcp/visions/internal/source"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/model"
	"github.com/visions-mcp/visions/ocr"
	"github.com/visions-mcp/visions/ocr/program"
	"github.com/visions-mcp/visions/tools"
)

// Errors to test with [errors.Is].
var (
	// ErrNotBuilt says that a build tag left a transport out. It is also
	// [errors.ErrUnsupported].
	ErrNotBuilt = fmt.Errorf("visions: the transport is not built in: %w", errors.ErrUnsupported)
	// ErrUnavailable says that this platform cannot do it.
	ErrUnavailable = errors.New("visions: not available on this platform")
	// ErrInvalid says that an argument or setting makes no sense.
	ErrInvalid = errors.New("visions: invalid")
	// ErrBusy says that the transport already runs on this handle.
	ErrBusy = errors.New("visions: the transport already runs on this handle")
	// ErrAddrInUse says that somebody serves the port or path. It is also
	// [syscall.EADDRINUSE].
	ErrAddrInUse = fmt.Errorf("visions: in use: %w", syscall.EADDRINUSE)
	// ErrQueueFull says that a call was refused because the queue is full.
	ErrQueueFull = errors.New("visions: the queue is full")
	// ErrClosed says that the handle or its Engine has been closed.
	ErrClosed = errors.New("visions: closed")
)

// Defaults of [Config].
const (
	DefaultFastModel        = "llava:13b"
	DefaultHeavyModel       = "qwen3-vl:30b"
	DefaultModelTimeout     = 180 * time.Second
	DefaultModelCalls       = 1
	DefaultModelQueue       = 20
	DefaultMaxResponseBytes = 1_000_000
	DefaultMaxResponseText  = 12_000
)

// Config makes an [Engine]. The zero value works. It is read once, by [New].
type Config struct {
	// Models are the model servers by name; the entry "" is the default, and
	// "name/model" in a tool's argument asks another. nil is Ollama at the
	// address in OLLAMA_HOST, or at 127.0.0.1:11434.
	Models map[string]model.Model
	// FastModel answers analyze_image, HeavyModel the tools that need more;
	// empty are llava:13b and qwen3-vl:30b.
	FastModel, HeavyModel string
	// ModelTimeout bounds one answer of a model, not counting the wait for its
	// turn; 0 is 180 s.
	ModelTimeout time.Duration
	// KeepAlive is how long a model stays loaded after an answer: "5m", "300",
	// "0", "-1"; empty leaves it to the model server.
	KeepAlive string
	// ModelCalls is how many questions may be with the models at once, over the
	// whole Engine; 0 is 1. ModelQueue is how many may wait; 0 is 20.
	ModelCalls, ModelQueue int

	// OCR reads text; nil is the tesseract program (package ocr/program), if there
	// is one. Packages ocr/dlopen and ocr/gosseract are other engines, and
	// [ocr.First] takes the first that works.
	OCR ocr.Engine

	// Tools are the host's own, listed after the built-in ones.
	Tools []tools.Tool
	// Toolset names the groups or tools to offer; nil offers all.
	Toolset []string
	// ReadOnly leaves out tools that write files or download, and refuses URLs
	// as images.
	ReadOnly bool

	// PlainSchemas leaves out of tools' schemas the mark x-mcp-file, by which some
	// clients offer a file picker and which strict ones refuse.
	PlainSchemas bool

	// ImageRoots are the folders that image paths are confined to; nil allows
	// any path.
	ImageRoots []string
	// AllowPrivateURLs lets URL arguments reach addresses that are not of the
	// public Internet: loopback, intranets, metadata services of clouds.
	AllowPrivateURLs bool
	// Dir holds uploads, downloads and output files; empty is a private folder that Close removes.
	Dir string
	// JobDir keeps vision jobs over the end of the process: a private folder of
	// one server at a time. Empty keeps them in memory only. docs/JOBS.md tells
	// what is kept.
	JobDir string

	// MaxResponseBytes bounds an answer with its pictures; 0 is 1,000,000.
	MaxResponseBytes int
	// MaxResponseText bounds the JSON of an answer, in bytes; 0 is 12,000.
	MaxResponseText int
	// OmitImages leaves pictures out of answers; files are written all the same.
	OmitImages bool

	// Logger gets what the library has to say; nil discards it.
	Logger *slog.Logger
	// OnCall is asked before each call and told after it; see [OnCall].
	OnCall OnCall
}

// Args are a call's arguments by name. Image arguments may be string forms,
// []byte (an encoded image) or [image.Image].
type Args map[string]any

// Result is a tool's answer: its JSON, the pictures, and links to the full ones.
type Result = tools.Result

// Error is how a tool fails; find it with [errors.As].
type Error = tools.Error

// Engine holds what all servers of a process share: models, image sources, the
// output store and the gates. It is safe for concurrent use.
type Engine struct {
	env      *tools.Env
	registry *tools.Registry
	log      *slog.Logger
	onCall   OnCall
	confined bool // image paths are confined to ImageRoots

	mu      sync.Mutex
	servers map[*Server]struct{}
	closed  bool
}

// New makes an Engine. It starts nothing and connects to nothing, but for the
// jobs that an earlier process left in [Config.JobDir].
//
// # Errors
//
// [ErrInvalid] for a setting that makes no sense, and what the folders answer.
func New(c Config) (*Engine, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if _, _, err := model.ParseKeepAlive(c.KeepAlive); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for name, v := range map[string]int{"ModelCalls": c.ModelCalls, "ModelQueue": c.ModelQueue, "MaxResponseBytes": c.MaxResponseBytes, "MaxResponseText": c.MaxResponseText, "ModelTimeout": int(c.ModelTimeout)} {
		if v < 0 {
			return nil, fmt.Errorf("%w: %s is negative", ErrInvalid, name)
		}
	}
	orInt(&c.ModelCalls, DefaultModelCalls)
	orInt(&c.ModelQueue, DefaultModelQueue)
	orInt(&c.MaxResponseBytes, DefaultMaxResponseBytes)
	orInt(&c.MaxResponseText, DefaultMaxResponseText)
	if least := 4 * c.MaxResponseText; c.MaxResponseBytes < least {
		return nil, fmt.Errorf("%w: MaxResponseBytes is %d, less than four times MaxResponseText (%d)", ErrInvalid, c.MaxResponseBytes, least)
	}
	if c.Models == nil {
		ollama, err := model.NewOllama(model.OllamaConfig{URL: model.OllamaHostFromEnvironment(), Logger: c.Logger})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
		c.Models = map[string]model.Model{"": ollama}
	}
	if c.OCR == nil {
		c.OCR = program.New(program.Config{})
	}
	roots, err := guard.NewRoots(c.ImageRoots)
	if err != nil {
		return nil, fmt.Errorf("%w: ImageRoots: %w", ErrInvalid, err)
	}
	files, err := store.Open(store.Config{Dir: c.Dir})
	if err != nil {
		return nil, fmt.Errorf("visions: %w", err)
	}
	e, err := build(c, roots, files)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: %w", ErrInvalid, err), files.Close())
	}
	return e, nil
}

func build(c Config, roots *guard.Roots, files *store.Store) (*Engine, error) {
	roots, err := roots.With(files.Dir()) // our own folders are always readable
	if err != nil {
		return nil, err
	}
	e := &Engine{log: c.Logger, onCall: c.OnCall, confined: len(c.ImageRoots) > 0, servers: map[*Server]struct{}{}}
	e.env = &tools.Env{
		Sources: source.New(source.Config{Roots: roots, Store: files, NoURLs: c.ReadOnly, PrivateURLs: c.AllowPrivateURLs}), Store: files,
		CPU:    admission.NewGate("gate for pixel work", runtime.GOMAXPROCS(0), 0),
		ModelQ: admission.NewGate("queue before the model", c.ModelCalls, c.ModelQueue),
		OCR:    ocr.New(ocr.Config{Engine: c.OCR}),
		Models: c.Models, FastModel: orText(c.FastModel, DefaultFastModel), HeavyModel: orText(c.HeavyModel, DefaultHeavyModel),
		ModelTimeout: c.ModelTimeout, KeepAlive: c.KeepAlive,
		MaxResponseBytes: c.MaxResponseBytes, MaxResponseText: c.MaxResponseText, Images: !c.OmitImages,
		Version: Version(), Started: time.Now(), Logger: c.Logger,
	}
	if e.env.ModelTimeout == 0 {
		e.env.ModelTimeout = DefaultModelTimeout
	}
	list := append(tools.Builtin(), c.Tools...)
	e.registry, err = tools.NewRegistry(e.env, list, tools.Selection{Toolset: c.Toolset, ReadOnly: c.ReadOnly, Plain: c.PlainSchemas})
	if err != nil {
		return nil, err
	}
	e.env.Jobs, err = job.New(job.Config{
		Run: e.env.RunJob, Dir: c.JobDir, Logger: c.Logger,
		Workers: c.ModelCalls + 1, // one more than the models take fetches and decodes meanwhile
	})
	return e, err
}

func orInt(v *int, def int) {
	if *v == 0 {
		*v = def
	}
}

func orText(s, def string) string {
	if s == "" {
		return def
	}
	return s
}

// Version is the library's version as the build knows it, "devel" when it does
// not.
func Version() string {
	const module = "github.com/visions-mcp/visions"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" && m.Version != "(devel)" {
			return m.Version
		}
	}
	return "devel"
}

// Tools returns the offered tools in the order clients see them.
func (e *Engine) Tools() []tools.Tool {
	if e == nil {
		return nil
	}
	return e.registry.Tools()
}

// Health reports what works, as check_vision_health does.
func (e *Engine) Health(ctx context.Context) *tools.Health { return e.env.Health(ctx) }

// Call runs a tool in the caller's goroutine, bounded by the Engine's gates
// alone.
//
// # Errors
//
// An [*Error] with a stable code; [ErrClosed] after Close.
func (e *Engine) Call(ctx context.Context, name string, args Args) (*Result, error) {
	return e.call(ctx, name, map[string]any(args))
}

func (e *Engine) call(ctx context.Context, name string, args any) (*Result, error) {
	if e == nil {
		return nil, fmt.Errorf("%w: the Engine is nil", ErrInvalid)
	}
	e.mu.Lock()
	closed := e.closed
	e.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	done, err := e.before(ctx, name)
	if err != nil {
		return nil, err
	}
	res, err := e.registry.Call(ctx, name, args)
	done(err)
	return res, err
}

// ReadOutput reads a file that a tool made, by the address in its answer's uri.
//
// # Errors
//
// An [*Error] of code NOT_FOUND, or EXPIRED when its time is over.
func (e *Engine) ReadOutput(uri string) ([]byte, error) {
	data, _, err := e.env.Store.Get(store.Outputs, tools.OutputID(uri))
	if err != nil {
		return nil, tools.AsError(err)
	}
	return data, nil
}

// AddTo gives the tools and the output files to an MCP server of the host's
// own. Calls are bounded by the Engine's gates.
func (e *Engine) AddTo(srv *mcp.Server) error {
	if e == nil || srv == nil {
		return fmt.Errorf("%w: the Engine or the server is nil", ErrInvalid)
	}
	mcpserver.Add(srv, mcpserver.Config{Tools: e.registry.Tools(), Store: e.env.Store,
		Invoke: func(ctx context.Context, name string, args json.RawMessage) (*Result, error) {
			return e.call(ctx, name, args)
		}})
	return nil
}

// Close closes the Engine's servers, ends its jobs and removes its private
// folder. Jobs in [Config.JobDir] go on with the next Engine on it. A second
// Close returns nil, and so does one on a nil Engine.
func (e *Engine) Close() error {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	servers := make([]*Server, 0, len(e.servers))
	for s := range e.servers {
		servers = append(servers, s)
	}
	e.mu.Unlock()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	now, cancel := context.WithCancel(context.Background())
	cancel() // nobody can ask for a job's result any more
	return errors.Join(append(errs, e.env.Jobs.Close(now), e.env.OCR.Close(), e.env.Store.Close())...)
}
