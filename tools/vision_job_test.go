package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/job"
	"github.com/visions-mcp/visions/internal/source"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/model"
	"github.com/visions-mcp/visions/model/modeltest"
)

// analysis is an answer that follows the schema.
const analysis = `{"summary":"A grey square.","objects":[{"name":"square","description":"grey"}],"text":["OK"],"colours":["grey"],"quality":{"sharp":true,"exposure":"good","issues":[]}}`

// jobRegistry is a registry whose model answers from a script, with one upload
// in its store.
func jobRegistry(t *testing.T, m *modeltest.Model) (r *Registry, upload string) {
	t.Helper()
	r = registry(t)
	r.env.Models = map[string]model.Model{"": m}
	r.env.HeavyModel, r.env.FastModel = modeltest.Name, modeltest.Name
	r.env.Sources = source.New(source.Config{Store: r.env.Store})
	var buf bytes.Buffer
	if err := png.Encode(&buf, noise(64, 48)); err != nil {
		t.Fatal(err)
	}
	ref, err := r.env.Store.Put(store.Uploads, "png", buf.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return r, "upload://" + ref.ID
}

// call calls a tool and decodes its answer.
func call(t *testing.T, r *Registry, tool string, args map[string]any) map[string]any {
	t.Helper()
	res, err := r.Call(context.Background(), tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	var v map[string]any
	if err := json.Unmarshal(res.JSON, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// ended waits for the end of a job.
func ended(t *testing.T, r *Registry, id string) {
	t.Helper()
	if _, err := r.env.Jobs.Wait(context.Background(), id); err != nil {
		t.Fatal(err)
	}
}

func TestAVisionJobFromStartToResult(t *testing.T) {
	m := modeltest.New(modeltest.Answer{Text: "```json\n" + analysis + "\n```"})
	r, upload := jobRegistry(t, m)
	started := call(t, r, "vision_job_start", map[string]any{"image_url": upload, "focus": "the square", "filename": "square.png"})
	id, _ := started["job_id"].(string)
	if len(id) != 32 || strings.Trim(id, "0123456789abcdef") != "" {
		t.Fatalf("%v", started)
	}
	ended(t, r, id)
	if s := call(t, r, "vision_job_status", map[string]any{"job_id": id}); s["status"] != "completed" || s["expires_at"] == nil || s["poll_after_ms"] != nil {
		t.Errorf("%v", s)
	}
	for range 2 { // it can be read again
		v := call(t, r, "vision_job_result", map[string]any{"job_id": id})
		result, _ := v["result"].(map[string]any)
		want := []string{"colours", "objects", "provenance", "quality", "summary", "text", "warnings"}
		if v["job_id"] != id || v["status"] != "completed" || !slices.Equal(slices.Sorted(maps.Keys(result)), want) {
			t.Errorf("%v", v)
		}
	}
	req := m.Requests()[0]
	if !strings.Contains(req.Prompt, "the square") || !strings.Contains(req.Prompt, "square.png") || req.Schema == nil || len(req.Images) != 1 {
		t.Errorf("the model was asked %+v", req)
	}
}

func TestStatusTellsPhasePlaceAndWhenToAskAgain(t *testing.T) {
	m := modeltest.New(modeltest.Answer{Block: true})
	m.Repeat = true
	r, upload := jobRegistry(t, m)
	var ids []string
	for range 5 {
		ids = append(ids, call(t, r, "vision_job_start", map[string]any{"image_url": upload})["job_id"].(string))
	}
	if err := m.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	asking := 0 // two run, and one of them has the model
	for _, id := range ids[:2] {
		running := call(t, r, "vision_job_status", map[string]any{"job_id": id})
		if running["status"] != "running" || running["poll_after_ms"] != 2000.0 {
			t.Errorf("one of the first: %v", running)
		}
		if running["phase"] == "starting_model" {
			asking++
		}
	}
	if asking == 0 {
		t.Error("no job says that it starts the model")
	}
	last := call(t, r, "vision_job_result", map[string]any{"job_id": ids[4]}) // asked too early: no error
	if last["status"] != "queued" || last["queue_position"] != 2.0 || last["poll_after_ms"] != 6000.0 || last["result"] != nil {
		t.Errorf("the last: %v", last)
	}
	status := call(t, r, "vision_status", nil)
	queue, _ := status["queue"].(map[string]any)
	if status["ok"] != true || queue["running"] != 2.0 || queue["queued"] != 3.0 {
		t.Errorf("%v", status)
	}
	for _, id := range ids {
		if c := call(t, r, "vision_job_cancel", map[string]any{"job_id": id}); c["cancelled"] != true {
			t.Errorf("%v", c)
		}
		ended(t, r, id)
	}
	s := call(t, r, "vision_job_status", map[string]any{"job_id": ids[0]})
	if s["status"] != "failed" || s["error"] != "cancelled" || s["code"] != "CANCELLED" {
		t.Errorf("a cancelled one: %v", s)
	}
	if c := call(t, r, "vision_job_cancel", map[string]any{"job_id": ids[0]}); c["cancelled"] != true {
		t.Errorf("again: %v", c)
	}
}

// An address that does not answer keeps nobody waiting: fetching is the job's.
func TestASlowAddressDoesNotHoldTheStart(t *testing.T) {
	r, _ := jobRegistry(t, modeltest.Say(analysis))
	asked := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		close(asked)
		<-req.Context().Done()
	}))
	defer slow.Close()
	r.env.Sources = source.New(source.Config{PrivateURLs: true})
	begun := time.Now()
	id := call(t, r, "vision_job_start", map[string]any{"image_url": slow.URL + "/never.png"})["job_id"].(string)
	if took := time.Since(begun); took > time.Second {
		t.Errorf("the start took %s", took)
	}
	<-asked
	call(t, r, "vision_job_cancel", map[string]any{"job_id": id})
	ended(t, r, id) // the cancel has reached the socket
}

func TestAFailedJobSaysWhyInBothForms(t *testing.T) {
	refused := &model.Error{Kind: model.KindUnavailable, Model: "m", Err: errors.New("connection refused")}
	for name, c := range map[string]struct {
		url      string
		answers  []modeltest.Answer
		code     Code
		attempts float64
	}{
		"no image":          {"", nil, UnsupportedFormat, 1},
		"no schema":         {"upload", []modeltest.Answer{{Text: "A nice picture."}}, ModelIncomplete, 1},
		"member missing":    {"upload", []modeltest.Answer{{Text: `{"summary":"x"}`}}, ModelIncomplete, 1},
		"not installed":     {"upload", []modeltest.Answer{{Err: &model.Error{Kind: model.KindNotFound, Model: "m", Err: errors.New("no")}}}, ModelNotFound, 1},
		"never reached":     {"upload", []modeltest.Answer{{Err: refused}, {Err: refused}, {Err: refused}}, ModelUnavailable, 3},
		"the file is there": {"path", nil, PathDenied, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, upload := jobRegistry(t, modeltest.New(c.answers...))
			ctx := context.Background()
			switch c.url {
			case "":
				ref, err := r.env.Store.Put(store.Uploads, "png", []byte("no image at all"))
				if err != nil {
					t.Fatal(err)
				}
				upload = "upload://" + ref.ID
			case "path":
				upload, ctx = "/etc/passwd", WithoutPaths(ctx)
			}
			res, err := r.Call(ctx, "vision_job_start", map[string]any{"image_url": upload})
			if err != nil {
				t.Fatal(err)
			}
			var started jobView
			if err := json.Unmarshal(res.JSON, &started); err != nil {
				t.Fatal(err)
			}
			ended(t, r, started.JobID)
			s := call(t, r, "vision_job_status", map[string]any{"job_id": started.JobID})
			if s["status"] != "failed" || s["code"] != string(c.code) || s["error"] == "" || s["attempt"] != c.attempts {
				t.Errorf("status %v", s)
			}
			_, err = r.Call(ctx, "vision_job_result", map[string]any{"job_id": started.JobID})
			var e *Error
			if !errors.As(err, &e) || e.Code != c.code || !e.Structured {
				t.Fatalf("result %v", err)
			}
			if o := e.Object(); o["is_error"] != true || o["error"] != e.Message || o["job_id"] != started.JobID || o["status"] != "failed" {
				t.Errorf("%v", o)
			}
		})
	}
}

