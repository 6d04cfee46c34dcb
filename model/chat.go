package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// maxAttempts is one retry: a server that was restarting or a runner that died
// answers the second time; more only hides a broken one.
const maxAttempts = 2

// retryPause lets a crashed runner go before it is asked again.
const retryPause = 300 * time.Millisecond

// maxAnswer bounds the text of an answer, in bytes, thinking included. The
// longest num_predict stays below it.
const maxAnswer = 4 << 20

// asker is what the kinds of model servers do differently.
type asker interface {
	// find checks that the model is there, and can see when images come; it
	// returns its name as the server spells it and what the reader must know.
	find(ctx context.Context, name string, images bool) (string, []string, *Error)
	// ask asks one time, and hands every piece of the answer to heard.
	ask(ctx context.Context, q *question, heard func(text string, thinking bool) error) (final, error)
	// fail turns an error of ask into one of ours.
	fail(ctx context.Context, name string, err error) *Error
	// explain adds to an error what the server knows and what to do.
	explain(ctx context.Context, e *Error, timeout time.Duration)
}

// final is what a server says at the end of an answer.
type final struct {
	done         bool
	reason       string
	load         time.Duration
	promptTokens int
	tokens       int
	calls        []ToolCall
}

// exchange is one call of Chat.
type exchange struct {
	s     asker
	q     *question
	delta func(string)
	start time.Time
	timer *time.Timer // first-token deadline, nil without

	text  strings.Builder
	size  int // bytes of the answer, thinking included
	first time.Duration
}

// chat is Chat of both backends. It succeeds only for an answer that the server
// has marked as whole.
func chat(outer context.Context, s asker, log *slog.Logger, req *Request, delta func(string)) (*Response, error) {
	q, e := newQuestion(req)
	if e != nil {
		return nil, e
	}
	x := &exchange{s: s, q: q, delta: delta, start: time.Now()}
	ctx, cancel := context.WithTimeout(outer, q.timeout)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if req.FirstToken > 0 {
		x.timer = time.AfterFunc(req.FirstToken, func() { stop(errFirstToken) })
		defer x.timer.Stop()
	}
	for attempt := 1; ; attempt++ {
		res, e := x.try(ctx)
		if e == nil {
			res.Attempts = attempt
			res.Total = time.Since(x.start)
			return res, nil
		}
		if attempt < maxAttempts && e.askAgain(delta != nil && !req.RetryPartial) {
			log.Info("asking the model again", "model", req.Model, "kind", e.Kind)
			if pause(ctx, retryPause) {
				continue
			}
			e.Kind, e.Err = ended(ctx)
			e.Diagnosis = ""
		}
		e.Elapsed = time.Since(x.start)
		if outer.Err() == nil || e.Kind == KindTimeout {
			s.explain(outer, e, q.timeout)
		}
		return nil, e
	}
}

// pause waits and reports whether the whole time passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// askAgain reports whether asking again can help and repeats no text that
// somebody has already seen.
func (e *Error) askAgain(shown bool) bool {
	if e.permanent || e.Partial != "" && shown {
		return false
	}
	return e.Kind == KindUnavailable || e.Kind == KindFailed
}

// try asks one time, after it has found the model and encoded the images,
// which a second time skips.
func (x *exchange) try(ctx context.Context) (*Response, *Error) {
	q := x.q
	if q.model == "" {
		name, warnings, e := x.s.find(ctx, q.req.Model, len(q.sources) > 0)
		if e != nil {
			return nil, e
		}
		q.model = name
		q.warnings = append(q.warnings, warnings...)
	}
	if e := q.encode(ctx); e != nil {
		return nil, e
	}
	x.text.Reset()
	x.size, x.first = 0, 0
	end, err := x.s.ask(ctx, q, func(text string, thinking bool) error { return x.heard(ctx, text, thinking) })
	if e := x.judge(ctx, err, end); e != nil {
		e.FirstToken = x.first
		e.Partial = x.text.String()
		return nil, e
	}
	res := &Response{
		Text: x.text.String(), Calls: end.calls, Model: q.model, Options: q.options, TimeToFirstToken: x.first,
		Load: end.load, PromptTokens: end.promptTokens, Tokens: end.tokens, Warnings: q.warnings,
	}
	for _, p := range q.images {
		res.Images = append(res.Images, p.sent)
	}
	return res, nil
}

// errTooLong is the cause when a server does not stop.
var errTooLong = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)

// heard takes one piece of the answer.
func (x *exchange) heard(ctx context.Context, text string, thinking bool) error {
	if text == "" || ctx.Err() != nil {
		return ctx.Err()
	}
	if x.first == 0 {
		x.first = time.Since(x.start)
		if x.timer != nil {
			x.timer.Stop()
		}
	}
	if x.size += len(text); x.size > maxAnswer {
		return errTooLong
	}
	if thinking {
		return nil
	}
	x.text.WriteString(text)
	if x.delta != nil {
		x.delta(text)
	}
	return ctx.Err()
}

// judge decides whether an answer is whole. The client reports no error for a
// stream that ends early, so a nil error alone proves nothing.
func (x *exchange) judge(ctx context.Context, err error, end final) *Error {
	e := &Error{Kind: KindIncomplete, Model: x.q.req.Model}
	switch {
	case ctx.Err() != nil:
		e.Kind, e.Err = ended(ctx)
	case errors.Is(err, errTooLong):
		e.Err, e.permanent = err, true
		e.Diagnosis = "lower num_predict, or ask for less"
	case err != nil:
		return x.s.fail(ctx, x.q.req.Model, err)
	case !end.done:
		e.Err = errors.New("the stream ended without a final message")
		e.Diagnosis = "the server ended the answer early (it does so when a model repeats itself, and when it is stopped): ask for a smaller region or another question"
	case end.reason == "length":
		e.Err = fmt.Errorf("the answer was cut after %d tokens", end.tokens)
		e.Diagnosis = "raise num_predict, or ask for less"
	case end.reason != "stop":
		e.Err = fmt.Errorf("the answer ended for the reason %q", clip(end.reason))
	case strings.TrimSpace(x.text.String()) == "" && len(end.calls) == 0:
		e.Err = errors.New("the answer is empty")
		e.Diagnosis = "ask again with another prompt, or use another model"
	default:
		if e.Err = wholeCalls(end.calls); e.Err == nil {
			return nil
		}
		e.Diagnosis = "ask again, or offer functions with fewer parameters"
	}
	return e
}

// wholeCalls checks that the arguments of each call are an object; none at all
// are an empty one.
func wholeCalls(calls []ToolCall) error {
	for i := range calls {
		c := &calls[i]
		if len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage(`{}`)
		}
		var object map[string]json.RawMessage
		if c.Name == "" || json.Unmarshal(c.Arguments, &object) != nil || object == nil {
			return fmt.Errorf("the model called the function %q with what is no object: %s", c.Name, clip(string(c.Arguments)))
		}
	}
	return nil
}
