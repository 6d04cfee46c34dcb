package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxBody bounds the bytes of one answer of a model server. The wire form of an
// answer of maxAnswer bytes in single tokens stays below it.
const maxBody = 64 << 20

// errBody is the cause when a server sends without end.
var errBody = fmt.Errorf("the server sent more than %d bytes", maxBody)

// boundedClient returns a copy of a client, nil for a new one, whose answers end
// after maxBody bytes and which follows no redirect: another host must not get
// the images.
func boundedClient(c *http.Client) *http.Client {
	if c == nil {
		// No proxy: a model server is near, and a proxy would see the images.
		c = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: 90 * time.Second}}
	}
	own := *c
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Transport = &boundedTransport{own.Transport}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

type boundedTransport struct{ next http.RoundTripper }

func (t *boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	watch, _ := req.Context().Value(bodyKey{}).(*bodyWatch)
	res.Body = &boundedBody{ReadCloser: res.Body, left: maxBody, watch: watch}
	return res, nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach the
// transport inside.
func (t *boundedTransport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type bodyKey struct{}

// bodyWatch holds the error that ended a body. ollama/api hides it.
type bodyWatch struct{ err error }

// watchBody returns a context whose request notes how its answer's body ended.
func watchBody(ctx context.Context) (context.Context, *bodyWatch) {
	w := &bodyWatch{}
	return context.WithValue(ctx, bodyKey{}, w), w
}

type boundedBody struct {
	io.ReadCloser
	left  int64
	watch *bodyWatch
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = 0, errBody
	}
	if err != nil && err != io.EOF && b.watch != nil {
		b.watch.err = err
	}
	return n, err
}

// Phrases of model servers: of Ollama, llama.cpp, vLLM, LM Studio and OpenAI.
var (
	contextPhrases = []string{"exceeds the context", "exceed_context", "context_length_exceeded", "maximum context length", "context size", "samebatch"}
	blindPhrases   = []string{"does not support image", "missing data required for image input", "image input is not supported", "not a multimodal model", "does not support vision", "mmproj"}
	formatPhrases  = []string{"invalid json schema", "invalid format", "must be of type", "response_format"}
	runnerPhrases  = []string{"runner", "resource", "running the model", "out of memory"}
)

func holds(text string, phrases []string) bool {
	text = strings.ToLower(text)
	for _, p := range phrases {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// failure makes an Error of what a model server or the way to it said. status
// is 0 when there was none; text is the server's message.
func failure(ctx context.Context, name, base string, status int, text string, err error) *Error {
	e := &Error{Kind: KindFailed, Model: name, Err: errors.New(clip(text))}
	if status != 0 {
		e.Err = fmt.Errorf("the server answered %d: %s", status, clip(text))
	}
	var network *url.Error
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Err = ended(ctx)
	case errors.Is(err, errBody):
		e.permanent, e.Diagnosis = true, "this is no answer of a model: check the address of the server"
	case errors.As(err, &network):
		e.Kind, e.Err = KindUnavailable, network.Unwrap()
		e.Diagnosis = fmt.Sprintf("no model server answers at %s: start it, or correct the address", base)
	case holds(text, contextPhrases):
		e.Kind, e.Diagnosis = KindContext, "the question and its images do not fit the model's context: send a region or a smaller image, a shorter prompt, or raise num_ctx of the model"
	case holds(text, blindPhrases):
		e.Kind, e.Diagnosis = KindNotVision, "the model cannot look at images: choose a vision model"
	default:
		e.byStatus(base, status, text)
	}
	return e
}

func (e *Error) byStatus(base string, status int, text string) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.permanent, e.Diagnosis = true, fmt.Sprintf("%s wants a key or does not accept the one it got", base)
	case status == http.StatusNotFound && strings.Contains(text, "model"):
		e.Kind = KindNotFound
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		e.Kind, e.Diagnosis = KindUnavailable, "the model server is busy: call again later"
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		e.Kind, e.Diagnosis = KindUnavailable, fmt.Sprintf("the gateway at %s does not reach the model server", base)
	case holds(text, formatPhrases):
		e.Kind = KindInvalid
	case holds(text, runnerPhrases):
		e.Diagnosis = "the model's process ended, often for want of memory: send a smaller region, or use a smaller model"
	case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
		e.Kind = KindInvalid
	case status == http.StatusRequestEntityTooLarge:
		e.Kind, e.Diagnosis = KindInvalid, "send a smaller region or fewer images"
	case status >= 300 && status < 500:
		e.permanent, e.Diagnosis = true, fmt.Sprintf("%s is not the address of the API: check it", base)
	case status == 0:
		e.Diagnosis = fmt.Sprintf("the connection to %s broke, or what came is not an answer of a model: call again, then look at the server's log", base)
	}
}
