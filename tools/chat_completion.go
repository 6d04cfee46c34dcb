package tools

import (
	"context"
	"encoding/json"
	"image"
	"strings"

	"github.com/visions-mcp/visions/model"
)

// Defaults and bounds of chat_completion.
const (
	chatTemperature = 0.7
	chatTokens      = 4096
	maxChatMessages = 256
	maxChatTools    = 64
)

var chatCompletion = Tool{
	Name: "chat_completion", Title: "Chat with a model", Group: "chat",
	Description: "Sends a conversation in the form of the chat API to the local model and returns its answer. Messages may hold images; functions may be offered in tools, and the model's calls of them are returned, not made.",
	Input: Object([]string{"messages"},
		Property{"messages", listOf(maxChatMessages, `{role, content}; content is text, or parts: {"type":"text","text"}, {"type":"image_url","image_url":{"url"}} or {"type":"image","data","mimeType"}.`)},
		Text("model", "Instead of the configured one."),
		Number("temperature", "Default 0.7.", 0, 2),
		Integer("max_tokens", "Default 4096.", 1, 32768),
		Property{"tools", listOf(maxChatTools, `{"type":"function","function":{name, description, parameters}}`)},
		Integer("timeout_ms", "For the model's answer.", 1, 3_600_000),
	).JSON(),
	Output: Schema{Type: "object", Open: true, Required: []string{"success", "content", "model", "finish_reason"}, Properties: []Property{
		{"success", Schema{Type: "boolean"}},
		Text("content", "The answer's text."),
		Text("model", ""),
		Text("finish_reason", "stop or tool_calls."),
		{"tool_calls", Schema{Type: "array", Items: &Schema{Type: "object", Open: true}, Description: "As the chat API gives them; arguments are JSON text."}},
		{"usage", Schema{Type: "object", Open: true}},
	}}.JSON(),
	Handle: handleChatCompletion,
}

// listOf returns an array of open objects.
func listOf(most int, description string) Schema {
	return Schema{Type: "array", Items: &Schema{Type: "object", Open: true}, MaxItems: &most, Description: description}
}

// chatMessage is a message as clients write it.
type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []chatCall      `json:"tool_calls"`
	CallID  string          `json:"tool_call_id"`
	Name    string          `json:"name"`
}

// chatCall is a call of a function in the form of the chat API.
type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments"` // JSON text, or the object itself
	} `json:"function"`
}

// chatPart is a part of a message's content.
type chatPart struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	ImageURL json.RawMessage `json:"image_url"` // {"url": ...}, or the URL
	Data     string          `json:"data"`      // base64
}

func handleChatCompletion(ctx context.Context, c *Call) (*Result, error) {
	var a struct {
		Messages    []chatMessage   `json:"messages"`
		Model       string          `json:"model"`
		Temperature *float64        `json:"temperature"`
		MaxTokens   int             `json:"max_tokens"`
		Tools       json.RawMessage `json:"tools"`
		TimeoutMS   int             `json:"timeout_ms"`
	}
	if err := c.Bind(&a); err != nil {
		return nil, Errorf(InvalidArgument, "messages: %v", err)
	}
	if len(a.Messages) == 0 {
		return nil, Errorf(InvalidArgument, `messages is empty; give at least {"role":"user","content":"..."}`)
	}
	temperature := chatTemperature
	if a.Temperature != nil {
		temperature = *a.Temperature
	}
	if a.MaxTokens == 0 {
		a.MaxTokens = chatTokens
	}
	req, err := c.request(modelArguments{Model: a.Model, Temperature: &temperature, NumPredict: a.MaxTokens, TimeoutMS: a.TimeoutMS}, c.FastModel)
	if err != nil {
		return nil, err
	}
	req.Tools = a.Tools
	if req.Messages, err = c.conversation(ctx, a.Messages); err != nil {
		return nil, err
	}
	prov := c.Provenance("model")
	res, err := c.Chat(ctx, req, prov)
	if err != nil {
		return nil, err
	}
	reason := "stop"
	calls := []chatCall{}
	for _, call := range res.Calls {
		reason = "tool_calls"
		out := chatCall{ID: call.ID, Type: "function"}
		out.Function.Name, out.Function.Arguments = call.Name, string(call.Arguments)
		calls = append(calls, out)
	}
	return &Result{Provenance: prov, Value: struct {
		Success bool           `json:"success"`
		Content string         `json:"content"`
		Model   string         `json:"model"`
		Reason  string         `json:"finish_reason"`
		Calls   []chatCall     `json:"tool_calls"`
		Usage   map[string]int `json:"usage"`
	}{true, res.Text, res.Model, reason, calls, map[string]int{
		"prompt_tokens": res.PromptTokens, "completion_tokens": res.Tokens, "total_tokens": res.PromptTokens + res.Tokens}}}, nil
}

