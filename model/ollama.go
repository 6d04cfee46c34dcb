package model

import (
	"context"
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
	base string
	log  *slog.Logger

	mu   sync.Mutex
	seen map[string]*Details // by digest
}

var _ Model = (*Ollama)(nil)

// OllamaURL makes a base URL of what OLLAMA_HOST may hold: "", a host, host and
// port, or a URL. 0.0.0.0, which servers listen on, becomes 127.0.0.1.
func OllamaURL(host string) (string, error) {
	host = strings.TrimSpace(strings.Trim(strings.TrimSpace(host), `"'`))
	if host == "" {
		return DefaultOllamaURL, nil
	}
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	if scheme != "http" && scheme != "https" {
		return "", fmt.Errorf("ollama host %q: the scheme must be http or https", host)
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return "", fmt.Errorf("ollama host %q: %w", host, err)
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
func NewOllama(c OllamaConfig) (*Ollama, error) {
	base, err := OllamaURL(c.URL)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	if c.Client == nil {
		// No proxy: a model server is near, and a proxy would see the images.
		c.Client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second}}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Ollama{api: api.NewClient(u, c.Client), base: base, log: c.Logger, seen: map[string]*Details{}}, nil
}

// URL is the server's base URL.
func (o *Ollama) URL() string { return o.base }

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

// find checks that the model is installed, and can see when images come.
func (o *Ollama) find(ctx context.Context, name string, images bool) error {
	if name == "" {
		return &Error{Kind: KindInvalid, Err: errors.New("no model is named")}
	}
	list, err := o.api.List(ctx)
	if err != nil {
		return o.fail(ctx, name, err)
	}
	for _, m := range list.Models {
		if m.Name != name && m.Name != name+":latest" {
			continue
		}
		if !images {
			return nil
		}
		d, err := o.details(ctx, m.Name, m.Digest)
		if err != nil || d.Vision {
			return err
		}
		return o.advise(ctx, &Error{Kind: KindNotVision, Model: name, Err: errors.New("the model cannot look at images")})
	}
	return o.advise(ctx, &Error{Kind: KindNotFound, Model: name, Err: fmt.Errorf("the model is not installed on %s", o.base)})
}

// adviceTime bounds the questions that make an error say more.
const adviceTime = 3 * time.Second

// advise adds the installed vision models and what to do.
func (o *Ollama) advise(ctx context.Context, e *Error) *Error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adviceTime)
	defer cancel()
	e.InstalledVision = []string{}
	if list, err := o.List(ctx); err == nil {
		for _, m := range list {
			if m.Vision {
				e.InstalledVision = append(e.InstalledVision, m.Name)
			}
		}
	}
	switch {
	case len(e.InstalledVision) > 0:
		e.Diagnosis = "use one of the installed vision models: " + strings.Join(e.InstalledVision, ", ")
	case e.Kind == KindNotFound:
		e.Diagnosis = fmt.Sprintf("no vision model is installed: run `ollama pull %s` on the machine of the model server", e.Model)
	default:
		e.Diagnosis = "no vision model is installed: run `ollama pull llava:13b`, or another vision model"
	}
	return e
}

// fail turns an error of the client into one of ours.
func (o *Ollama) fail(ctx context.Context, name string, err error) *Error {
	e := &Error{Kind: KindFailed, Model: name, Err: err}
	var status api.StatusError
	var network *url.Error
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Err = ended(ctx)
	case errors.As(err, &status):
		o.failStatus(e, status)
	case errors.As(err, &network):
		e.Kind = KindUnavailable
		e.Err = errors.Unwrap(network)
		e.Diagnosis = fmt.Sprintf("no model server answers at %s: start it (`ollama serve`) or set OLLAMA_HOST", o.base)
	}
	return e
}

func (o *Ollama) failStatus(e *Error, status api.StatusError) {
	text := status.ErrorMessage
	switch {
	case status.StatusCode == http.StatusNotFound:
		e.Kind = KindNotFound
	case status.StatusCode == http.StatusServiceUnavailable:
		e.Kind, e.Diagnosis = KindUnavailable, "the model server is busy: call again later"
	case strings.Contains(text, "exceeds the context") || strings.Contains(text, "SameBatch") || strings.Contains(text, "exceed_context"):
		e.Kind, e.Diagnosis = KindContext, "the question and its images do not fit the model's context: send a region or a smaller image, a shorter prompt, or raise num_ctx of the model"
	case strings.Contains(text, "does not support image") || strings.Contains(text, "missing data required for image input"):
		e.Kind, e.Diagnosis = KindNotVision, "the model cannot look at images: choose a vision model"
	case strings.Contains(text, "runner") || strings.Contains(text, "resource"):
		e.Diagnosis = "the model's process ended, often for want of memory: send a smaller region, or use a smaller model"
	case status.StatusCode == http.StatusBadRequest:
		e.Kind = KindInvalid
	}
	e.Err = fmt.Errorf("the server answered %d: %s", status.StatusCode, text)
}
