package model

import (
	"context"
	"encoding/json"
	"image"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Limits on a request.
const (
	maxImages      = 16       // a vision model's context does not hold more
	maxNumPredict  = 1 << 17  // tokens; no vision model answers longer
	maxTemperature = 2        // what model servers take
	maxText        = 1 << 20  // bytes of all texts together
	maxMessages    = 256      // of a conversation
	maxTools       = 64 << 10 // bytes of the list of functions
)

// question is a request that was found to be right, in the form that both
// backends send.
type question struct {
	req      *Request
	model    string // as the server spells it, "" until it was found
	turns    []turn
	tools    json.RawMessage
	schema   json.RawMessage
	keep     time.Duration
	keepSet  bool
	options  Options
	timeout  time.Duration
	sources  []image.Image // of all turns
	images   []picture     // the same, encoded
	warnings []string
}

// turn is a message whose images are a range of the question's.
type turn struct {
	Message
	from, to int
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
	if e := q.converse(); e != nil {
		return nil, e
	}
	if e := q.offer(); e != nil {
		return nil, e
	}
	var err error
	if q.schema, q.warnings, err = outputFormat(req.Schema); err != nil {
		return nil, invalid(req.Model, "%w", err)
	}
	if q.keep, q.keepSet, err = ParseKeepAlive(req.KeepAlive); err != nil {
		return nil, invalid(req.Model, "%w", err)
	}
	return q, nil
}

// converse makes turns of the conversation, or of System, Prompt and Images.
func (q *question) converse() *Error {
	r := q.req
	messages := r.Messages
	if messages == nil {
		if r.System != "" {
			messages = append(messages, Message{Role: RoleSystem, Text: r.System})
		}
		messages = append(messages, Message{Role: RoleUser, Text: r.Prompt, Images: r.Images})
	} else if r.System != "" || r.Prompt != "" || r.Images != nil {
		return invalid(r.Model, "Messages come instead of System, Prompt and Images, not beside them")
	}
	if len(messages) > maxMessages {
		return invalid(r.Model, "%d messages were given (limit %d)", len(messages), maxMessages)
	}
	said, size := false, 0
	for i, m := range messages {
		if !slices.Contains([]string{RoleSystem, RoleUser, RoleAssistant, RoleTool}, m.Role) {
			return invalid(r.Model, "message %d has the role %q (system, user, assistant or tool)", i+1, m.Role)
		}
		for _, image := range m.Images {
			q.sources = append(q.sources, image)
			if empty(image) {
				return invalid(r.Model, "image %d is nil or has no pixels", len(q.sources))
			}
		}
		if len(q.sources) > maxImages {
			return invalid(r.Model, "more than %d images were given (the limit)", maxImages)
		}
		size += len(m.Text)
		said = said || m.Role != RoleSystem && (strings.TrimSpace(m.Text) != "" || len(m.Images) > 0)
		m.Text = neutral(m.Text)
		q.turns = append(q.turns, turn{m, len(q.sources) - len(m.Images), len(q.sources)})
	}
	if size > maxText {
		return invalid(r.Model, "prompt and instructions have %d bytes (limit %d)", size, maxText)
	}
	if !said {
		return invalid(r.Model, "there is neither a prompt nor an image")
	}
	return nil
}

// offer checks the list of functions as far as every server wants it alike.
func (q *question) offer() *Error {
	tools := q.req.Tools
	if len(tools) == 0 {
		return nil
	}
	if len(tools) > maxTools {
		return invalid(q.req.Model, "the list of functions has %d bytes (limit %d)", len(tools), maxTools)
	}
	var list []struct {
		Type     string `json:"type"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if err := json.Unmarshal(tools, &list); err != nil {
		return invalid(q.req.Model, "the list of functions: %w", err)
	}
	for i, f := range list {
		if f.Type != "function" || f.Function.Name == "" {
			return invalid(q.req.Model, `function %d is not of the form {"type":"function","function":{"name":...}}`, i+1)
		}
	}
	if len(list) > 0 {
		q.tools = tools
	}
	return nil
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
	for i := len(q.images); i < len(q.sources); i++ {
		if ctx.Err() != nil {
			kind, err := ended(ctx)
			return &Error{Kind: kind, Model: q.req.Model, Err: err}
		}
		data, sent, err := prepare(q.sources[i], max(minEdge, edge))
		if err != nil {
			return invalid(q.req.Model, "encoding image %d: %w", i+1, err)
		}
		q.images = append(q.images, picture{data, sent})
		q.warnings = append(q.warnings, sent.warnings(i+1)...)
	}
	return nil
}
