package tools

import "context"

var visionJobStatus = Tool{
	Name:        "vision_job_status",
	Title:       "Ask for a job's status",
	Description: "Tells a vision job's status: queued, running, completed or failed. The phase of a running one is starting_model, running or parsing. Ask again after poll_after_ms.",
	Group:       "jobs",
	Input:       jobArgument().JSON(),
	Output:      jobOutput(),
	ErrorObject: true,
	Handle:      handleVisionJobStatus,
}

func handleVisionJobStatus(_ context.Context, c *Call) (*Result, error) {
	id, err := c.boundJob()
	if err != nil {
		return nil, err
	}
	s, err := c.Jobs.Status(id)
	if err != nil {
		return nil, err
	}
	return &Result{Value: viewJob(s)}, nil
}