func TestRetryFindsTheModelAgain(t *testing.T) {
	r, upload := jobRegistry(t, modeltest.New(modeltest.Answer{Err: &model.Error{Kind: model.KindFailed, Model: "m", Err: errors.New("500")}}, modeltest.Answer{Text: analysis}))
	id := call(t, r, "vision_job_start", map[string]any{"image_url": upload})["job_id"].(string)
	ended(t, r, id)
	if s := call(t, r, "vision_job_status", map[string]any{"job_id": id}); s["status"] != "completed" || s["attempt"] != 2.0 {
		t.Errorf("%v", s)
	}
}

func TestWhatAJobToolRefuses(t *testing.T) {
	r, _ := jobRegistry(t, modeltest.Say(analysis))
	for name, c := range map[string]struct {
		tool string
		args map[string]any
		code Code
	}{
		"no address":     {"vision_job_start", nil, InvalidArgument},
		"empty address":  {"vision_job_start", map[string]any{"image_url": " "}, InvalidArgument},
		"base64":         {"vision_job_start", map[string]any{"image_url": strings.Repeat("iVBOR", 1000)}, InvalidArgument},
		"data URI":       {"vision_job_start", map[string]any{"image_url": "data:image/png;base64,iVBORw0KGgo="}, InvalidArgument},
		"no such upload": {"vision_job_start", map[string]any{"image_url": "upload://00000000000000000000000000000000.png"}, NotFound},
		"no such job":    {"vision_job_status", map[string]any{"job_id": "17"}, JobUnknown},
		"invented job":   {"vision_job_result", map[string]any{"job_id": strings.Repeat("f", 32)}, JobUnknown},
		"earlier job":    {"vision_job_cancel", map[string]any{"job_id": "0000000001" + strings.Repeat("0", 22)}, JobRestarted},
	} {
		_, err := r.Call(context.Background(), c.tool, c.args)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !e.Structured {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

// The text of the model reaches who watches, as it comes.
func TestAWatcherHearsTheModel(t *testing.T) {
	r, upload := jobRegistry(t, modeltest.Say(analysis))
	all, err := r.env.Jobs.Watch("")
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	call(t, r, "vision_job_start", map[string]any{"image_url": upload})
	text, phases := "", []string{}
	for {
		ev, ok := all.Next(t.Context())
		if !ok {
			t.Fatal("the events ended before the job")
		}
		text += ev.Delta
		phases = append(phases, ev.Phase)
		if ev.State.Final() {
			break
		}
	}
	if phases = slices.Compact(phases); text != analysis || !slices.Equal(phases, []string{"", "starting_model", "running", "parsing", ""}) {
		t.Errorf("%q, phases %q", text, phases)
	}
}

func TestAFullTableIsSaid(t *testing.T) {
	m := modeltest.New(modeltest.Answer{Block: true})
	m.Repeat = true
	r, upload := jobRegistry(t, m)
	for range job.DefaultDepth {
		call(t, r, "vision_job_start", map[string]any{"image_url": upload})
	}
	_, err := r.Call(context.Background(), "vision_job_start", map[string]any{"image_url": upload})
	if e := AsError(err); e.Code != QueueFull || !e.Code.Retryable() || e.Details["queue_depth"] != int64(job.DefaultDepth) {
		t.Errorf("%v", err)
	}
}
