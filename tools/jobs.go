package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/job"
	"github.com/visions-mcp/visions/model"
)

// Phases of a running job, as the tools report them.
const (
	phaseStarting = "starting_model" // until the model says its first word; fetching the image included
	phaseRunning  = "running"
	phaseParsing  = "parsing"
)

// jobSpec is what a job's record keeps of the call that started it.
type jobSpec struct {
	Arguments json.RawMessage `json:"arguments"`
	Paths     bool            `json:"paths"` // whether files of this machine may be named
}

// jobResult is what a job's record keeps of its answer.
type jobResult struct {
	JSON   json.RawMessage `json:"json"`
	Images []ImageBlock    `json:"images,omitempty"`
	Links  []Link          `json:"links,omitempty"`
}

// jobWork does the work of a job. The call's images are those of the job, under
// the name images; its other arguments are bound from the job's.
type jobWork func(ctx context.Context, c *Call, k *job.Task) (*Result, error)

// jobWorks are the kinds of jobs, by the tool that starts them.
var jobWorks = map[string]jobWork{
	visionJob: workVisionJob,
}

// startJob adds a job that has these arguments and images.
func (c *Call) startJob(ctx context.Context, tool, key string, arguments any, images [][]byte) (job.Status, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return job.Status{}, err
	}
	spec, err := json.Marshal(jobSpec{raw, PathsAllowed(ctx)})
	if err != nil {
		return job.Status{}, err
	}
	return c.Jobs.Start(ctx, job.Request{Client: admission.Client(ctx), Key: key, Tool: tool, Args: spec, Images: images})
}

// RunJob does a job's work: it is the function that the table of [Env.Jobs] is
// made with.
//
// # Errors
//
// A [*job.Failure] with the code of the [Error] that the work failed with.
func (e *Env) RunJob(ctx context.Context, k *job.Task) (json.RawMessage, error) {
	res, err := e.runJob(ctx, k)
	if err != nil {
		return nil, e.jobFailure(ctx, err)
	}
	return json.Marshal(jobResult{res.JSON, res.Images, res.Links})
}

func (e *Env) runJob(ctx context.Context, k *job.Task) (*Result, error) {
	work := jobWorks[k.Tool]
	if work == nil {
		return nil, Errorf(Internal, "this version has no jobs of the kind %q", k.Tool)
	}
	var spec jobSpec
	if err := json.Unmarshal(k.Args, &spec); err != nil {
		return nil, err
	}
	members, err := decodeValue(spec.Arguments)
	if err != nil {
		return nil, err
	}
	images, err := k.Images()
	if err != nil {
		return nil, err
	}
	a := &arguments{images: map[string][]any{}}
	a.members, _ = members.(map[string]any)
	for _, data := range images {
		a.images["images"] = append(a.images["images"], data)
	}
	c := &Call{Env: e, Tool: k.Tool, args: a}
	defer c.close()
	ctx = admission.WithClient(ctx, k.Client)
	if !spec.Paths {
		ctx = WithoutPaths(ctx)
	}
	k.Phase(phaseStarting)
	ctx = withStream(ctx, func(text string) {
		k.Phase(phaseRunning)
		k.Delta(text)
	})
	res, err := work(ctx, c, k)
	if err != nil {
		return nil, err
	}
	return res, e.finish(ctx, res)
}

// jobFailure is how a job's record keeps an error. Another try can help when the
// model could not be reached, its server failed, or its queue was full; never
// for an input that is wrong.
func (e *Env) jobFailure(ctx context.Context, err error) *job.Failure {
	tool := AsError(contextFirst(ctx, err))
	body, encodeErr := json.Marshal(tool)
	if encodeErr != nil {
		body = nil
	}
	f := &job.Failure{Code: string(tool.Code), Message: tool.Message, Body: body}
	var m *model.Error
	switch {
	case errors.As(err, &m):
		f.Retry = m.Retryable() && (m.Kind == model.KindUnavailable || m.Kind == model.KindFailed)
	case tool.Code == QueueFull:
		f.Retry = true
	}
	return f
}