// conversation reads the messages and loads all their images at once.
func (c *Call) conversation(ctx context.Context, given []chatMessage) ([]model.Message, error) {
	messages := make([]model.Message, len(given))
	var images []any
	var of []int // the message of each image
	for i, g := range given {
		m := model.Message{Role: g.Role, CallID: g.CallID, Name: g.Name}
		if m.Role == "developer" {
			m.Role = model.RoleSystem
		}
		parts, err := chatParts(g.Content)
		if err != nil {
			return nil, Errorf(InvalidArgument, "messages[%d].content: %v", i, err)
		}
		var texts []string
		for n, p := range parts {
			switch p.Type {
			case "text", "input_text":
				texts = append(texts, p.Text)
			case "image_url", "input_image", "image":
				source := p.source()
				if source == "" {
					return nil, Errorf(InvalidArgument, "messages[%d].content[%d] is an image without image_url or data", i, n)
				}
				images, of = append(images, source), append(of, i)
			default:
				return nil, Errorf(InvalidArgument, "messages[%d].content[%d] has the type %q; text, image_url and image are understood", i, n, p.Type)
			}
		}
		m.Text = strings.Join(texts, "\n")
		for n, call := range g.Calls {
			arguments, err := call.arguments()
			if err != nil {
				return nil, Errorf(InvalidArgument, "messages[%d].tool_calls[%d]: %v", i, n, err)
			}
			m.Calls = append(m.Calls, model.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: arguments})
		}
		messages[i] = m
	}
	if len(images) == 0 {
		return messages, nil
	}
	pictures, err := c.load(ctx, "messages", images)
	if err != nil {
		return nil, err
	}
	for n, p := range pictures {
		messages[of[n]].Images = append(messages[of[n]].Images, image.Image(p.Image))
	}
	return messages, nil
}

// chatParts reads content: text, a list of parts, or nothing.
func chatParts(content json.RawMessage) (parts []chatPart, err error) {
	var text string
	switch {
	case len(content) == 0 || string(content) == "null":
		return nil, nil
	case json.Unmarshal(content, &text) == nil:
		return []chatPart{{Type: "text", Text: text}}, nil
	}
	err = json.Unmarshal(content, &parts)
	return parts, err
}

// source is the image of a part in one of the forms of image arguments.
func (p *chatPart) source() string {
	if p.Data != "" {
		return p.Data
	}
	var object struct {
		URL string `json:"url"`
	}
	var text string
	if json.Unmarshal(p.ImageURL, &text) == nil {
		return text
	}
	json.Unmarshal(p.ImageURL, &object) //nolint:errcheck // what is no object has no URL
	return object.URL
}

// arguments are the call's as a JSON object.
func (c *chatCall) arguments() (json.RawMessage, error) {
	if text, ok := c.Function.Arguments.(string); ok {
		var object map[string]any
		if err := json.Unmarshal([]byte(text), &object); err != nil {
			return nil, err
		}
		return json.RawMessage(text), nil
	}
	return json.Marshal(c.Function.Arguments)
}
