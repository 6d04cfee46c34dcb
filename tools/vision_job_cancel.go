package tools

import "context"

var visionJobCancel = Tool{
	Name:        "vision_job_cancel",
	Title:       "Cancel a job",
	Description: "Cancels a vision job: one that waits at once, one that runs as soon as the model lets go. A job that has ended stays as it is.",
	Group:       "jobs",
	Input:       jobArgument().JSON(),
	Output:      jobOutput(Property{"cancelled", Schema{Type: "boolean", Description: "Whether the job is cancelled or about to be."}}),
	Writes:      true,
	ErrorObject: true,
	Handle:      handleVisionJobCancel,
}

func handleVisionJobCancel(_ context.Context, c *Call) (*Result, error) {
	id, err := c.boundJob()
	if err != nil {
		return nil, err
	}
	s, err := c.Jobs.Cancel(id)
	if err != nil {
		return nil, err
	}
	view := viewJob(s)
	return &Result{Value: struct {
		jobView
		Cancelled bool `json:"cancelled"`
	}{view, !s.State.Final() || view.Code == Cancelled}}, nil
}
