package model

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// statusError is a refusal by the server.
type statusError struct {
	code int // HTTP status, 0 for an error within a stream
	text string
}

func (e *statusError) Error() string { return e.text }

// keyError says that the host's Key function failed.
type keyError struct{ err error }

func (e *keyError) Error() string { return "no API key: " + e.err.Error() }
func (e *keyError) Unwrap() error { return e.err }

// hiddenKey stands for a key that a server repeated.
const hiddenKey = "[key]"

// do sends one request and returns its answer, whose status is 2xx. clean takes
// the key out of text that comes from the server.
func (o *OpenAI) do(ctx context.Context, method, path string, body any) (res *http.Response, clean func(string) string, err error) {
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return nil, nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, o.base+path, bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	clean = func(s string) string { return s }
	if o.key != nil {
		key, err := o.key(ctx)
		if err != nil {
			return nil, nil, &keyError{err}
		}
		if key = strings.TrimSpace(key); key != "" {
			if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return nil, nil, &keyError{errors.New("it holds a control character")}
			}
			req.Header.Set("Authorization", "Bearer "+key)
			clean = func(s string) string { return strings.ReplaceAll(s, key, hiddenKey) }
		}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	res, err = o.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	if res.StatusCode/100 == 2 {
		return res, clean, nil
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	return nil, nil, &statusError{res.StatusCode, clean(errorText(text, res.Status))}
}

// maxErrorBody bounds what is read of a refusal, in bytes.
const maxErrorBody = 64 << 10

// errorText finds the message in the forms that servers give it.
func errorText(body []byte, otherwise string) string {
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &v) != nil {
		if text := strings.TrimSpace(string(body)); text != "" {
			return text
		}
		return otherwise
	}
	var inner struct {
		Message string `json:"message"`
		Code    any    `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(v.Error, &inner) == nil && inner.Message != "":
		if code, ok := inner.Code.(string); ok && code != "" {
			return inner.Message + " (" + code + ")"
		}
		return inner.Message
	case json.Unmarshal(v.Error, &text) == nil && text != "":
		return text
	case v.Message != "":
		return v.Message
	case len(v.Detail) > 0:
		return string(v.Detail)
	}
	return otherwise
}

// sight is whether a model can look at images.
type sight int

const (
	unknown sight = iota
	sees
	blind
)

// listed is an entry of the list of models.
type listed struct {
	name    string
	sight   sight
	context int // tokens, 0 when unknown
}

// entry holds what servers add to an entry of the list: OpenRouter the
// modalities, LM Studio the type, Mistral and llama.cpp capabilities.
type entry struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Type         string `json:"type"`
	Architecture struct {
		Inputs []string `json:"input_modalities"`
	} `json:"architecture"`
	Capabilities  json.RawMessage `json:"capabilities"`
	ContextLength int             `json:"context_length"`
	MaxModelLen   int             `json:"max_model_len"`
	MaxContext    int             `json:"max_context_length"`
	Meta          struct {
		Train int `json:"n_ctx_train"`
	} `json:"meta"`
}

func (e entry) sight() sight {
	var flags map[string]any
	var names []string
	switch {
	case json.Unmarshal(e.Capabilities, &names) == nil && len(names) > 0:
		return sightOf(slices.Contains(names, "vision") || slices.Contains(names, "multimodal"))
	case json.Unmarshal(e.Capabilities, &flags) == nil && flags["vision"] != nil:
		return sightOf(flags["vision"] == true)
	case len(e.Architecture.Inputs) > 0:
		return sightOf(slices.Contains(e.Architecture.Inputs, "image"))
	case e.Type == "vlm":
		return sees
	case e.Type == "llm" || e.Type == "embeddings":
		return blind
	}
	return unknown
}

func sightOf(can bool) sight {
	if can {
		return sees
	}
	return blind
}

// models asks for the list and remembers it.
func (o *OpenAI) models(ctx context.Context) ([]listed, error) {
	res, _, err := o.do(ctx, http.MethodGet, "/models", nil)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var v struct {
		Data   []entry `json:"data"`
		Models []entry `json:"models"` // llama.cpp: the same models with capabilities
	}
	if err := json.NewDecoder(res.Body).Decode(&v); err != nil {
		return nil, err
	}
	list := []listed{}
	for _, e := range v.Data {
		m := listed{name: e.ID, sight: e.sight(), context: max(e.ContextLength, e.MaxModelLen, e.MaxContext, e.Meta.Train)}
		for _, more := range v.Models {
			if m.sight == unknown && more.Name == e.ID {
				m.sight = more.sight()
			}
		}
		list = append(list, m)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list, o.listed = list, time.Now()
	return list, nil
}

// part is a part of a message.
type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type message struct {
	Role    string     `json:"role"`
	Content any        `json:"content"`
	Calls   []wireCall `json:"tool_calls,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
}

// wireCall is a call of a function, or a piece of one in a stream.
type wireCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"` // JSON text of an object
	} `json:"function"`
}

