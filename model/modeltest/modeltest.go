// Package modeltest has a scripted [model.Model] for tests of programs that
// embed visions: no server, no weights, every answer known.
package modeltest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/visions-mcp/visions/model"
)

// Name is the model that a [Model] offers unless Installed says otherwise.
const Name = "scripted:latest"

// Answer is what one call of Chat gets. The zero value is the text "".
type Answer struct {
	Text  string           // the whole answer; delta gets it in one piece
	Calls []model.ToolCall // functions that the model wants to be called
	// Err fails the call after Text went to delta. A [*model.Error] comes back
	// as it is, anything else in one of [model.KindFailed].
	Err error
	// Block keeps the call until its context ends; it fails then with
	// [model.KindCancelled], or [model.KindTimeout] past a deadline.
	Block bool
}

// Model answers from a script. The zero value is ready and fails every call,
// for want of answers. It is safe for concurrent use.
type Model struct {
	// Installed is what List, Show and Running tell of; nil is one vision model
	// called [Name]. Set it before the first call.
	Installed []model.Installed
	// Repeat gives the last answer again when the script is at its end.
	Repeat bool

	mu       sync.Mutex
	answers  []Answer
	requests []model.Request
	arrived  chan struct{} // closed and replaced with every request
}

var _ model.Model = (*Model)(nil)

// New returns a model that gives these answers one after another.
func New(answers ...Answer) *Model { return &Model{answers: answers} }

// Say returns a model that gives these texts one after another, and the last of
// them from then on.
func Say(texts ...string) *Model {
	m := &Model{Repeat: true}
	for _, t := range texts {
		m.answers = append(m.answers, Answer{Text: t})
	}
	return m
}

// Add puts answers at the end of the script.
func (m *Model) Add(answers ...Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers = append(m.answers, answers...)
}

// Requests returns the requests so far, in the order in which they came. Their
// images are those that were given, not copies.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Await waits until n requests have come.
//
// # Errors
//
// The context's, when it ends first.
func (m *Model) Await(ctx context.Context, n int) error {
	for {
		m.mu.Lock()
		have := len(m.requests)
		if m.arrived == nil {
			m.arrived = make(chan struct{})
		}
		next := m.arrived
		m.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take records a request and returns its answer.
func (m *Model) take(req *model.Request) (Answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, *req)
	if m.arrived != nil {
		close(m.arrived)
		m.arrived = nil
	}
	if len(m.answers) == 0 {
		return Answer{}, false
	}
	a := m.answers[0]
	if len(m.answers) > 1 || !m.Repeat {
		m.answers = m.answers[1:]
	}
	return a, true
}

// Chat gives the next answer of the script. Response holds the request's model
// and options, and images as sent without a change.
//
// # Errors
//
// [*model.Error]: the answer's own, [model.KindInvalid] for a nil request and
// [model.KindFailed] at the end of the script.
func (m *Model) Chat(ctx context.Context, req *model.Request, delta func(string)) (*model.Response, error) {
	if req == nil {
		return nil, &model.Error{Kind: model.KindInvalid, Err: errors.New("the request is nil")}
	}
	a, ok := m.take(req)
	if !ok {
		return nil, &model.Error{Kind: model.KindFailed, Model: req.Model, Err: errors.New("the script has no more answers")}
	}
	if a.Block {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		kind := model.KindCancelled
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			kind = model.KindTimeout
		}
		return nil, &model.Error{Kind: kind, Model: req.Model, Err: context.Cause(ctx)}
	}
	if a.Text != "" && delta != nil {
		delta(a.Text)
	}
	if a.Err != nil {
		var e *model.Error
		if errors.As(a.Err, &e) {
			return nil, a.Err
		}
		return nil, &model.Error{Kind: model.KindFailed, Model: req.Model, Partial: a.Text, Err: a.Err}
	}
	res := &model.Response{Text: a.Text, Calls: a.Calls, Model: req.Model, Options: req.Options, Attempts: 1}
	images := req.Images
	for _, m := range req.Messages {
		images = append(slices.Clip(images), m.Images...)
	}
	for _, i := range images {
		size := i.Bounds().Size()
		res.Images = append(res.Images, model.Sent{Input: size, Size: size, Content: i.Bounds().Sub(i.Bounds().Min), Format: "png"})
	}
	return res, nil
}

func (m *Model) installed() []model.Installed {
	if m.Installed != nil {
		return m.Installed
	}
	return []model.Installed{{Name: Name, Digest: "scripted", Vision: true}}
}

// List returns the installed models.
func (m *Model) List(context.Context) ([]model.Installed, error) {
	return slices.Clone(m.installed()), nil
}

// Show returns what List says of a model.
//
// # Errors
//
// [*model.Error] of [model.KindNotFound].
func (m *Model) Show(_ context.Context, name string) (*model.Details, error) {
	for _, i := range m.installed() {
		if i.Name == name {
			d := &model.Details{Name: name, Capabilities: []string{"completion"}, Vision: i.Vision}
			if i.Vision {
				d.Capabilities = append(d.Capabilities, "vision")
			}
			return d, nil
		}
	}
	return nil, &model.Error{Kind: model.KindNotFound, Model: name, Err: errors.New("the script has no such model")}
}

// Running returns the installed models.
func (m *Model) Running(context.Context) ([]model.Resident, error) {
	var list []model.Resident
	for _, i := range m.installed() {
		list = append(list, model.Resident{Name: i.Name, Size: i.Size})
	}
	return list, nil
}
