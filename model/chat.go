package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ollama/ollama/api"
)

// maxAttempts is one retry: a server that was restarting or a runner that died
// answers the second time; more only hides a broken one.
const maxAttempts = 2

// retryPause lets a crashed runner go before it is asked again.
const retryPause = 300 * time.Millisecond

// Chat asks an Ollama server. It succeeds only for an answer that the server
// marked as done for the reason "stop".
//
// # Errors
//
// [*Error]; for a model that is missing or cannot see, with the installed
// vision models; for a time-out, with what holds memory.
func (o *Ollama) Chat(ctx context.Context, req *Request, delta func(string)) (*Response, error) {
	start := time.Now()
	call, err := o.newCall(req)
	if err != nil {
		return nil, &Error{Kind: KindInvalid, Model: req.Model, Err: err}
	}
	timeout := req.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	outer := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := o.find(ctx, req.Model, len(req.Images) > 0); err != nil {
		return nil, timed(err, start)
	}
	for attempt := 1; ; attempt++ {
		res, e := call.once(ctx, delta)
		if e == nil {
			res.Attempts = attempt
			res.Total = time.Since(start)
			return res, nil
		}
		if attempt < maxAttempts && e.retrySafe(delta != nil) {
			o.log.Info("asking the model again", "model", req.Model, "kind", e.Kind)
			select {
			case <-time.After(retryPause):
				continue
			case <-ctx.Done():
			}
		}
		e.Elapsed = time.Since(start)
		if e.Kind == KindTimeout || outer.Err() == nil && e.Kind == KindFailed {
			o.diagnose(outer, e, timeout)
		}
		return nil, e
	}
}

// retrySafe reports whether asking again cannot repeat text that somebody has
// already seen.
func (e *Error) retrySafe(streaming bool) bool {
	if e.Partial != "" && streaming {
		return false
	}
	return e.Kind == KindUnavailable || e.Kind == KindFailed
}

func timed(err error, start time.Time) error {
	var e *Error
	if errors.As(err, &e) {
		e.Elapsed = time.Since(start)
	}
	return err
}

// diagnose says what a time-out or failure means by what holds memory now.
func (o *Ollama) diagnose(ctx context.Context, e *Error, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adviceTime)
	defer cancel()
	running, err := o.Running(ctx)
	if err != nil {
		e.Diagnosis = fmt.Sprintf("the model server at %s does not answer any more", o.base)
		return
	}
	e.Resident = []string{}
	loaded := false
	for _, r := range running {
		e.Resident = append(e.Resident, r.Name)
		loaded = loaded || r.Name == e.Model || r.Name == e.Model+":latest"
	}
	if e.Kind != KindTimeout {
		return
	}
	o.advise(ctx, e)
	switch {
	case e.FirstToken > 0:
		e.Diagnosis = fmt.Sprintf("the model was answering, too slowly for the limit of %s: raise the timeout, ask for less, or use a smaller model", timeout)
	case loaded:
		e.Diagnosis = "the model is loaded and had not begun to answer: it is busy or slow with this image; send a smaller region or raise the timeout"
	default:
		e.Diagnosis = "the model was still being loaded: call again, it may be in memory by then; or raise the timeout"
	}
}

// call is one prepared question.
type call struct {
	o    *Ollama
	req  *Request
	api  api.ChatRequest
	sent []Sent
}

