package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"
)

// DefaultOllamaURL is where an Ollama server listens unless told otherwise.
const DefaultOllamaURL = "http://127.0.0.1:11434"

const ollamaPort = "11434"

// OllamaConfig says where the server is. The zero value works.
type OllamaConfig struct {
	URL    string       // "" is [DefaultOllamaURL]; forms as in [OllamaURL]
	Client *http.Client // nil is a client without a proxy or timeout; calls are bounded by their context
	Logger *slog.Logger // nil discards
}

// Ollama is the backend for an Ollama server.
type Ollama struct {
	api  *api.Client
	base string // for messages: without user and password
	log  *slog.Logger

	mu   sync.Mutex
	seen map[string]*Details // by digest
}

var (
	_ Model = (*Ollama)(nil)
	_ asker = (*Ollama)(nil)
)

// OllamaURL makes a base URL of what OLLAMA_HOST may hold: "", a host, host and
// port, or a URL. 0.0.0.0, which servers listen on, becomes 127.0.0.1.
//
// # Errors
//
// Anything else, a query or a fragment. An error repeats no password.
func OllamaURL(host string) (string, error) {
	host = strings.TrimSpace(strings.Trim(strings.TrimSpace(host), `"'`))
	if host == "" {
		return DefaultOllamaURL, nil
	}
	shown := host
	if strings.Contains(host, "@") {
		shown = "(with a user)"
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	if scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("ollama host %q: the scheme must be http or https", shown)
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return "", fmt.Errorf("ollama host %q is not a host, host:port or URL", shown)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("ollama host: a query or fragment has no meaning there; leave it out")
	}
	name, port := u.Hostname(), u.Port()
	if name == "" || name == "0.0.0.0" || name == "::" {
		name = "127.0.0.1"
	}
	if port == "" {
		switch {
		case !ok:
			port = ollamaPort
		case scheme == "https":
			port = "443"
		default:
			port = "80"
		}
	}
	u.Host = net.JoinHostPort(name, port)
	u.Path = strings.TrimRight(u.Path, "/")
	return u.String(), nil
}

// OllamaHostFromEnvironment returns the value of OLLAMA_HOST, the variable that
// Ollama's own programs read. It is the only place of this package that reads
// the environment, and only when it is called.
func OllamaHostFromEnvironment() string { return os.Getenv("OLLAMA_HOST") }

// NewOllama returns a backend. It does not connect.
//
// # Errors
//
// A URL that is none.
func NewOllama(c OllamaConfig) (*Ollama, error) {
	base, err := OllamaURL(c.URL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, errors.New("ollama host: not a URL")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	open := *u
	open.User = nil
	return &Ollama{api: api.NewClient(u, boundedClient(c.Client)), base: open.String(), log: c.Logger, seen: map[string]*Details{}}, nil
}

// URL is the server's base URL, without a user and password.
func (o *Ollama) URL() string { return o.base }

// Chat asks the server. It succeeds only for an answer that the server marked
// as done for the reason "stop".
//
// # Errors
//
// [*Error]; for a model that is missing or cannot see, with the installed
// vision models; for a time-out, with what holds memory.
func (o *Ollama) Chat(ctx context.Context, req *Request, delta func(string)) (*Response, error) {
	return chat(ctx, o, o.log, req, delta)
}

// List returns the installed models with their vision capability.
func (o *Ollama) List(ctx context.Context) ([]Installed, error) {
	res, err := o.api.List(ctx)
	if err != nil {
		return nil, o.fail(ctx, "", err)
	}
	list := make([]Installed, len(res.Models))
	for i, m := range res.Models {
		list[i] = Installed{Name: m.Name, Digest: m.Digest, Size: m.Size}
		if d, err := o.details(ctx, m.Name, m.Digest); err == nil {
			list[i].Vision = d.Vision
		}
	}
	return list, nil
}

// Show returns what the server says of a model.
func (o *Ollama) Show(ctx context.Context, name string) (*Details, error) {
	res, err := o.api.Show(ctx, &api.ShowRequest{Model: name})
	if err != nil {
		return nil, o.fail(ctx, name, err)
	}
	d := &Details{Name: name}
	for _, c := range res.Capabilities {
		d.Capabilities = append(d.Capabilities, string(c))
	}
	d.Vision = slices.Contains(d.Capabilities, "vision")
	for key, v := range res.ModelInfo {
		n, _ := v.(float64)
		if len(d.Capabilities) == 0 && strings.HasSuffix(key, ".vision.block_count") && n > 0 {
			d.Vision = true // servers before the capabilities list
		}
		if strings.HasSuffix(key, ".context_length") && !strings.Contains(key, ".vision.") {
			d.Context = int(n)
		}
	}
	return d, nil
}

// maxSeen bounds the cache of model details.
const maxSeen = 256

// details is Show, remembered as long as the digest is the same.
func (o *Ollama) details(ctx context.Context, name, digest string) (*Details, error) {
	o.mu.Lock()
	d := o.seen[digest]
	o.mu.Unlock()
	if d != nil && digest != "" {
		return d, nil
	}
	d, err := o.Show(ctx, name)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.seen) >= maxSeen {
		clear(o.seen)
	}
	o.seen[digest] = d
	return d, nil
}

