package tools

import (
	"context"
	"fmt"
	"image"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/model"
)

// modelInputs are the arguments that every tool with a model takes, and
// samplingInputs those of the tools that are about the model's answer.
var (
	modelInputs = []Property{
		Text("model", "Instead of the configured one."),
		Integer("timeout_ms", "For the model's answer.", 1, 3_600_000),
	}
	samplingInputs = []Property{
		Number("temperature", "", 0, 2),
		Integer("seed", "", 0, 1<<31-1),
		Integer("num_predict", "Most tokens of the answer.", 1, 32768),
		Text("keep_alive", `How long the model stays loaded: "5m", "0", "-1" for good.`),
	}
)

// backend finds the model server a name belongs to: the part before the first
// slash when that is a key of Models, otherwise the default one.
func (e *Env) backend(name string) (model.Model, string, error) {
	if key, rest, ok := strings.Cut(name, "/"); ok && key != "" {
		if m := e.Models[key]; m != nil {
			return m, rest, nil
		}
	}
	if m := e.Models[""]; m != nil {
		return m, name, nil
	}
	return nil, "", Errorf(ModelUnavailable, "no default model server is configured for model %q", name).
		Suggest("prefix the model with one of: " + strings.Join(slices.Sorted(maps.Keys(e.Models)), "/, ") + "/")
}

// request makes a model request of a tool's arguments. fallback is the model
// when none is named.
func (c *Call) request(a modelArguments, fallback string) (*model.Request, error) {
	if _, _, err := model.ParseKeepAlive(a.KeepAlive); err != nil {
		return nil, &Error{Code: InvalidArgument, Message: err.Error(), Err: err}
	}
	req := &model.Request{
		Model: a.Model, KeepAlive: a.KeepAlive, Timeout: time.Duration(a.TimeoutMS) * time.Millisecond,
		Options: model.Options{Seed: a.Seed, NumPredict: a.NumPredict},
	}
	if a.Temperature != nil {
		req.Options.Temperature = *a.Temperature
	}
	if req.Model == "" {
		req.Model = fallback
	}
	return req, nil
}

// Chat asks a model, after a wait at the gate that all model calls share. The
// wait is not part of the request's timeout. It fills the provenance's model,
// options, metrics and what was sent.
func (c *Call) Chat(ctx context.Context, req *model.Request, prov *Provenance) (*model.Response, error) {
	m, name, err := c.backend(req.Model)
	if err != nil {
		return nil, err
	}
	req.Model = name
	if req.Timeout == 0 {
		req.Timeout = c.ModelTimeout
	}
	if req.KeepAlive == "" {
		req.KeepAlive = c.KeepAlive
	}
	stream := streamOf(ctx)
	req.RetryPartial = stream == nil // the pieces are only counted
	var res *model.Response
	asked := time.Now()
	var waited time.Duration
	err = c.Wait(ctx, func() error {
		Report(ctx, "waiting for the model", 0, 0)
		if err := c.ModelQ.Acquire(ctx, admission.Client(ctx), 1); err != nil {
			return err
		}
		defer c.ModelQ.Release()
		waited = time.Since(asked)
		Report(ctx, fmt.Sprintf("asking %s", name), 0, 0)
		tokens := 0.0
		res, err = m.Chat(ctx, req, func(text string) {
			tokens++
			if stream != nil {
				stream(text)
			}
			Report(ctx, "the model is answering", tokens, 0)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	prov.Model = res.Model
	prov.Options = &ModelOptions{Temperature: res.Options.Temperature, Seed: res.Options.Seed, NumPredict: res.Options.NumPredict}
	prov.Metrics = &ModelMetrics{
		TimeToFirstTokenMS: res.TimeToFirstToken.Milliseconds(), TotalMS: res.Total.Milliseconds(), LoadMS: res.Load.Milliseconds(),
		WaitedMS: waited.Milliseconds(), PromptTokens: res.PromptTokens, Tokens: res.Tokens, Attempts: res.Attempts,
	}
	prov.Warnings = append(prov.Warnings, res.Warnings...)
	for i, s := range res.Images {
		if i < len(prov.Images) {
			noteSent(&prov.Images[i], s)
		}
	}
	return res, nil
}

func noteSent(ip *ImageProvenance, s model.Sent) {
	ip.SentDimensions = &Size{s.Size.X, s.Size.Y}
	ip.SentFormat = s.Format
	ip.Downscaled = s.Content.Dx() < s.Input.X || s.Content.Dy() < s.Input.Y
	ip.Padded = s.Padded
	if s.Padded {
		box := BoxOf(s.Content)
		ip.Content = &box
	}
}

// imageList is what a model request takes.
func imageList[T image.Image](images ...T) []image.Image {
	list := make([]image.Image, len(images))
	for i, m := range images {
		list[i] = m
	}
	return list
}
