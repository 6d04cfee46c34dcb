package conformance

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// messages is a prompt of the user's.
func messages(content ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, c := range content {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return res
}

func simplePrompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return messages(&mcp.TextContent{Text: "This is a simple prompt for testing."}), nil
}

// addPrompts adds a prompt for each kind of content.
func addPrompts(srv *mcp.Server) {
	srv.AddPrompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "A text."}, simplePrompt)
	srv.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_arguments", Description: "A text with arguments.", Arguments: []*mcp.PromptArgument{
		{Name: "arg1", Description: "The first.", Required: true}, {Name: "arg2", Description: "The second.", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := req.Params.Arguments
			return messages(&mcp.TextContent{Text: fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])}), nil
		})
	srv.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_embedded_resource", Description: "A resource.", Arguments: []*mcp.PromptArgument{
		{Name: "resourceUri", Description: "Its address.", Required: true}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return messages(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."}},
				&mcp.TextContent{Text: "Please process the embedded resource above."}), nil
		})
	srv.AddPrompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "A picture."},
		func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return messages(&mcp.ImageContent{Data: redDot(), MIMEType: "image/png"}, &mcp.TextContent{Text: "Please analyze the image above."}), nil
		})
	srv.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks for its context first."},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			asked := step{"user_context": ask("What context should the prompt use?", "context", "string")}
			if !answered(req.Params.InputResponses, asked) {
				return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap(asked)}, nil
			}
			return messages(&mcp.TextContent{Text: fmt.Sprint("Use this context: ", words(req.Params.InputResponses))}), nil
		})
}
