package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// scripted is an Ollama server that does what a real one cannot be made to do:
// it knows one model, and answers each chat with the next of its turns.
type scripted struct {
	*httptest.Server
	chats atomic.Int32
	lists atomic.Int32

	mu    sync.Mutex
	turns []http.HandlerFunc
	body  map[string]any // of the last chat
}

func script(t *testing.T, turns ...http.HandlerFunc) *scripted {
	s := &scripted{turns: turns}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/tags", func(w http.ResponseWriter, _ *http.Request) {
		s.lists.Add(1)
		fmt.Fprint(w, `{"models":[{"name":"m:latest","model":"m:latest","digest":"abc"}]}`)
	})
	mux.HandleFunc("/api/show", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"capabilities":["completion","vision"]}`)
	})
	mux.HandleFunc("/api/ps", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"models":[]}`) })
	mux.HandleFunc("/api/chat", func(w http.ResponseWriter, r *http.Request) {
		n := int(s.chats.Add(1))
		s.mu.Lock()
		s.body = nil
		json.NewDecoder(r.Body).Decode(&s.body) //nolint:errcheck // looked at by the test
		turn := s.turns[min(n, len(s.turns))-1]
		s.mu.Unlock()
		turn(w, r)
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Turns of a script.
func says(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, strings.Join(lines, "\n")) }
}

func status(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":%q}`, message)
	}
}

const (
	piece = `{"message":{"role":"assistant","content":"half "}}`
	last  = `{"message":{"role":"assistant","content":"whole"},"done":true,"done_reason":"stop"}`
)

var pixel = []image.Image{solid(60, 60, named["red"])}

