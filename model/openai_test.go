package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/tinyvision"
)

func openAI(t *testing.T, c OpenAIConfig) *OpenAI {
	t.Helper()
	o, err := NewOpenAI(c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOpenAIOnARealServer asks the real Ollama server by its /v1 routes.
func TestOpenAIOnARealServer(t *testing.T) {
	o := openAI(t, OpenAIConfig{URL: server.URL, VisionModels: []string{tinyvision.Vision}})
	list, err := o.List(t.Context())
	if err != nil || !slices.ContainsFunc(list, func(m Installed) bool { return m.Name == tinyvision.Vision && m.Vision }) {
		t.Fatalf("%+v, %v", list, err)
	}
	for name, c := range named {
		pieces := ""
		res, err := o.Chat(t.Context(), &Request{Model: tinyvision.Vision, Prompt: "What colour?", Images: []image.Image{solid(300, 200, c)}}, func(s string) { pieces += s })
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(res.Text, name) || pieces != res.Text || res.PromptTokens == 0 || res.Tokens == 0 || len(res.Images) != 1 {
			t.Errorf("%s: %+v", name, res)
		}
	}
	res, err := o.Chat(t.Context(), &Request{Model: tinyvision.Vision, Prompt: "Colour?", Images: pixel,
		Schema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue"]}},"required":["colour"]}`)}, nil)
	if err != nil || !strings.Contains(res.Text, `"red"`) {
		t.Errorf("with a schema: %+v, %v", res, err)
	}
	for name, want := range map[string]Kind{tinyvision.Text: KindNotVision, "absent": KindNotFound} {
		_, err := o.Chat(t.Context(), &Request{Model: name, Prompt: "x", Images: pixel}, nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != want || !slices.Contains(e.InstalledVision, tinyvision.Vision) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	_, err = o.Chat(t.Context(), &Request{Model: tinyvision.Vision, Prompt: "LOOP", Images: pixel, Options: Options{NumPredict: 20}}, nil)
	if kindOf(err) != KindIncomplete {
		t.Errorf("cut for length: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	start := time.Now()
	_, err = o.Chat(ctx, &Request{Model: tinyvision.Vision, Prompt: "LOOP", Images: pixel, Options: Options{NumPredict: 4000}}, func(string) {
		cancel()
		start = time.Now()
	})
	if kindOf(err) != KindCancelled || time.Since(start) > time.Second {
		t.Errorf("cancelled: %v after %s", err, time.Since(start))
	}
}

// recorded answers as other servers of this API do.
func recorded(t *testing.T, models, kind string, statusCode int, answer string) (url string, got *http.Request, body *map[string]any) {
	t.Helper()
	got, body = &http.Request{}, &map[string]any{}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/models", func(w http.ResponseWriter, _ *http.Request) {
		if models == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		io.WriteString(w, models) //nolint:errcheck // the test sees it
	})
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		*got = *r
		json.NewDecoder(r.Body).Decode(body) //nolint:errcheck // looked at by the test
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(statusCode)
		io.WriteString(w, answer) //nolint:errcheck // the test sees it
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL, got, body
}

const (
	stream = "text/event-stream"
	whole  = `data: {"choices":[{"delta":{"role":"assistant","content":""}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"reasoning_content":"hm"}}]}` + "\n\n: comment\n\nevent: x\n" +
		`data: {"choices":[{"delta":{"content":"re"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"d"}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n"
)

// TestOpenAIDialects reads lists and answers in the forms that servers give them.
func TestOpenAIDialects(t *testing.T) {
	for name, c := range map[string]struct {
		models, kind, answer string
		warned               bool // that the server does not say whether the model sees
		refused              Kind
	}{
		"plain list":         {`{"data":[{"id":"m"}]}`, stream, whole, true, ""},
		"no list":            {"", stream, whole, true, ""},
		"OpenRouter":         {`{"data":[{"id":"m","architecture":{"input_modalities":["text","image"]},"context_length":4096}]}`, stream, whole, false, ""},
		"OpenRouter, blind":  {`{"data":[{"id":"m","architecture":{"input_modalities":["text"]}}]}`, stream, whole, false, KindNotVision},
		"LM Studio":          {`{"data":[{"id":"m","type":"vlm"}]}`, stream, whole, false, ""},
		"LM Studio, blind":   {`{"data":[{"id":"m","type":"llm"}]}`, stream, whole, false, KindNotVision},
		"Mistral":            {`{"data":[{"id":"m","capabilities":{"vision":true}}]}`, stream, whole, false, ""},
		"llama.cpp":          {`{"models":[{"name":"m","capabilities":["completion","multimodal"]}],"data":[{"id":"m","meta":{"n_ctx_train":8192}}]}`, stream, whole, false, ""},
		"llama.cpp, blind":   {`{"models":[{"name":"m","capabilities":["completion"]}],"data":[{"id":"m"}]}`, stream, whole, false, KindNotVision},
		"another model only": {`{"data":[{"id":"other"}]}`, stream, whole, false, KindNotFound},
		"no stream":          {`{"data":[{"id":"m","type":"vlm"}]}`, "application/json", `{"choices":[{"message":{"content":"red"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`, false, ""},
		"an older end":       {`{"data":[{"id":"m","type":"vlm"}]}`, stream, strings.Replace(whole, `"stop"`, `"eos"`, 1), false, ""},
		"no DONE":            {`{"data":[{"id":"m","type":"vlm"}]}`, stream, strings.Replace(whole, "data: [DONE]\n\n", "", 1), false, ""},
	} {
		url, _, body := recorded(t, c.models, c.kind, 200, c.answer)
		res, err := openAI(t, OpenAIConfig{URL: url}).Chat(t.Context(), &Request{Model: "m", Prompt: "see [img]", Images: pixel}, nil)
		if kindOf(err) != c.refused || err != nil && c.refused == "" {
			t.Errorf("%s: %v, want %q", name, err, c.refused)
			continue
		}
		if err != nil {
			continue
		}
		if res.Text != "red" || res.PromptTokens != 9 || res.Tokens != 2 || (len(res.Warnings) > 0) != c.warned {
			t.Errorf("%s: %+v", name, res)
		}
		sent, _ := json.Marshal((*body)["messages"])
		if !strings.Contains(string(sent), `"data:image/png;base64,`) || strings.Contains(string(sent), "[img]") {
			t.Errorf("%s: sent %.200s", name, sent)
		}
	}
}

func TestOpenAIConversationsAndCalls(t *testing.T) {
	answer := `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c2","type":"function","function":{"name":"size","arguments":""}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"of\":"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"all\"}"}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c3","function":{"name":"stop","arguments":""}}]}}]}` + "\n\n" +
		`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	url, _, body := recorded(t, `{"data":[{"id":"m","type":"vlm"}]}`, stream, 200, answer)
	res, err := openAI(t, OpenAIConfig{URL: url}).Chat(t.Context(), conversation(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Calls) != 2 || res.Calls[0].ID != "c2" || string(res.Calls[0].Arguments) != `{"of":"all"}` || res.Calls[1].Name != "stop" || string(res.Calls[1].Arguments) != "{}" {
		t.Errorf("calls %+v", res.Calls)
	}
	sent, _ := json.Marshal(map[string]any{"messages": (*body)["messages"], "tools": (*body)["tools"]})
	for _, want := range []string{`"tool_calls":[{"function":{"arguments":"{\"of\":\"it\"}","name":"size"},"id":"c1","type":"function"}]`, `"role":"tool","tool_call_id":"c1"`, `"name":"size"`} {
		if !strings.Contains(string(sent), want) {
			t.Errorf("what was sent lacks %s:\n%.1500s", want, sent)
		}
	}
	url, _, _ = recorded(t, `{"data":[{"id":"m","type":"vlm"}]}`, stream, 200, strings.Replace(answer, `\"all\"}`, "", 1))
	if _, err := openAI(t, OpenAIConfig{URL: url}).Chat(t.Context(), conversation(), nil); kindOf(err) != KindIncomplete {
		t.Errorf("a call cut short: %v", err)
	}
}

func TestOpenAIFailures(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		status int
		answer string
		want   Kind
		says   string
	}{
		"busy":            {"application/json", 429, `{"error":{"message":"slow down","code":"rate_limit"}}`, KindUnavailable, "slow down"},
		"no permission":   {"application/json", 401, `{"error":{"message":"Incorrect API key provided: sk-secret"}}`, "", "[key]"},
		"too long":        {"application/json", 400, `{"error":{"message":"This model's maximum context length is 4096 tokens","code":"context_length_exceeded"}}`, KindContext, "4096"},
		"wrong":           {"application/json", 400, `{"detail":[{"msg":"field required"}]}`, KindInvalid, "field required"},
		"not found":       {"application/json", 404, `{"message":"no model m"}`, KindNotFound, "no model m"},
		"broken":          {"text/html", 502, `<h1>Bad Gateway</h1>`, "", "Bad Gateway"},
		"an error inside": {stream, 200, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"out of memory sk-secret\"}}\n\n", KindFailed, "out of memory [key]"},
		"no end":          {stream, 200, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n", KindIncomplete, "final message"},
		"cut for length":  {stream, 200, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n", KindIncomplete, "num_predict"},
		"filtered":        {stream, 200, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n", KindIncomplete, "content_filter"},
		"no answer":       {stream, 200, "data: <html>\n\n", KindFailed, "no piece"},
	} {
		url, got, _ := recorded(t, `{"data":[{"id":"m","type":"vlm"}]}`, c.kind, c.status, c.answer)
		_, err := openAI(t, OpenAIConfig{URL: url, Key: StaticKey(" sk-secret\n")}).Chat(t.Context(), &Request{Model: "m", Prompt: "x", Images: pixel}, nil)
		if err == nil || c.want != "" && kindOf(err) != c.want || !strings.Contains(err.Error(), c.says) || strings.Contains(fmt.Sprintf("%v %+v", err, err), "sk-secret") {
			t.Errorf("%s: %v, want %s that says %q and no key", name, err, c.want, c.says)
		}
		if got.Header.Get("Authorization") != "Bearer sk-secret" {
			t.Errorf("%s: the key was sent as %q", name, got.Header.Get("Authorization"))
		}
	}
	url, _, _ := recorded(t, "", stream, 200, whole)
	for name, key := range map[string]func(context.Context) (string, error){
		"a key that fails":       func(context.Context) (string, error) { return "", errors.New("the vault is shut") },
		"a key with a line feed": StaticKey("sk\nsecret"),
	} {
		_, err := openAI(t, OpenAIConfig{URL: url, Key: key}).Chat(t.Context(), &Request{Model: "m", Prompt: "x"}, nil)
		var e *Error
		if !errors.As(err, &e) || e.Retryable() || !strings.Contains(err.Error(), "OpenAIConfig.Key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, bad := range []string{"", "127.0.0.1:8080", "ftp://a/v1", "http://me:secret@a/v1", "http://a/v1?key=secret", "http://"} {
		if _, err := NewOpenAI(OpenAIConfig{URL: bad}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("URL %q: %v", bad, err)
		}
	}
}