// Running returns the models that hold memory.
func (o *Ollama) Running(ctx context.Context) ([]Resident, error) {
	res, err := o.api.ListRunning(ctx)
	if err != nil {
		return nil, o.fail(ctx, "", err)
	}
	list := make([]Resident, len(res.Models))
	for i, m := range res.Models {
		list[i] = Resident{Name: m.Name, Size: m.Size, VRAM: m.SizeVRAM, Expires: m.ExpiresAt}
	}
	return list, nil
}

// canonical writes a model's name as Ollama compares names: the default host,
// namespace and tag left out or added, in lower case.
func canonical(name string) string {
	name = strings.ToLower(name)
	name = strings.TrimPrefix(name, "registry.ollama.ai/")
	name = strings.TrimPrefix(name, "library/")
	if !strings.Contains(name[strings.LastIndex(name, "/")+1:], ":") {
		name += ":latest"
	}
	return name
}

func (o *Ollama) find(ctx context.Context, name string, images bool) (string, []string, *Error) {
	list, err := o.api.List(ctx)
	if err != nil {
		return "", nil, o.fail(ctx, name, err)
	}
	want := canonical(name)
	for _, m := range list.Models {
		if canonical(m.Name) != want {
			continue
		}
		if !images {
			return m.Name, nil, nil
		}
		d, err := o.details(ctx, m.Name, m.Digest)
		var e *Error
		switch {
		case errors.As(err, &e):
			return "", nil, e
		case err != nil:
			return "", nil, o.fail(ctx, name, err)
		case !d.Vision:
			return "", nil, &Error{Kind: KindNotVision, Model: name, Err: errors.New("the model cannot look at images")}
		}
		return m.Name, nil, nil
	}
	return "", nil, &Error{Kind: KindNotFound, Model: name, Err: fmt.Errorf("the model is not installed on %s", o.base)}
}

func (o *Ollama) ask(ctx context.Context, q *question, heard func(string, bool) error) (final, error) {
	off := false
	r := &api.ChatRequest{
		Model: q.model, Format: q.schema, Truncate: &off, Shift: &off,
		Options: map[string]any{"temperature": q.options.Temperature, "seed": q.options.Seed, "num_predict": q.options.NumPredict},
	}
	if q.keepSet {
		r.KeepAlive = &api.Duration{Duration: q.keep}
	}
	for _, t := range q.turns {
		m := api.Message{Role: t.Role, Content: t.Text, ToolCallID: t.CallID, ToolName: t.Name}
		for _, p := range q.images[t.from:t.to] {
			m.Images = append(m.Images, p.data)
		}
		for _, c := range t.Calls {
			call := api.ToolCall{ID: c.ID, Function: api.ToolCallFunction{Name: c.Name}}
			if err := json.Unmarshal(c.Arguments, &call.Function.Arguments); err != nil {
				return final{}, &statusError{http.StatusBadRequest, "the arguments of a call are not an object"}
			}
			m.ToolCalls = append(m.ToolCalls, call)
		}
		r.Messages = append(r.Messages, m)
	}
	if q.tools != nil {
		if err := json.Unmarshal(q.tools, &r.Tools); err != nil {
			return final{}, &statusError{http.StatusBadRequest, "the list of functions: " + err.Error()}
		}
	}
	var last api.ChatResponse
	var calls []ToolCall
	ctx, broken := watchBody(ctx)
	err := o.api.Chat(ctx, r, func(piece api.ChatResponse) error {
		last = piece
		for _, c := range piece.Message.ToolCalls {
			arguments, err := json.Marshal(c.Function.Arguments)
			if err != nil {
				return err
			}
			calls = append(calls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: arguments})
		}
		if err := heard(piece.Message.Thinking, true); err != nil {
			return err
		}
		return heard(piece.Message.Content, false)
	})
	if err == nil && !last.Done && broken.err != nil {
		err = broken.err // the client keeps it to itself
	}
	return final{done: last.Done, reason: last.DoneReason, load: last.LoadDuration,
		promptTokens: last.PromptEvalCount, tokens: last.EvalCount, calls: calls}, err
}

