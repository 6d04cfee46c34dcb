package tools

import "image"

// Box is a rectangle in pixels of the upright original.
type Box struct {
	Left   int `json:"left"`
	Top    int `json:"top"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// BoxOf converts a rectangle.
func BoxOf(r image.Rectangle) Box { return Box{r.Min.X, r.Min.Y, r.Dx(), r.Dy()} }

// Rect converts the box to a rectangle.
func (b Box) Rect() image.Rectangle {
	return image.Rect(b.Left, b.Top, b.Left+b.Width, b.Top+b.Height)
}

// Size is a width and height in pixels.
type Size struct {
	Width  int `json:"width"`
	Height int `json:"height"`
}

// Provenance says how an answer came about: what looked at which image in which
// form, with which options, and what to be careful about.
type Provenance struct {
	Engine   string            `json:"engine"`
	Model    string            `json:"model,omitempty"`
	Options  *ModelOptions     `json:"options,omitempty"`
	Images   []ImageProvenance `json:"images,omitempty"`
	Applied  []string          `json:"applied,omitempty"`
	Metrics  *ModelMetrics     `json:"metrics,omitempty"`
	Returned []Returned        `json:"returned,omitempty"`
	Warnings []string          `json:"warnings"`
}

// ImageProvenance tells one input image's way: as given, and as it was sent to
// a model.
type ImageProvenance struct {
	Source             string `json:"source"`
	Format             string `json:"format"`
	InputDimensions    Size   `json:"input_dimensions"` // upright
	OrientationApplied int    `json:"orientation_applied,omitempty"`
	Frames             int    `json:"frames,omitempty"`
	Region             *Box   `json:"region,omitempty"`
	SentDimensions     *Size  `json:"sent_dimensions,omitempty"`
	SentFormat         string `json:"sent_format,omitempty"`
	Content            *Box   `json:"sent_content,omitempty"` // where the picture lies in a padded frame, in sent pixels
	Downscaled         bool   `json:"downscaled"`
	Padded             bool   `json:"padded,omitempty"`
	CoordinateSpace    string `json:"coordinate_space"`
}

// coordinateSpace is the space of every coordinate in an answer.
const coordinateSpace = "upright_original"

// ModelOptions are the sampling options of a model call.
type ModelOptions struct {
	Temperature float64 `json:"temperature"`
	Seed        int     `json:"seed"`
	NumPredict  int     `json:"num_predict"`
}

// ModelMetrics are a model call's times and counts.
type ModelMetrics struct {
	TimeToFirstTokenMS int64 `json:"time_to_first_token_ms"`
	TotalMS            int64 `json:"total_ms"`
	LoadMS             int64 `json:"load_ms"`
	WaitedMS           int64 `json:"waited_ms"` // in the queue before the model, not part of total_ms
	PromptTokens       int   `json:"prompt_tokens"`
	Tokens             int   `json:"tokens"`
	Attempts           int   `json:"attempts"`
}

// Returned describes one image block of the answer: its size and the factor
// from the full picture to it.
type Returned struct {
	MIMEType string  `json:"mime_type"`
	Width    int     `json:"width"`
	Height   int     `json:"height"`
	Scale    float64 `json:"scale"`
	Bytes    int     `json:"bytes"`
}