func (o *Ollama) newCall(req *Request) (*call, error) {
	opts := req.Options.filled()
	format, err := outputFormat(req.Schema)
	if err != nil {
		return nil, err
	}
	keep, set, err := ParseKeepAlive(req.KeepAlive)
	if err != nil {
		return nil, err
	}
	c := &call{o: o, req: req}
	off := false
	c.api = api.ChatRequest{
		Model: req.Model, Format: format, Truncate: &off, Shift: &off,
		Options: map[string]any{"temperature": opts.Temperature, "seed": opts.Seed, "num_predict": opts.NumPredict},
	}
	if set {
		c.api.KeepAlive = &api.Duration{Duration: keep}
	}
	if req.System != "" {
		c.api.Messages = append(c.api.Messages, api.Message{Role: "system", Content: neutral(req.System)})
	}
	message := api.Message{Role: "user", Content: neutral(req.Prompt)}
	maxEdge := req.MaxEdge
	if maxEdge == 0 {
		maxEdge = DefaultMaxEdge
	}
	for _, m := range req.Images {
		data, sent, err := prepare(m, max(minEdge, maxEdge))
		if err != nil {
			return nil, fmt.Errorf("encoding the image: %w", err)
		}
		message.Images = append(message.Images, data)
		c.sent = append(c.sent, sent)
	}
	c.api.Messages = append(c.api.Messages, message)
	return c, nil
}

// once asks one time.
func (c *call) once(ctx context.Context, delta func(string)) (*Response, *Error) {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if c.req.FirstToken > 0 {
		timer := time.AfterFunc(c.req.FirstToken, func() { cancel(errFirstToken) })
		defer timer.Stop()
		inner := delta
		delta = func(s string) {
			timer.Stop()
			if inner != nil {
				inner(s)
			}
		}
	}
	var text strings.Builder
	var last api.ChatResponse
	var first time.Duration
	err := c.o.api.Chat(ctx, &c.api, func(r api.ChatResponse) error {
		last = r
		if r.Message.Content == "" {
			return ctx.Err()
		}
		if first == 0 {
			first = time.Since(start)
		}
		text.WriteString(r.Message.Content)
		if delta != nil {
			delta(r.Message.Content)
		}
		return ctx.Err()
	})
	if e := c.judge(ctx, err, last, text.String()); e != nil {
		e.FirstToken = first
		e.Partial = text.String()
		return nil, e
	}
	return &Response{
		Text: text.String(), Model: c.req.Model, Options: c.req.Options.filled(), Images: c.sent,
		TimeToFirstToken: first, Load: last.LoadDuration, PromptTokens: last.PromptEvalCount, Tokens: last.EvalCount,
		Warnings: c.warnings(),
	}, nil
}

// judge decides whether an answer is whole. The client reports no error for a
// stream that ends early, so a nil error alone proves nothing.
func (c *call) judge(ctx context.Context, err error, last api.ChatResponse, text string) *Error {
	e := &Error{Kind: KindIncomplete, Model: c.req.Model}
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Err = ended(ctx)
	case err != nil:
		return c.o.fail(ctx, c.req.Model, err)
	case !last.Done:
		e.Err = errors.New("the stream ended without a final message")
		e.Diagnosis = "the server ended the answer early (it does so when a model repeats itself, and when it is stopped): ask for a smaller region or another question"
	case last.DoneReason == "length":
		e.Err = fmt.Errorf("the answer was cut after %d tokens", last.EvalCount)
		e.Diagnosis = "raise num_predict, or ask for less"
	case last.DoneReason != "stop":
		e.Err = fmt.Errorf("the answer ended for the reason %q", last.DoneReason)
	case strings.TrimSpace(text) == "":
		e.Err = errors.New("the answer is empty")
		e.Diagnosis = "ask again with another prompt, or use another model"
	default:
		return nil
	}
	return e
}

// warnings tells what a reader of the answer must know about what was sent.
func (c *call) warnings() []string {
	var list []string
	for i, s := range c.sent {
		switch {
		case s.Content.Dx() < s.Input.X:
			list = append(list, fmt.Sprintf("image %d was scaled from %dx%d to %dx%d for the model; ask about a region to keep small details", i+1, s.Input.X, s.Input.Y, s.Content.Dx(), s.Content.Dy()))
		case s.Resized:
			list = append(list, fmt.Sprintf("image %d was enlarged from %dx%d to %dx%d: models fail on smaller ones", i+1, s.Input.X, s.Input.Y, s.Content.Dx(), s.Content.Dy()))
		}
		if s.Padded {
			list = append(list, fmt.Sprintf("image %d was padded to %dx%d for the model", i+1, s.Size.X, s.Size.Y))
		}
	}
	return list
}