// completion is the body of a question.
type completion struct {
	Model          string          `json:"model"`
	Messages       []message       `json:"messages"`
	Temperature    float64         `json:"temperature"`
	Seed           int             `json:"seed"`
	MaxTokens      int             `json:"max_tokens"`
	Stream         bool            `json:"stream"`
	StreamOptions  map[string]any  `json:"stream_options"`
	ResponseFormat map[string]any  `json:"response_format,omitempty"`
	Tools          json.RawMessage `json:"tools,omitempty"`
}

func newCompletion(q *question) *completion {
	c := &completion{Model: q.model, Temperature: q.options.Temperature, Seed: q.options.Seed, MaxTokens: q.options.NumPredict,
		Stream: true, StreamOptions: map[string]any{"include_usage": true}, Tools: q.tools}
	for _, t := range q.turns {
		c.Messages = append(c.Messages, newMessage(t, q.images[t.from:t.to]))
	}
	if q.schema != nil {
		c.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "answer", "schema": q.schema}}
	}
	return c
}

func newMessage(t turn, images []picture) message {
	m := message{Role: t.Role, Content: t.Text, CallID: t.CallID}
	for _, c := range t.Calls {
		call := wireCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, string(c.Arguments)
		m.Calls = append(m.Calls, call)
	}
	if len(images) == 0 {
		return m
	}
	parts := []part{}
	if t.Text != "" {
		parts = append(parts, part{Type: "text", Text: t.Text})
	}
	for _, p := range images {
		parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{
			"data:image/" + p.sent.Format + ";base64," + base64.StdEncoding.EncodeToString(p.data)}})
	}
	m.Content = parts
	return m
}

// chunk is a piece of an answer; Message is there when the server did not
// stream.
type chunk struct {
	Choices []struct {
		Delta   content `json:"delta"`
		Message content `json:"message"`
		Reason  string  `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type content struct {
	Content   string     `json:"content"`
	Reasoning string     `json:"reasoning"`
	Thinking  string     `json:"reasoning_content"`
	Calls     []wireCall `json:"tool_calls"`
}

// stopReasons are what servers call an answer that the model has ended.
var stopReasons = []string{"stop", "eos", "eos_token", "stop_sequence", "end_turn", "tool_calls", "function_call"}

// maxLine bounds one event of a stream, in bytes.
const maxLine = 8 << 20

func (o *OpenAI) ask(ctx context.Context, q *question, heard func(string, bool) error) (final, error) {
	res, clean, err := o.do(ctx, http.MethodPost, "/chat/completions", newCompletion(q))
	if err != nil {
		return final{}, err
	}
	defer res.Body.Close()
	var end final
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "application/json" {
		data, err := io.ReadAll(res.Body)
		if err == nil {
			err = end.take(data, clean, heard)
		}
		return end, err
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		line := lines.Bytes()
		data, event := bytes.CutPrefix(line, []byte("data:"))
		if data = bytes.TrimSpace(data); bytes.Equal(data, []byte("[DONE]")) {
			return end, nil
		}
		if !event && !bytes.HasPrefix(data, []byte("{")) {
			continue // an empty line, a comment, or another field of the event
		}
		if len(data) == 0 {
			continue
		}
		if err := end.take(data, clean, heard); err != nil {
			return end, err
		}
	}
	if end.done {
		return end, nil // whole, however the connection ended
	}
	return end, lines.Err()
}

// take adds one piece to the answer.
func (f *final) take(data []byte, clean func(string) string, heard func(string, bool) error) error {
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return &statusError{0, "this is no piece of an answer: " + clean(clip(string(data)))}
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return &statusError{0, clean(errorText(data, "an error without a message"))}
	}
	if c.Usage != nil {
		f.promptTokens, f.tokens = c.Usage.Prompt, c.Usage.Completion
	}
	if len(c.Choices) == 0 {
		return nil
	}
	choice := c.Choices[0]
	for _, part := range []content{choice.Delta, choice.Message} {
		if err := heard(part.Reasoning+part.Thinking, true); err != nil {
			return err
		}
		if err := heard(part.Content, false); err != nil {
			return err
		}
		for _, c := range part.Calls {
			f.call(c)
		}
	}
	if choice.Reason != "" {
		f.done, f.reason = true, choice.Reason
		if slices.Contains(stopReasons, f.reason) {
			f.reason = "stop"
		}
	}
	return nil
}

// maxCalls bounds the functions that one answer may call.
const maxCalls = 128

// call adds a call, or a piece of one: a stream gives the name first and the
// arguments in pieces, told apart by index.
func (f *final) call(c wireCall) {
	at := len(f.calls)
	if c.Index != nil && *c.Index >= 0 && *c.Index < at {
		at = *c.Index
	}
	if at == maxCalls {
		return
	}
	if at == len(f.calls) {
		f.calls = append(f.calls, ToolCall{ID: c.ID, Name: c.Function.Name})
	}
	f.calls[at].Arguments = append(f.calls[at].Arguments, c.Function.Arguments...)
}
