//lint:file-ignore SA1019 the suite tests what the protocol has deprecated, as long as it works

package conformance

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addQuestions adds the tools that ask the client something while they run, as
// the protocol before 2026-07-28 has it.
func addQuestions(srv *mcp.Server) {
	srv.AddTool(&mcp.Tool{Name: "test_sampling", Description: "Asks the client's model.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`)}, sample)
	srv.AddTool(&mcp.Tool{Name: "test_elicitation", Description: "Asks the user.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)}, elicit)
	add(srv, "test_elicitation_sep1034_defaults", "Asks the user, with defaults.", form("Elicitation completed", "Please fill in", `{"type":"object","properties":{
		"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},"score":{"type":"number","default":95.5},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},"verified":{"type":"boolean","default":true}}}`))
	add(srv, "test_elicitation_sep1330_enums", "Asks the user to choose, in five forms.", form("Elicitation completed", "Please choose", `{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}}`))
	add(srv, "test_missing_capability", "Needs a client that can sample.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if c := req.Session.InitializeParams(); c == nil || c.Capabilities == nil || c.Capabilities.Sampling == nil {
			data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}})
			if err != nil {
				return nil, err
			}
			return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client cannot sample", Data: data}
		}
		return say("it can"), nil
	})
}

func sample(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a struct{ Prompt string }
	if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
		return nil, err
	}
	res, err := req.Session.CreateMessage(ctx, question(a.Prompt, 100))
	if err != nil {
		return nil, err
	}
	return say("LLM response: %s", sampledText(res)), nil
}

// question is a request for the client's model.
func question(prompt string, maxTokens int64) *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: maxTokens, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}}
}

func sampledText(res *mcp.CreateMessageResult) string {
	if t, ok := res.Content.(*mcp.TextContent); ok {
		return t.Text
	}
	return ""
}

func elicit(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var a struct{ Message string }
	if err := json.Unmarshal(req.Params.Arguments, &a); err != nil {
		return nil, err
	}
	return form("User response", a.Message, `{"type":"object","properties":{
		"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`)(ctx, req)
}

// form asks the user to fill in a schema.
func form(answer, message, schema string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
		if err != nil {
			return nil, err
		}
		content, err := json.Marshal(res.Content)
		if err != nil {
			return nil, err
		}
		return say("%s: action=%s, content=%s", answer, res.Action, content), nil
	}
}
