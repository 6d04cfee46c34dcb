package mcpserver

import (
	"context"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// maxCompletions is the most values that the protocol lets an answer hold.
const maxCompletions = 100

// completer proposes values for arguments of prompts and variables of resource
// templates: those that begin with what was typed.
func completer(c Config) func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	return func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		ref, arg := req.Params.Ref, req.Params.Argument
		if ref == nil {
			return nil, refused("completion/complete needs ref, a ref/prompt or a ref/resource")
		}
		all, err := candidates(c, ref, arg.Name)
		if err != nil {
			return nil, err
		}
		typed := strings.ToLower(arg.Value)
		fit := slices.DeleteFunc(all, func(v string) bool { return !strings.HasPrefix(strings.ToLower(v), typed) })
		res := &mcp.CompleteResult{}
		res.Completion.Total = len(fit)
		res.Completion.HasMore = len(fit) > maxCompletions
		res.Completion.Values = append([]string{}, fit[:min(len(fit), maxCompletions)]...)
		return res, nil
	}
}

// candidates returns all values that are known for an argument, newest or most
// likely first, as a list of the caller's own.
func candidates(c Config, ref *mcp.CompleteReference, argument string) ([]string, error) {
	if ref.Type == "ref/resource" {
		switch {
		case ref.URI == outputsTemplate && argument == "id":
			return newest(c.Store, ""), nil
		case ref.URI == uploadsTemplate && argument == "id":
			return nil, nil // ids of uploads are told to nobody but those who uploaded
		case ref.URI == docsTemplate && argument == "name":
			names := make([]string, len(c.Tools))
			for i, t := range c.Tools {
				names[i] = t.Name
			}
			return names, nil
		}
		return nil, refused("there is no template %q with a variable %q", ref.URI, argument)
	}
	for _, p := range offered(c) {
		for _, a := range p.arguments {
			switch {
			case p.name != ref.Name || a.name != argument:
			case a.image:
				return newest(c.Store, tools.OutputsURI), nil
			default:
				return slices.Clone(a.values), nil
			}
		}
	}
	return nil, refused("there is no prompt %q with an argument %q", ref.Name, argument)
}

// newest returns the ids of the pictures that tools made, each after prefix.
func newest(s *store.Store, prefix string) []string {
	var ids []string
	for _, ref := range slices.Backward(s.List(store.Outputs)) {
		ids = append(ids, prefix+ref.ID)
	}
	return ids
}
