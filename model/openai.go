package model

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// OpenAIConfig says where a server of the OpenAI chat API is: llama.cpp, vLLM,
// LM Studio, a gateway, Ollama's /v1.
type OpenAIConfig struct {
	// URL is the base of the API, as in "http://127.0.0.1:8080/v1"; "/v1" is
	// added when the path is empty.
	URL string
	// Key returns the API key for one request, "" for none; nil is none. See
	// [StaticKey]. Keys are sent in the Authorization header only, and never
	// logged or repeated in an error.
	Key func(ctx context.Context) (string, error)
	// VisionModels are the models known to look at images, for servers that do
	// not say. When it is set, other models that the server says nothing of are
	// refused; when it is nil they are asked, with a warning in the answer.
	VisionModels []string
	HTTPClient   *http.Client // nil is a client without a proxy or timeout; calls are bounded by their context
	Logger       *slog.Logger // nil discards
}

// StaticKey is a Key that never changes.
func StaticKey(key string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return key, nil }
}

// OpenAI is the backend for servers of the OpenAI chat API.
type OpenAI struct {
	base   string
	key    func(context.Context) (string, error)
	known  []string
	strict bool // known is the whole truth
	http   *http.Client
	log    *slog.Logger

	mu     sync.Mutex
	list   []listed
	listed time.Time // when list came
}

var (
	_ Model = (*OpenAI)(nil)
	_ asker = (*OpenAI)(nil)
)

// NewOpenAI returns a backend. It does not connect.
//
// # Errors
//
// A URL that is none, or that holds a user, a query or a fragment.
func NewOpenAI(c OpenAIConfig) (*OpenAI, error) {
	u, err := url.Parse(strings.TrimSpace(c.URL))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New(`the URL of the model server must look like "http://127.0.0.1:8080/v1"`)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("the URL of the model server holds a user, a query or a fragment; give a key by Key")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	if u.Path == "" {
		u.Path = "/v1"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &OpenAI{base: u.String(), key: c.Key, known: slices.Clone(c.VisionModels), strict: c.VisionModels != nil,
		http: boundedClient(c.HTTPClient), log: c.Logger}, nil
}

// URL is the base URL of the API.
func (o *OpenAI) URL() string { return o.base }

// Chat asks the server. It succeeds only for an answer that ended for the
// reason "stop". KeepAlive is not part of this API and is not sent.
//
// # Errors
//
// [*Error].
func (o *OpenAI) Chat(ctx context.Context, req *Request, delta func(string)) (*Response, error) {
	return chat(ctx, o, o.log, req, delta)
}

// List returns the models that the server offers. Vision is true for those that
// the server, or the configuration, says can see.
//
// # Errors
//
// [*Error].
func (o *OpenAI) List(ctx context.Context) ([]Installed, error) {
	models, err := o.models(ctx)
	if err != nil {
		return nil, o.fail(ctx, "", err)
	}
	list := make([]Installed, len(models))
	for i, m := range models {
		list[i] = Installed{Name: m.name, Vision: o.sight(m) == sees}
	}
	return list, nil
}

// Show returns what the list of models says of one.
//
// # Errors
//
// [*Error].
func (o *OpenAI) Show(ctx context.Context, name string) (*Details, error) {
	models, err := o.models(ctx)
	if err != nil {
		return nil, o.fail(ctx, name, err)
	}
	for _, m := range models {
		if m.name == name {
			d := &Details{Name: m.name, Capabilities: []string{"completion"}, Vision: o.sight(m) == sees, Context: m.context}
			if d.Vision {
				d.Capabilities = append(d.Capabilities, "vision")
			}
			return d, nil
		}
	}
	return nil, o.absent(name)
}

// Running returns nothing: the API does not tell what holds memory.
func (o *OpenAI) Running(context.Context) ([]Resident, error) { return nil, nil }

func (o *OpenAI) absent(name string) *Error {
	return &Error{Kind: KindNotFound, Model: name, Err: fmt.Errorf("the server at %s does not offer the model", o.base)}
}

// listFresh is how long a list of models counts for a model that is in it, so
// that a question to a far server is not two.
const listFresh = time.Minute

func (o *OpenAI) find(ctx context.Context, name string, images bool) (string, []string, *Error) {
	m, err := o.offered(ctx, name)
	var status *statusError
	if errors.As(err, &status) && (status.code == http.StatusNotFound || status.code == http.StatusMethodNotAllowed || status.code == http.StatusNotImplemented) {
		// Some gateways have no list; the question will tell.
		m, err = &listed{name: name}, nil
	}
	if err != nil {
		return "", nil, o.fail(ctx, name, err)
	}
	if m == nil {
		return "", nil, o.absent(name)
	}
	if !images {
		return m.name, nil, nil
	}
	switch o.sight(*m) {
	case blind:
		return "", nil, &Error{Kind: KindNotVision, Model: name, Err: errors.New("the model cannot look at images")}
	case unknown:
		return m.name, []string{fmt.Sprintf("the server does not say whether model %q can look at images: check that the answer is about them", name)}, nil
	}
	return m.name, nil, nil
}

// offered finds a model in the list, nil when it is not there.
func (o *OpenAI) offered(ctx context.Context, name string) (*listed, error) {
	o.mu.Lock()
	list, fresh := o.list, time.Since(o.listed) < listFresh
	o.mu.Unlock()
	at := func(m listed) bool { return m.name == name }
	if i := slices.IndexFunc(list, at); i >= 0 && fresh {
		return &list[i], nil
	}
	list, err := o.models(ctx)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(list, at); i >= 0 {
		return &list[i], nil
	}
	return nil, nil
}

// sight is whether a model can look at images.
func (o *OpenAI) sight(m listed) sight {
	switch {
	case slices.Contains(o.known, m.name):
		return sees
	case m.sight == unknown && o.strict:
		return blind
	}
	return m.sight
}

// fail turns an error into one of ours.
func (o *OpenAI) fail(ctx context.Context, name string, err error) *Error {
	var status *statusError
	if errors.As(err, &status) {
		return failure(ctx, name, o.base, status.code, status.text, err)
	}
	var key *keyError
	e := failure(ctx, name, o.base, 0, err.Error(), err)
	if errors.As(err, &key) && ctx.Err() == nil {
		e.permanent, e.Diagnosis = true, "look at where the key comes from (OpenAIConfig.Key)"
	}
	return e
}

// explain says what an error means by what the server offers.
func (o *OpenAI) explain(ctx context.Context, e *Error, timeout time.Duration) {
	switch e.Kind {
	case KindTimeout:
		if e.FirstToken > 0 {
			e.Diagnosis = slow(e, timeout, false)
			return
		}
		e.Diagnosis = fmt.Sprintf("%s had not begun to answer: it is busy, loading the model or slow with this image; send a smaller region or raise the timeout", o.base)
	case KindNotFound, KindNotVision:
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adviceTime)
		defer cancel()
		list, err := o.List(ctx)
		if err != nil {
			return
		}
		e.InstalledVision = visionOf(list)
		if len(e.InstalledVision) > 0 {
			e.Diagnosis = "use one of the vision models: " + strings.Join(e.InstalledVision, ", ")
			return
		}
		e.Diagnosis = "the server names no vision model; it offers: " + offers(list)
	}
}

// maxOffers bounds how many models an error names.
const maxOffers = 20

func offers(list []Installed) string {
	var names []string
	for _, m := range list[:min(len(list), maxOffers)] {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return "nothing"
	}
	return clip(strings.Join(names, ", "))
}
