package tools

import (
	"context"
	"encoding/json"

	"github.com/visions-mcp/visions/internal/job"
)

var visionJobResult = Tool{
	Name:        "vision_job_result",
	Title:       "Read a job's result",
	Description: "Gives the analysis of a completed vision job, as often as it is asked until it expires. While the job is queued or running, go on asking vision_job_status.",
	Group:       "jobs",
	Input:       jobArgument().JSON(),
	Output:      jobOutput(Property{"result", Schema{Type: "object", Open: true}}),
	ErrorObject: true,
	Handle:      handleVisionJobResult,
}

func handleVisionJobResult(_ context.Context, c *Call) (*Result, error) {
	id, err := c.boundJob()
	if err != nil {
		return nil, err
	}
	s, err := c.Jobs.Status(id)
	if err != nil {
		return nil, err
	}
	view := viewJob(s)
	if !s.State.Final() {
		return &Result{Value: view}, nil
	}
	if s.State != job.Completed {
		e := fromFailure(s.Failure)
		e.Details = map[string]any{"job_id": view.JobID, "status": view.Status}
		return nil, e
	}
	r, err := c.answer(id)
	if err != nil {
		return nil, err
	}
	return &Result{Value: struct {
		jobView
		Result json.RawMessage `json:"result"`
	}{view, r.JSON}, Images: r.Images, Links: r.Links}, nil
}
