package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/visions-mcp/visions/model"
)

var checkVisionHealth = Tool{
	Name:        "check_vision_health",
	Title:       "Check what works",
	Description: "Reports whether the model server answers, which vision models it has and which are in memory, how long the queue is, and which engines are here.",
	Group:       "model",
	Listed:      true,
	Input:       Object(nil).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "status", "text"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		{"status", Schema{Type: "string", Enum: []any{"ok", "degraded"}, Description: "degraded: a part does not work; the rest does."}},
		{"text", Schema{Type: "string", Description: "The report in words."}},
		{"models", Schema{Type: "array", Items: &Schema{Type: "object", Open: true}}},
		{"ocr", Schema{Type: "object", Open: true}},
		{"queue", Schema{Type: "object", Open: true}},
		{"warnings", Schema{Type: "array", Items: &Schema{Type: "string"}}},
	}}.JSON(),
	Handle: handleHealth,
}

// healthTime bounds the questions to one model server.
const healthTime = 3 * time.Second

// Health is what is known of the engine's parts.
type Health struct {
	Success  bool            `json:"success"`
	Status   string          `json:"status"`
	Version  string          `json:"version"`
	UptimeS  int64           `json:"uptime_s"`
	Text     string          `json:"text"`
	Models   []BackendHealth `json:"models"`
	Queue    GateHealth      `json:"queue"`
	OCR      OCRHealth       `json:"ocr"`
	Imaging  string          `json:"imaging"`
	Warnings []string        `json:"warnings"`
}

// BackendHealth is one model server's state.
type BackendHealth struct {
	Name         string           `json:"name"` // its key in Config.Models, "default" for the entry ""
	URL          string           `json:"url,omitempty"`
	Connected    bool             `json:"connected"`
	Error        string           `json:"error,omitempty"`
	Installed    []string         `json:"installed"`
	VisionModels []string         `json:"vision_models"`
	Resident     []ResidentHealth `json:"resident"`
}

// ResidentHealth is a model in memory.
type ResidentHealth struct {
	Name      string `json:"name"`
	Bytes     int64  `json:"bytes"`
	VRAMBytes int64  `json:"vram_bytes"`
	Expires   string `json:"expires,omitempty"`
}

// OCRHealth is the state of the OCR engine.
type OCRHealth struct {
	Available bool     `json:"available"`
	Engine    string   `json:"engine"` // "none" when there is none
	Version   string   `json:"version,omitempty"`
	DataDir   string   `json:"data_dir,omitempty"`
	Languages []string `json:"languages"`
	Error     string   `json:"error,omitempty"`
}

// GateHealth is the load of the gate before the models.
type GateHealth struct {
	Active int `json:"active"`
	Places int `json:"places"`
	Queued int `json:"queued"`
}

func handleHealth(ctx context.Context, c *Call) (*Result, error) {
	var h *Health
	err := c.Wait(ctx, func() error { h = c.Health(ctx); return nil })
	return &Result{Value: h}, err
}

// Health asks every model server and sums up.
func (e *Env) Health(ctx context.Context) *Health {
	h := &Health{Success: true, Status: "ok", Version: e.Version, UptimeS: int64(time.Since(e.Started).Seconds()),
		Imaging: "pure Go: png, jpeg, gif, webp, bmp", Models: []BackendHealth{}, Warnings: []string{}}
	h.Queue.Active, h.Queue.Queued = e.ModelQ.Load()
	h.Queue.Places = e.ModelQ.Places()
	var vision []string
	for _, key := range slices.Sorted(maps.Keys(e.Models)) {
		b := backendHealth(ctx, key, e.Models[key])
		h.Models = append(h.Models, b)
		vision = append(vision, b.VisionModels...)
		if !b.Connected {
			h.Warnings = append(h.Warnings, fmt.Sprintf("model server %s does not answer: %s", b.Name, b.Error))
		}
	}
	for _, want := range []string{e.FastModel, e.HeavyModel} {
		if len(vision) > 0 && !slices.Contains(vision, want) && !slices.Contains(vision, want+":latest") {
			h.Warnings = append(h.Warnings, fmt.Sprintf("the configured model %s is not among the installed vision models (%s)", want, strings.Join(vision, ", ")))
		}
	}
	if len(vision) == 0 {
		h.Warnings = append(h.Warnings, "no vision model is installed: describing images does not work, everything else does")
	}
	h.OCR = e.ocrHealth(ctx)
	if !h.OCR.Available {
		h.Warnings = append(h.Warnings, "reading text (OCR) does not work: "+h.OCR.Error)
	}
	if len(h.Warnings) > 0 {
		h.Status = "degraded"
	}
	h.Text = h.words()
	return h
}

func (e *Env) ocrHealth(ctx context.Context) OCRHealth {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	info, err := e.OCR.Info(ctx)
	if err != nil {
		return OCRHealth{Engine: "none", Languages: []string{}, Error: err.Error()}
	}
	return OCRHealth{Available: true, Engine: info.Engine, Version: info.Version, DataDir: info.DataDir, Languages: info.Languages}
}

func backendHealth(ctx context.Context, key string, m model.Model) BackendHealth {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	b := BackendHealth{Name: key, Installed: []string{}, VisionModels: []string{}, Resident: []ResidentHealth{}}
	if key == "" {
		b.Name = "default"
	}
	if u, ok := m.(interface{ URL() string }); ok {
		b.URL = u.URL()
	}
	list, err := m.List(ctx)
	if err != nil {
		b.Error = err.Error()
		var e *model.Error
		if errors.As(err, &e) && e.Diagnosis != "" {
			b.Error = e.Diagnosis
		}
		return b
	}
	b.Connected = true
	for _, i := range list {
		b.Installed = append(b.Installed, i.Name)
		if i.Vision {
			b.VisionModels = append(b.VisionModels, i.Name)
		}
	}
	running, err := m.Running(ctx)
	if err != nil {
		b.Error = err.Error()
	}
	for _, r := range running {
		rh := ResidentHealth{Name: r.Name, Bytes: r.Size, VRAMBytes: r.VRAM}
		if !r.Expires.IsZero() {
			rh.Expires = r.Expires.UTC().Format(time.RFC3339)
		}
		b.Resident = append(b.Resident, rh)
	}
	return b
}

func (h *Health) words() string {
	var b strings.Builder
	fmt.Fprintf(&b, "visions %s, up %d s\n", h.Version, h.UptimeS)
	for _, m := range h.Models {
		if !m.Connected {
			fmt.Fprintf(&b, "Model server %s: not connected (%s)\n", m.Name, m.Error)
			continue
		}
		fmt.Fprintf(&b, "Model server %s: connected, %d models, vision: %s\n", m.Name, len(m.Installed), orNone(m.VisionModels))
		for _, r := range m.Resident {
			fmt.Fprintf(&b, "  in memory: %s, %d bytes (%d in VRAM)\n", r.Name, r.Bytes, r.VRAMBytes)
		}
	}
	fmt.Fprintf(&b, "Model concurrency: %d/%d active, %d queued\n", h.Queue.Active, h.Queue.Places, h.Queue.Queued)
	if h.OCR.Available {
		fmt.Fprintf(&b, "OCR: tesseract %s by %s, languages: %s\n", h.OCR.Version, h.OCR.Engine, orNone(h.OCR.Languages))
	} else {
		fmt.Fprintf(&b, "OCR: none\n")
	}
	fmt.Fprintf(&b, "Imaging: %s\n", h.Imaging)
	for _, w := range h.Warnings {
		fmt.Fprintf(&b, "Warning: %s\n", w)
	}
	return b.String()
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}
