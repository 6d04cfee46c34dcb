package tools

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/visions-mcp/visions/model"
	"github.com/visions-mcp/visions/model/modeltest"
)

func TestChatCompletion(t *testing.T) {
	r := registry(t)
	scripted := modeltest.New(
		modeltest.Answer{Text: "a cat"},
		modeltest.Answer{Calls: []model.ToolCall{{ID: "c1", Name: "size", Arguments: json.RawMessage(`{"of":"cat"}`)}}},
	)
	r.env.Models = map[string]model.Model{"": scripted}
	r.env.FastModel = modeltest.Name
	path := "../internal/imaging/testdata/images/base-640x360.png"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := base64.StdEncoding.EncodeToString(data)
	call := func(args string) (map[string]any, error) {
		res, err := r.Call(t.Context(), "chat_completion", json.RawMessage(args))
		if err != nil {
			return nil, err
		}
		var v map[string]any
		return v, json.Unmarshal(res.JSON, &v)
	}
	got, err := call(`{"messages":[{"role":"developer","content":"be brief"},{"role":"user","content":[{"type":"text","text":"what"},{"type":"text","text":"is it?"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,` + text + `"}},{"type":"image_url","image_url":"data:image/png;base64,` + text + `"},{"type":"image","data":"` + text + `","mimeType":"image/png"}]}]}`)
	if err != nil || got["content"] != "a cat" || got["finish_reason"] != "stop" || got["model"] != modeltest.Name {
		t.Fatalf("%v, %v", got, err)
	}
	req := scripted.Requests()[0]
	if m := req.Messages; len(m) != 2 || m[0].Role != "system" || m[1].Text != "what\nis it?" || len(m[1].Images) != 3 || m[1].Images[2].Bounds().Dx() != 640 {
		t.Errorf("the model was asked %+v", m)
	}
	if req.Options.Temperature != chatTemperature || req.Options.NumPredict != chatTokens {
		t.Errorf("options %+v", req.Options)
	}
	got, err = call(`{"temperature":0,"max_tokens":9,"tools":[{"type":"function","function":{"name":"size"}}],"messages":[{"role":"user","content":"how large?"},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"c0","type":"function","function":{"name":"size","arguments":"{\"of\":\"dog\"}"}}]},{"role":"tool","tool_call_id":"c0","name":"size","content":"big"}]}`)
	if err != nil || got["finish_reason"] != "tool_calls" {
		t.Fatalf("%v, %v", got, err)
	}
	if raw, _ := json.Marshal(got["tool_calls"]); string(raw) != `[{"function":{"arguments":"{\"of\":\"cat\"}","name":"size"},"id":"c1","type":"function"}]` {
		t.Errorf("calls %s", raw)
	}
	req = scripted.Requests()[1]
	if m := req.Messages; req.Options.Temperature != 0 || req.Options.NumPredict != 9 || string(m[1].Calls[0].Arguments) != `{"of":"dog"}` || m[2].CallID != "c0" || !strings.Contains(string(req.Tools), `"size"`) {
		t.Errorf("the model was asked %+v", req)
	}
	for name, c := range map[string]struct {
		args string
		code Code
		says string
	}{
		"no messages":        {`{"messages":[]}`, InvalidArgument, "empty"},
		"a message as text":  {`{"messages":["hi"]}`, InvalidArgument, "messages"},
		"an odd part":        {`{"messages":[{"role":"user","content":[{"type":"audio"}]}]}`, InvalidArgument, "content[0]"},
		"an image of none":   {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]}`, InvalidArgument, "content[0]"},
		"content of numbers": {`{"messages":[{"role":"user","content":7}]}`, InvalidArgument, "messages[0]"},
		"a private URL":      {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"http://127.0.0.1:1/a.png"}]}]}`, URLDenied, "127.0.0.1"},
		"a broken image":     {`{"messages":[{"role":"user","content":[{"type":"image","data":"` + text[:200] + `"}]}]}`, ImageCorrupt, "ends"},
		"broken arguments":   {`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}]}`, InvalidArgument, "tool_calls[0]"},
	} {
		_, err := call(c.args)
		var e *Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Message, c.says) {
			t.Errorf("%s: %v, want %s with %q", name, err, c.code, c.says)
		}
	}
}
