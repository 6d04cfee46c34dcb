package tools

import (
	"context"
	"time"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/job"
)

var visionStatus = Tool{
	Name:        "vision_status",
	Title:       "Ask how the job service is",
	Description: "Tells whether the model of vision jobs can be reached, how many jobs wait and run, and the limits. Costs nothing.",
	Group:       "jobs",
	Input:       Object(nil).JSON(),
	Output: Schema{Type: "object", Open: true, Properties: []Property{
		{"ok", Schema{Type: "boolean"}},
		{"model", Schema{Type: "object", Open: true}},
		{"queue", Schema{Type: "object", Open: true}},
		{"limits", Schema{Type: "object", Open: true}},
	}}.JSON(),
	ErrorObject: true,
	Handle:      handleVisionStatus,
}

// visionHealth is the answer of vision_status.
type visionHealth struct {
	OK     bool        `json:"ok"` // the model server answers and the table takes jobs
	Model  visionModel `json:"model"`
	Queue  jobCounts   `json:"queue"`
	Limits jobLimits   `json:"limits"`
}

type visionModel struct {
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	Error     string `json:"error,omitempty"`
}

type jobCounts struct {
	Depth     int    `json:"depth"`
	Waiting   int    `json:"queued"`
	Running   int    `json:"running"`
	Retained  int    `json:"retained"` // ended jobs that can still be read
	Completed uint64 `json:"completed"`
	Failed    uint64 `json:"failed"`
	Cancelled uint64 `json:"cancelled"`
	Retried   uint64 `json:"retried"`
	Rejected  uint64 `json:"rejected"`
}

type jobLimits struct {
	ResultTTL  int64 `json:"result_ttl_s"`
	Results    int   `json:"results"`
	ImageBytes int64 `json:"image_bytes"`
	JobBytes   int64 `json:"unfinished_job_bytes"`
}

func handleVisionStatus(ctx context.Context, c *Call) (*Result, error) {
	h := visionHealth{Model: visionModel{Name: c.HeavyModel}, Limits: jobLimits{
		ResultTTL: int64(job.DefaultTTL / time.Second), Results: job.DefaultMaxResults,
		ImageBytes: imaging.DefaultBytes, JobBytes: job.DefaultMaxInputBytes,
	}}
	err := c.Wait(ctx, func() error {
		m, _, err := c.backend(c.HeavyModel)
		if err != nil {
			h.Model.Error = err.Error()
			return nil
		}
		b := backendHealth(ctx, "", m)
		h.Model.Connected, h.Model.Error = b.Connected, b.Error
		return nil
	})
	if err != nil {
		return nil, err
	}
	s := c.Jobs.Stats()
	h.Queue = jobCounts{s.Depth, s.Waiting, s.Running, s.Retained, s.Completed, s.Failed, s.Cancelled, s.Retried, s.Rejected}
	h.OK = h.Model.Connected && s.Waiting+s.Running < s.Depth
	return &Result{Value: h}, nil
}