// fail turns an error of the client into one of ours.
func (o *Ollama) fail(ctx context.Context, name string, err error) *Error {
	var status api.StatusError
	var sign api.AuthorizationError
	var ours *statusError
	switch {
	case errors.As(err, &ours):
		return failure(ctx, name, o.base, ours.code, ours.text, err)
	case errors.As(err, &status):
		return failure(ctx, name, o.base, status.StatusCode, status.ErrorMessage, err)
	case errors.As(err, &sign):
		return failure(ctx, name, o.base, http.StatusUnauthorized, sign.Status, err)
	}
	e := failure(ctx, name, o.base, 0, err.Error(), err)
	if e.Kind == KindUnavailable {
		e.Diagnosis = fmt.Sprintf("no model server answers at %s: start it (`ollama serve`) or set OLLAMA_HOST", o.base)
	}
	return e
}

// adviceTime bounds the questions that make an error say more.
const adviceTime = 3 * time.Second

// explain says what an error means by what is installed and holds memory now.
func (o *Ollama) explain(ctx context.Context, e *Error, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adviceTime)
	defer cancel()
	switch e.Kind {
	case KindNotFound, KindNotVision:
		o.advise(ctx, e)
	case KindTimeout, KindFailed:
		running, err := o.Running(ctx)
		if err != nil {
			e.Diagnosis = fmt.Sprintf("the model server at %s does not answer any more", o.base)
			return
		}
		e.Resident = []string{}
		loaded := false
		for _, r := range running {
			e.Resident = append(e.Resident, r.Name)
			loaded = loaded || canonical(r.Name) == canonical(e.Model)
		}
		if e.Kind == KindTimeout {
			o.advise(ctx, e)
			e.Diagnosis = slow(e, timeout, loaded)
		}
	}
}

// slow says what a time-out means.
func slow(e *Error, timeout time.Duration, loaded bool) string {
	switch {
	case e.FirstToken > 0:
		return fmt.Sprintf("the model was answering, too slowly for the limit of %s: raise the timeout, ask for less, or use a smaller model", timeout)
	case loaded:
		return "the model is loaded and had not begun to answer: it is busy or slow with this image; send a smaller region or raise the timeout"
	}
	return "the model was still being loaded: call again, it may be in memory by then; or raise the timeout"
}

// advise adds the installed vision models and what to do.
func (o *Ollama) advise(ctx context.Context, e *Error) {
	list, err := o.List(ctx)
	if err != nil {
		return
	}
	e.InstalledVision = visionOf(list)
	switch {
	case len(e.InstalledVision) > 0:
		e.Diagnosis = "use one of the installed vision models: " + strings.Join(e.InstalledVision, ", ")
	case e.Kind == KindNotFound:
		e.Diagnosis = fmt.Sprintf("no vision model is installed: run `ollama pull %s` on the machine of the model server", e.Model)
	default:
		e.Diagnosis = "no vision model is installed: run `ollama pull llava:13b`, or another vision model"
	}
}

// visionOf names the models that can look at images.
func visionOf(list []Installed) []string {
	names := []string{}
	for _, m := range list {
		if m.Vision {
			names = append(names, m.Name)
		}
	}
	return names
}
