package tools

import "context"

var analyzeImage = Tool{
	Name:        "analyze_image",
	Title:       "Describe an image",
	Description: "Asks a local vision model about an image and returns its answer as text, with what was sent and how. Numbers (contrast, colours, sizes) are better measured than asked.",
	Group:       "model",
	Input: Object([]string{"image_source"},
		Image("image_source", "Image to look at."),
		Property{"prompt", Schema{Type: "string", Description: "What to find out.", Default: defaultPrompt}},
		Region("region", "Part to look at, in pixels; cut before any downscale, so this zooms in."),
	).And(modelInputs...).And(samplingInputs...).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "text", "model"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"text", Schema{Type: "string", Description: "The model's answer."}},
		{"model", Schema{Type: "string"}},
	}}.JSON(),
	Handle: handleAnalyzeImage,
}

const defaultPrompt = "Describe this image in detail."

// modelArguments are the members that every tool with a model takes.
type modelArguments struct {
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature"`
	Seed        int      `json:"seed"`
	NumPredict  int      `json:"num_predict"`
	TimeoutMS   int      `json:"timeout_ms"`
	KeepAlive   string   `json:"keep_alive"`
}

func handleAnalyzeImage(ctx context.Context, c *Call) (*Result, error) {
	var a struct {
		modelArguments
		Prompt string `json:"prompt"`
		Region *Box   `json:"region"`
	}
	if err := c.Bind(&a); err != nil {
		return nil, err
	}
	req, err := c.request(a.modelArguments, c.FastModel)
	if err != nil {
		return nil, err
	}
	pictures, err := c.Images(ctx, "image_source")
	if err != nil {
		return nil, err
	}
	part, _, err := c.Region(ctx, pictures[0], 0, a.Region)
	if err != nil {
		return nil, err
	}
	req.Prompt = a.Prompt
	if req.Prompt == "" {
		req.Prompt = defaultPrompt
	}
	req.Images = imageList(part)
	prov := c.Provenance("model")
	res, err := c.Chat(ctx, req, prov)
	if err != nil {
		return nil, err
	}
	return &Result{
		Value: struct {
			Success bool   `json:"success"`
			Text    string `json:"text"`
			Model   string `json:"model"`
		}{true, res.Text, res.Model},
		Provenance: prov,
	}, nil
}