func TestEveryRequestIsCheckedBeforeAnythingIsSent(t *testing.T) {
	s := script(t, says(last))
	o := backend(t, s.URL)
	var none *image.NRGBA
	for name, change := range map[string]func(*Request){
		"no model":              func(r *Request) { r.Model = "" },
		"neither text nor look": func(r *Request) { r.Prompt, r.Images = " ", nil },
		"a nil image":           func(r *Request) { r.Images = []image.Image{nil} },
		"a nil pointer":         func(r *Request) { r.Images = []image.Image{none} },
		"an empty image":        func(r *Request) { r.Images = []image.Image{image.NewNRGBA(image.Rectangle{})} },
		"17 images":             func(r *Request) { r.Images = make([]image.Image, 17) },
		"a long prompt":         func(r *Request) { r.Prompt = strings.Repeat("a", maxText+1) },
		"cold":                  func(r *Request) { r.Options.Temperature = -1 },
		"hot":                   func(r *Request) { r.Options.Temperature = 2.1 },
		"no number":             func(r *Request) { r.Options.Temperature = math.NaN() },
		"negative tokens":       func(r *Request) { r.Options.NumPredict = -1 },
		"too many tokens":       func(r *Request) { r.Options.NumPredict = maxNumPredict + 1 },
		"negative time":         func(r *Request) { r.Timeout = -1 },
		"negative first token":  func(r *Request) { r.FirstToken = -1 },
		"negative edge":         func(r *Request) { r.MaxEdge = -1 },
		"keep alive":            func(r *Request) { r.KeepAlive = "soon" },
		"a schema of text":      func(r *Request) { r.Schema = json.RawMessage(`"object"`) },
		"a null schema":         func(r *Request) { r.Schema = json.RawMessage(`null`) },
		"a broken schema":       func(r *Request) { r.Schema = json.RawMessage(`{`) },
		"a type of its own":     func(r *Request) { r.Schema = json.RawMessage(`{"type":"colour"}`) },
		"no list of names":      func(r *Request) { r.Schema = json.RawMessage(`{"required":"a"}`) },
		"an empty enum":         func(r *Request) { r.Schema = json.RawMessage(`{"enum":[]}`) },
		"many items":            func(r *Request) { r.Schema = json.RawMessage(`{"type":"array","minItems":100000}`) },
		"items upside down":     func(r *Request) { r.Schema = json.RawMessage(`{"minItems":5,"maxItems":2}`) },
		"two ways of asking":    func(r *Request) { r.Messages = []Message{{Role: RoleUser, Text: "x"}} },
		"only instructions": func(r *Request) {
			r.Prompt, r.Images, r.Messages = "", nil, []Message{{Role: RoleSystem, Text: "be brief"}}
		},
		"an unknown role": func(r *Request) {
			r.Prompt, r.Images, r.Messages = "", nil, []Message{{Role: "critic", Text: "x"}}
		},
		"functions of no form":   func(r *Request) { r.Tools = json.RawMessage(`[{"name":"f"}]`) },
		"functions that are one": func(r *Request) { r.Tools = json.RawMessage(`{"type":"function"}`) },
		"many functions":         func(r *Request) { r.Tools = bytes.Repeat([]byte(" "), maxTools+1) },
		"a deep schema": func(r *Request) {
			r.Schema = json.RawMessage(strings.Repeat(`{"items":`, 40) + `{}` + strings.Repeat(`}`, 40))
		},
		"a long schema": func(r *Request) {
			r.Schema = fmt.Appendf(nil, `{"properties":{"%s":{}}}`, strings.Repeat("a", maxSchema))
		},
	} {
		r := &Request{Model: "m", Prompt: "x", Images: pixel}
		change(r)
		if _, err := o.Chat(t.Context(), r, nil); kindOf(err) != KindInvalid || len(err.Error()) > 2*maxMessage {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	if _, err := o.Chat(t.Context(), nil, nil); kindOf(err) != KindInvalid {
		t.Errorf("a nil request: %v", err)
	}
	if s.lists.Load()+s.chats.Load() != 0 {
		t.Errorf("the server was asked %d times", s.lists.Load()+s.chats.Load())
	}
}

// TestWhatIsSent looks at the request as the server gets it.
func TestWhatIsSent(t *testing.T) {
	s := script(t, says(last))
	schema := json.RawMessage(`{"$schema":"x","type":"object","pattern":"^(?=x)y$","$ref":"#/a","oneOf":[{}],"properties":{"a":{"type":"string","description":"d","format":"uri","enum":["x"]}},"required":["a"]}`)
	res, err := backend(t, s.URL).Chat(t.Context(), &Request{Model: "M", System: "see [img]", Prompt: "what is [img-7] and [img] but not [image]?", Schema: schema,
		Images: pixel, KeepAlive: "5m", Options: Options{Temperature: 0.5, Seed: 7, NumPredict: 99}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := s.body
	if b["model"] != "m:latest" || b["truncate"] != false || b["shift"] != false || b["keep_alive"] != "5m0s" {
		t.Errorf("model %v, truncate %v, shift %v, keep_alive %v", b["model"], b["truncate"], b["shift"], b["keep_alive"])
	}
	if o := b["options"].(map[string]any); o["temperature"] != 0.5 || o["seed"] != 7.0 || o["num_predict"] != 99.0 {
		t.Errorf("options %v", o)
	}
	sent, _ := json.Marshal(b["format"])
	if string(sent) != `{"properties":{"a":{"enum":["x"],"type":"string"}},"required":["a"],"type":"object"}` {
		t.Errorf("the schema that was sent: %s", sent)
	}
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], "$ref, format, oneOf, pattern") {
		t.Errorf("warnings %q", res.Warnings)
	}
	for _, m := range b["messages"].([]any) {
		text := m.(map[string]any)["content"].(string)
		if strings.Contains(text, "[img]") || strings.Contains(text, "[img-7]") {
			t.Errorf("a mark for an image was sent: %q", text)
		}
		if strings.Contains(text, "what is") && !strings.Contains(text, "[image]") {
			t.Errorf("harmless text was changed: %q", text)
		}
	}
}

// conversation has images in two turns, a call and its answer.
func conversation() *Request {
	return &Request{Model: "m", Messages: []Message{
		{Role: RoleSystem, Text: "be brief"},
		{Role: RoleUser, Text: "first [img-1]", Images: pixel},
		{Role: RoleAssistant, Calls: []ToolCall{{ID: "c1", Name: "size", Arguments: json.RawMessage(`{"of":"it"}`)}}},
		{Role: RoleTool, Text: "60x60", CallID: "c1", Name: "size"},
		{Role: RoleUser, Text: "second", Images: []image.Image{pixel[0], pixel[0]}},
	}, Tools: json.RawMessage(`[{"type":"function","function":{"name":"size","description":"d","parameters":{"type":"object","properties":{"of":{"type":"string"}}}}}]`)}
}

func TestConversationsAndCalls(t *testing.T) {
	s := script(t, says(`{"message":{"role":"assistant","content":"","tool_calls":[{"id":"c2","function":{"name":"size","arguments":{"of":"all"}}},{"function":{"name":"stop","arguments":{}}}]}}`,
		`{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`))
	res, err := backend(t, s.URL).Chat(t.Context(), conversation(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Calls) != 2 || res.Calls[0].ID != "c2" || res.Calls[0].Name != "size" || string(res.Calls[0].Arguments) != `{"of":"all"}` || string(res.Calls[1].Arguments) != "{}" {
		t.Errorf("calls %+v", res.Calls)
	}
	messages := s.body["messages"].([]any)
	var images []int
	for _, m := range messages {
		list, _ := m.(map[string]any)["images"].([]any)
		images = append(images, len(list))
	}
	if !slices.Equal(images, []int{0, 1, 0, 0, 2}) || len(res.Images) != 3 {
		t.Errorf("images by message: %v", images)
	}
	tool := messages[3].(map[string]any)
	if tool["role"] != "tool" || tool["tool_name"] != "size" || tool["tool_call_id"] != "c1" || tool["content"] != "60x60" {
		t.Errorf("the function's answer was sent as %v", tool)
	}
	if call := fmt.Sprint(messages[2].(map[string]any)["tool_calls"]); !strings.Contains(call, "size") || !strings.Contains(call, "of:it") {
		t.Errorf("the call was sent as %s", call)
	}
	if sent := fmt.Sprint(s.body["tools"]); !strings.Contains(sent, "name:size") || strings.Contains(fmt.Sprint(messages[1]), "[img-1]") {
		t.Errorf("functions %s, messages %v", sent, messages[1])
	}
}

func TestOnlyAWholeAnswerCounts(t *testing.T) {
	for name, c := range map[string]struct {
		turn http.HandlerFunc
		kind Kind
		says string
	}{
		"no end":            {says(piece), KindIncomplete, "without a final message"},
		"nothing at all":    {func(http.ResponseWriter, *http.Request) {}, KindIncomplete, "without a final message"},
		"cut for length":    {says(piece, `{"done":true,"done_reason":"length","eval_count":9}`), KindIncomplete, "after 9 tokens"},
		"only loaded":       {says(`{"done":true,"done_reason":"load"}`), KindIncomplete, `"load"`},
		"empty":             {says(`{"message":{"content":" \n"},"done":true,"done_reason":"stop"}`), KindIncomplete, "empty"},
		"only thoughts":     {says(`{"message":{"thinking":"hm"},"done":true,"done_reason":"stop"}`), KindIncomplete, "empty"},
		"no JSON":           {says(`<html>`), KindFailed, ""},
		"an error inside":   {says(piece, `{"error":"out of memory"}`), KindFailed, "out of memory"},
		"no room":           {status(400, "the input length exceeds the context length"), KindContext, "context"},
		"a wrong request":   {status(400, "option must be of type integer"), KindInvalid, "integer"},
		"not found":         {status(404, `model "m" not found`), KindNotFound, "not found"},
		"no permission":     {status(401, "unauthorized"), KindFailed, ""},
		"the runner died":   {status(500, "model runner has unexpectedly stopped"), KindFailed, "runner"},
		"busy":              {status(503, "server busy, please try again"), KindUnavailable, "busy"},
		"an empty refusal":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "", ""},
		"closed without it": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", ""},
	} {
		_, err := backend(t, script(t, c.turn).URL).Chat(t.Context(), &Request{Model: "m", Prompt: "x", Images: pixel}, nil)
		var e *Error
		if !errors.As(err, &e) || c.kind != "" && e.Kind != c.kind || !strings.Contains(err.Error(), c.says) || e.Model != "m" || e.Elapsed == 0 {
			t.Errorf("%s: %v, want %s that says %q", name, err, c.kind, c.says)
		}
	}
}

// TestRetry counts the questions: one more where it can help, none where it
// cannot or where the reader has seen a part.
func TestRetry(t *testing.T) {
	busy, died, wrong := status(503, "server busy"), status(500, "model runner has unexpectedly stopped"), status(400, "wrong")
	cut := says(piece, `{"error":"an error was encountered while running the model: unexpected EOF"}`)
	for name, c := range map[string]struct {
		turns   []http.HandlerFunc
		delta   bool
		partial bool // Request.RetryPartial
		chats   int32
		kind    Kind // "" succeeds
	}{
		"busy once":                {[]http.HandlerFunc{busy, says(last)}, false, false, 2, ""},
		"busy for good":            {[]http.HandlerFunc{busy}, false, false, 2, KindUnavailable},
		"a runner that died":       {[]http.HandlerFunc{died, says(last)}, false, false, 2, ""},
		"wrong":                    {[]http.HandlerFunc{wrong, says(last)}, false, false, 1, KindInvalid},
		"incomplete":               {[]http.HandlerFunc{says(piece), says(last)}, false, false, 1, KindIncomplete},
		"cut, nobody watching":     {[]http.HandlerFunc{cut, says(last)}, false, false, 2, ""},
		"cut, somebody has it":     {[]http.HandlerFunc{cut, says(last)}, true, false, 1, KindFailed},
		"cut, pieces only counted": {[]http.HandlerFunc{cut, says(last)}, true, true, 2, ""},
	} {
		s := script(t, c.turns...)
		var delta func(string)
		if c.delta {
			delta = func(string) {}
		}
		res, err := backend(t, s.URL).Chat(t.Context(), &Request{Model: "m", Prompt: "x", Images: pixel, RetryPartial: c.partial}, delta)
		if kindOf(err) != c.kind || s.chats.Load() != c.chats {
			t.Errorf("%s: %v after %d questions, want %q after %d", name, err, s.chats.Load(), c.kind, c.chats)
		}
		if err == nil && (res.Text != "whole" || res.Attempts != int(c.chats)) {
			t.Errorf("%s: %q in %d attempts", name, res.Text, res.Attempts)
		}
		if s.lists.Load() > 2 {
			t.Errorf("%s: the models were listed %d times", name, s.lists.Load())
		}
	}
}

func TestCancelDuringThePauseIsACancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := script(t, func(w http.ResponseWriter, r *http.Request) {
		status(503, "busy")(w, r)
		time.AfterFunc(retryPause/3, cancel)
	})
	_, err := backend(t, s.URL).Chat(ctx, &Request{Model: "m", Prompt: "x"}, nil)
	if kindOf(err) != KindCancelled || s.chats.Load() != 1 {
		t.Errorf("%v after %d questions", err, s.chats.Load())
	}
}

func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	s := script(t, func(w http.ResponseWriter, r *http.Request) {
		line := `{"message":{"content":"` + strings.Repeat("a", 100_000) + `"}}` + "\n"
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, line); err != nil {
				return
			}
		}
	})
	_, err := backend(t, s.URL).Chat(t.Context(), &Request{Model: "m", Prompt: "x"}, nil)
	if kindOf(err) != KindIncomplete || !strings.Contains(err.Error(), fmt.Sprint(maxAnswer)) || s.chats.Load() != 1 {
		t.Errorf("%.300v after %d questions", err, s.chats.Load())
	}
}

func TestASilentServerTimesOut(t *testing.T) {
	s := script(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	o := backend(t, s.URL)
	for name, r := range map[string]*Request{
		"first token": {FirstToken: 50 * time.Millisecond}, "whole time": {Timeout: 50 * time.Millisecond},
	} {
		r.Model, r.Prompt = "m", "x"
		_, err := o.Chat(t.Context(), r, nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindTimeout || e.Resident == nil || !strings.Contains(e.Diagnosis, "loaded") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
