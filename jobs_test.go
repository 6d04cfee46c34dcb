package visions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/visions-mcp/visions"
	"github.com/visions-mcp/visions/model"
	"github.com/visions-mcp/visions/model/modeltest"
	"github.com/visions-mcp/visions/tools"
)

// Jobs in a folder go on with the next Engine, and those in memory are told to
// be lost by a restart.
func TestJobsOverARestart(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "picture.png")
	var buf bytes.Buffer
	if err := png.Encode(&buf, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, jobs := range map[string]string{"folder": filepath.Join(dir, "jobs"), "memory": ""} {
		engine := func(a modeltest.Answer) (*visions.Engine, *modeltest.Model) {
			t.Helper()
			m := modeltest.New(a)
			e, err := visions.New(visions.Config{Models: map[string]model.Model{"": m}, HeavyModel: modeltest.Name, JobDir: jobs})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			return e, m
		}
		first, m := engine(modeltest.Answer{Block: true})
		res, err := first.Call(context.Background(), "vision_job_start", visions.Args{"image_url": file})
		if err != nil {
			t.Fatal(err)
		}
		var started struct {
			JobID string `json:"job_id"`
		}
		if err := json.Unmarshal(res.JSON, &started); err != nil {
			t.Fatal(err)
		}
		if err := m.Await(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Watch(started.JobID); err != visions.ErrClosed {
			t.Errorf("%s: Watch of a closed Engine: %v", name, err)
		}

		second, _ := engine(modeltest.Answer{Text: `{"summary":"grey","objects":[],"text":[],"colours":["grey"],"quality":{"sharp":true,"exposure":"good","issues":[]}}`})
		w, err := second.Watch(started.JobID)
		if jobs == "" {
			if e := tools.AsError(err); e.Code != tools.JobRestarted {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var last visions.JobEvent
		for ev, ok := w.Next(t.Context()); ok; ev, ok = w.Next(t.Context()) {
			last = ev
		}
		res, err = second.Call(context.Background(), "vision_job_result", visions.Args{"job_id": started.JobID})
		if err != nil || !bytes.Contains(res.JSON, []byte(`"summary":"grey"`)) {
			t.Errorf("%s: %v after %+v", name, err, last)
		}
	}
}
