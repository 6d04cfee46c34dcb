package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// seeing are names of the tools that the prompts are about.
var seeing = []string{"analyze_image", "measure_image", "visual_diff", "fast_ocr_tesseract", "find_text_element"}

func withTools(t *testing.T, files *store.Store, names []string, invoke func(context.Context, string, json.RawMessage) (*tools.Result, error)) *mcp.ClientSession {
	c := Config{Store: files, Invoke: invoke}
	for _, name := range names {
		c.Tools = append(c.Tools, tools.Tool{Name: name, Input: tools.Object(nil).JSON()})
	}
	return join(t, New(c), nil)
}

func TestPromptsNameTheirImagesAndTools(t *testing.T) {
	client := withTools(t, openStore(t, nil), seeing, func(_ context.Context, name string, args json.RawMessage) (*tools.Result, error) {
		return &tools.Result{JSON: json.RawMessage(fmt.Sprintf(`{"measured":%q,"of":%s}`, name, args))}, nil
	})
	list, err := client.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 5 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, p := range list.Prompts {
		args := map[string]string{}
		for _, a := range p.Arguments {
			if a.Required {
				args[a.Name] = `/shots/"` + a.Name + `".png`
			}
		}
		got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: args})
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		said := got.Messages[0].Content.(*mcp.TextContent).Text
		for _, v := range args {
			if !strings.Contains(said, quoted(v)) {
				t.Errorf("%s does not name %s:\n%s", p.Name, v, said)
			}
		}
		if !slices.ContainsFunc(seeing, func(tool string) bool { return strings.Contains(said, tool) }) {
			t.Errorf("%s names no tool:\n%s", p.Name, said)
		}
	}
	got, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "accessibility-audit", Arguments: map[string]string{"image": "/a.png", "level": "AAA"}})
	if err != nil {
		t.Fatal(err)
	}
	said := got.Messages[0].Content.(*mcp.TextContent).Text
	for _, want := range []string{`{"measured":"measure_image","of":{"image_source":"/a.png","mode":"contrast"}}`, "7:1"} {
		if !strings.Contains(said, want) {
			t.Errorf("the audit holds no %s:\n%s", want, said)
		}
	}
}

func TestPromptsRefuseWrongArguments(t *testing.T) {
	client := withTools(t, openStore(t, nil), seeing, func(context.Context, string, json.RawMessage) (*tools.Result, error) {
		return nil, tools.Errorf(tools.NotFound, "no such file here")
	})
	for name, c := range map[string]struct {
		prompt string
		args   map[string]string
		want   string
	}{
		"none":         {"extract-table", nil, "needs the argument image"},
		"blank":        {"extract-table", map[string]string{"image": " "}, "needs the argument image"},
		"no choice":    {"extract-table", map[string]string{"image": "/a", "format": "xml"}, "markdown, csv, json"},
		"unknown":      {"extract-table", map[string]string{"image": "/a", "fromat": "csv"}, `"fromat"`},
		"a picture":    {"extract-table", map[string]string{"image": "data:image/png;base64," + strings.Repeat("A", 5000)}, "4096"},
		"no such file": {"accessibility-audit", map[string]string{"image": "/a"}, "no such file here"},
	} {
		if _, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: c.prompt, Arguments: c.args}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestPromptsComeWithTheirTools(t *testing.T) {
	client := withTools(t, openStore(t, nil), []string{"visual_diff"}, nil)
	list, err := client.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 1 || list.Prompts[0].Name != "compare-before-after" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestCompletion(t *testing.T) {
	files := openStore(t, nil)
	for range maxCompletions + 1 {
		if _, err := files.Put(store.Outputs, "png", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	upload, err := files.Put(store.Uploads, "png", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	client := withTools(t, files, seeing, nil)
	complete := func(ref mcp.CompleteReference, argument, typed string) (mcp.CompletionResultDetails, error) {
		res, err := client.Complete(t.Context(), &mcp.CompleteParams{Ref: &ref, Argument: mcp.CompleteParamsArgument{Name: argument, Value: typed}})
		if err != nil {
			return mcp.CompletionResultDetails{}, err
		}
		return res.Completion, nil
	}
	prompt := func(name string) mcp.CompleteReference { return mcp.CompleteReference{Type: "ref/prompt", Name: name} }
	resource := func(uri string) mcp.CompleteReference { return mcp.CompleteReference{Type: "ref/resource", URI: uri} }
	for name, c := range map[string]struct {
		ref             mcp.CompleteReference
		argument, typed string
		want            []string
	}{
		"a choice":       {prompt("extract-table"), "format", "", []string{"markdown", "csv", "json"}},
		"a choice begun": {prompt("accessibility-audit"), "level", "aaa", []string{"AAA"}},
		"free text":      {prompt("find-element"), "element", "but", []string{}},
		"a tool":         {resource("docs://tools/{name}"), "name", "meas", []string{"measure_image"}},
		"uploads":        {resource("visions://uploads/{id}"), "id", upload.ID[:4], []string{}},
	} {
		if got, err := complete(c.ref, c.argument, c.typed); err != nil || !slices.Equal(got.Values, c.want) || got.HasMore {
			t.Errorf("%s: %+v, %v, want %q", name, got, err, c.want)
		}
	}
	got, err := complete(prompt("describe-screenshot"), "image", "visions://")
	if err != nil || len(got.Values) != maxCompletions || got.Total != maxCompletions+1 || !got.HasMore {
		t.Fatalf("%d of %d, %v", len(got.Values), got.Total, err)
	}
	all := files.List(store.Outputs)
	if newest := tools.OutputURI(all[len(all)-1]); got.Values[0] != newest {
		t.Errorf("the first is %s, not the newest, %s", got.Values[0], newest)
	}
	for name, c := range map[string]struct {
		ref      mcp.CompleteReference
		argument string
	}{
		"no such prompt":   {prompt("none"), "image"},
		"no such argument": {prompt("extract-table"), "none"},
		"no such template": {resource("visions://none/{id}"), "id"},
	} {
		if got, err := complete(c.ref, c.argument, ""); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
