//lint:file-ignore SA1019 the suite tests what the protocol has deprecated, as long as it works

package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addInputRequired adds the tools that answer with questions, which the client
// answers in a call of its own (revision 2026-07-28).
func addInputRequired(srv *mcp.Server) {
	const prefix = "test_input_required_result_"
	name := ask("What is your name?", "name", "string")
	greeting := question("Generate a greeting", 50)
	add(srv, prefix+"elicitation", "Asks the user's name.", rounds("", step{"user_name": name}))
	add(srv, "test_streaming_elicitation", "Asks the user's name.", rounds("", step{"user_name": name}))
	add(srv, prefix+"sampling", "Asks the client's model.", rounds("", step{"capital_question": question("What is the capital of France?", 100)}))
	add(srv, prefix+"list_roots", "Asks for the client's roots.", rounds("", step{"client_roots": &mcp.ListRootsParams{}}))
	add(srv, prefix+"request_state", "Asks and gives a state along.", rounds("state", step{"confirm": ask("Please confirm", "ok", "boolean")}))
	add(srv, prefix+"tampered_state", "Asks and gives a state along.", rounds("state", step{"confirm": ask("Please confirm", "ok", "boolean")}))
	add(srv, prefix+"multiple_inputs", "Asks three things at once.", rounds("state", step{"user_name": name, "greeting": greeting, "client_roots": &mcp.ListRootsParams{}}))
	add(srv, prefix+"multi_round", "Asks twice.", rounds("state",
		step{"step1": ask("Step 1: What is your name?", "name", "string")}, step{"step2": ask("Step 2: What is your favorite color?", "color", "string")}))
	add(srv, prefix+"capabilities", "Asks what the client can answer.", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return say("thank you"), nil
		}
		asked := mcp.InputRequestMap{}
		if c := req.Session.InitializeParams(); c != nil && c.Capabilities != nil {
			if c.Capabilities.Elicitation != nil {
				asked["user_name"] = name
			}
			if c.Capabilities.Sampling != nil {
				asked["greeting"] = greeting
			}
		}
		return &mcp.CallToolResult{InputRequests: asked}, nil
	})
}

// step is what one round asks.
type step map[string]mcp.InputRequest

func ask(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Mode: "form", Message: message,
		RequestedSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field))}
}

// rounds asks step after step until all are answered. With a state it numbers
// the rounds and refuses a state that it did not give.
func rounds(state string, steps ...step) mcp.ToolHandler {
	return func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		at := 0
		if state != "" && req.Params.RequestState != "" {
			if n, err := fmt.Sscanf(req.Params.RequestState, state+"-%d", &at); n != 1 || err != nil || at < 0 || at >= len(steps) || req.Params.RequestState != fmt.Sprintf("%s-%d", state, at) {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState was not made by this server"}
			}
		}
		if answered(req.Params.InputResponses, steps[at]) {
			at++
		}
		if at == len(steps) {
			return say("Hello, %s! state-ok", strings.Join(words(req.Params.InputResponses), ", ")), nil
		}
		res := &mcp.CallToolResult{InputRequests: mcp.InputRequestMap(steps[at])}
		if state != "" {
			res.RequestState = fmt.Sprintf("%s-%d", state, at)
		}
		return res, nil
	}
}

// answered tells whether all that was asked has a usable answer.
func answered(given mcp.InputResponseMap, asked step) bool {
	for key := range asked {
		switch r := given[key].(type) {
		case nil:
			return false
		case *mcp.ElicitResult:
			if r.Action == "accept" && len(r.Content) == 0 {
				return false
			}
		}
	}
	return true
}

// words are the answers as text.
func words(given mcp.InputResponseMap) (list []string) {
	for _, r := range given {
		switch r := r.(type) {
		case *mcp.ElicitResult:
			for _, v := range r.Content {
				list = append(list, fmt.Sprint(v))
			}
		case *mcp.CreateMessageResult:
			list = append(list, sampledText(r))
		case *mcp.ListRootsResult:
			for _, root := range r.Roots {
				list = append(list, root.URI)
			}
		default:
			raw, err := json.Marshal(r)
			if err == nil {
				list = append(list, string(raw))
			}
		}
	}
	return list
}
