package model

import (
	"context"
	"encoding/json"
	"image"
	"math"
	"reflect"
	"strings"
	"time"
)

// Limits on a request.
const (
	maxImages      = 16      // a vision model's context does not hold more
	maxNumPredict  = 1 << 17 // tokens; no vision model answers longer
	maxTemperature = 2       // what model servers take
	maxText        = 1 << 20 // bytes of prompt and instructions together
)

// question is a request that was found to be right, in the form that both
// backends send.
type question struct {
	req      *Request
	model    string // as the server spells it, "" until it was found
	system   string
	prompt   string
	schema   json.RawMessage
	keep     time.Duration
	keepSet  bool
	options  Options
	timeout  time.Duration
	images   []picture
	warnings []string
}

// picture is an encoded image.
type picture struct {
	data []byte
	sent Sent
}

// newQuestion checks a request. Nothing is encoded yet, so that a wrong request
// or an absent model costs nothing.
func newQuestion(req *Request) (*question, *Error) {
	if req == nil {
		return nil, invalid("", "the request is nil")
	}
	q := &question{req: req, options: req.Options.filled(), timeout: req.Timeout}
	if q.timeout == 0 {
		q.timeout = DefaultTimeout
	}
	if e := q.checkNumbers(); e != nil {
		return nil, e
	}
	if len(req.Images) > maxImages {
		return nil, invalid(req.Model, "%d images were given (limit %d)", len(req.Images), maxImages)
	}
	for i, m := range req.Images {
		if empty(m) {
			return nil, invalid(req.Model, "image %d is nil or has no pixels", i+1)
		}
	}
	if n := len(req.System) + len(req.Prompt); n > maxText {
		return nil, invalid(req.Model, "prompt and instructions have %d bytes (limit %d)", n, maxText)
	}
	if strings.TrimSpace(req.Prompt) == "" && len(req.Images) == 0 {
		return nil, invalid(req.Model, "there is neither a prompt nor an image")
	}
	var err error
	if q.schema, q.warnings, err = outputFormat(req.Schema); err != nil {
		return nil, invalid(req.Model, "%w", err)
	}
	if q.keep, q.keepSet, err = ParseKeepAlive(req.KeepAlive); err != nil {
		return nil, invalid(req.Model, "%w", err)
	}
	q.system, q.prompt = neutral(req.System), neutral(req.Prompt)
	return q, nil
}

func (q *question) checkNumbers() *Error {
	r := q.req
	switch t := r.Options.Temperature; {
	case r.Model == "":
		return invalid("", "no model is named")
	case math.IsNaN(t) || t < 0 || t > maxTemperature:
		return invalid(r.Model, "temperature is %g (0 to %d)", t, maxTemperature)
	case r.Options.NumPredict < 0 || r.Options.NumPredict > maxNumPredict:
		return invalid(r.Model, "num_predict is %d (1 to %d, or 0 for %d)", r.Options.NumPredict, maxNumPredict, DefaultNumPredict)
	case r.Timeout < 0 || r.FirstToken < 0:
		return invalid(r.Model, "a timeout is negative (%s, first token %s)", r.Timeout, r.FirstToken)
	case r.MaxEdge < 0:
		return invalid(r.Model, "the longest side of a sent image is %d pixels (%d and more, or 0 for %d)", r.MaxEdge, minEdge, DefaultMaxEdge)
	}
	return nil
}

// empty reports whether an image is nil, also as a nil pointer in the
// interface, or has no pixels.
func empty(m image.Image) bool {
	if m == nil {
		return true
	}
	if v := reflect.ValueOf(m); v.Kind() == reflect.Pointer && v.IsNil() {
		return true
	}
	return m.Bounds().Empty()
}

// encode makes the pictures, once.
func (q *question) encode(ctx context.Context) *Error {
	edge := q.req.MaxEdge
	if edge == 0 {
		edge = DefaultMaxEdge
	}
	for i := len(q.images); i < len(q.req.Images); i++ {
		if ctx.Err() != nil {
			kind, err := ended(ctx)
			return &Error{Kind: kind, Model: q.req.Model, Err: err}
		}
		data, sent, err := prepare(q.req.Images[i], max(minEdge, edge))
		if err != nil {
			return invalid(q.req.Model, "encoding image %d: %w", i+1, err)
		}
		q.images = append(q.images, picture{data, sent})
		q.warnings = append(q.warnings, sent.warnings(i+1)...)
	}
	return nil
}