// fromJob gives codes to the errors of the job table.
func fromJob(err error) *Error {
	var failed *job.Failure
	if errors.As(err, &failed) {
		return fromFailure(failed)
	}
	var full *job.FullError
	if errors.As(err, &full) {
		return &Error{Code: QueueFull, Message: err.Error(),
			Details:     map[string]any{"queue_depth": full.Max, "waiting": full.Waiting},
			Suggestions: []string{"start the job again when another has ended"}}
	}
	for _, k := range []struct {
		is     error
		code   Code
		advice string
	}{
		{job.ErrUnknown, JobUnknown, "give the job_id that vision_job_start answered"},
		{job.ErrExpired, JobExpired, "start the job again: an answer is kept for 15 minutes"},
		{job.ErrRestarted, JobRestarted, "start the job again; with Config.JobDir jobs outlive the server"},
		{job.ErrConflict, RequestIDConflict, "give another requestId, or leave it out"},
		{job.ErrClosed, Cancelled, ""},
	} {
		if errors.Is(err, k.is) {
			e := &Error{Code: k.code, Message: err.Error()}
			if k.advice != "" {
				e.Suggest(k.advice)
			}
			return e
		}
	}
	return nil
}

// fromFailure makes the error of a job's record again.
func fromFailure(f *job.Failure) *Error {
	e := &Error{Code: Code(f.Code), Message: f.Message}
	var body struct {
		Suggestions []string `json:"suggestions"`
	}
	if json.Unmarshal(f.Body, &body) == nil {
		e.Suggestions = body.Suggestions
	}
	return e
}

// jobView is a job's status as the tools answer it. A cancelled job is failed
// with the error "cancelled": the contract knows four states.
type jobView struct {
	JobID     string `json:"job_id"`
	Status    string `json:"status"`
	Phase     string `json:"phase,omitempty"`
	Position  *int   `json:"queue_position,omitempty"` // jobs that start before this one
	PollAfter int64  `json:"poll_after_ms,omitempty"`
	Attempt   int    `json:"attempt,omitempty"`
	Created   string `json:"created_at"`
	Updated   string `json:"updated_at"`
	Expires   string `json:"expires_at,omitempty"`
	Error     string `json:"error,omitempty"`
	Code      Code   `json:"code,omitempty"`
}

// How long a client should wait before it asks again: a model on this machine
// takes seconds to answer, and each job ahead as long again.
const (
	pollStep = 2 * time.Second
	pollMost = 15 * time.Second
)

func viewJob(s job.Status) jobView {
	v := jobView{
		JobID: s.ID, Status: string(s.State), Phase: s.Phase, Attempt: s.Attempt,
		Created: s.Created.UTC().Format(time.RFC3339), Updated: s.Updated.UTC().Format(time.RFC3339),
	}
	if !s.State.Final() {
		v.PollAfter = min(pollMost, pollStep*time.Duration(1+s.Position)).Milliseconds()
	}
	if s.State == job.Queued {
		v.Position = &s.Position
	}
	if !s.Expires.IsZero() {
		v.Expires = s.Expires.UTC().Format(time.RFC3339)
	}
	if s.State == job.Cancelled {
		v.Status = string(job.Failed)
	}
	if s.Failure != nil {
		v.Error, v.Code = s.Failure.Message, Code(s.Failure.Code)
	}
	return v
}

// jobArgument is the argument of the tools that ask for a job.
func jobArgument() Schema {
	return Object([]string{"job_id"}, Text("job_id", "From vision_job_start"))
}

// jobOutput is the output schema of the job tools. Nothing is required of it,
// because an error is structured too.
func jobOutput(more ...Property) json.RawMessage {
	return Schema{Type: "object", Open: true}.And(
		Text("job_id", "Hex job id from vision_job_start"), Property{"status", Schema{Type: "string"}}).And(more...).JSON()
}

// boundJob is the job that a call names.
func (c *Call) boundJob() (string, error) {
	var a struct {
		JobID string `json:"job_id"`
	}
	err := c.Bind(&a)
	return a.JobID, err
}

// answer is the result that a job's record keeps.
func (c *Call) answer(id string) (*jobResult, error) {
	raw, err := c.Jobs.Result(id)
	if err != nil {
		return nil, err
	}
	var r jobResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("the record of job %s: %w", id, err)
	}
	return &r, nil
}
