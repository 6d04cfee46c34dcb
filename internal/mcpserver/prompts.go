package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/visions-mcp/visions/tools"
)

// maxPromptArgument bounds an argument of a prompt, in bytes: prompts name
// pictures, they do not carry them.
const maxPromptArgument = 4096

// prompt is a task that a person chooses in a client, for the client's model.
type prompt struct {
	name, title, description string
	needs                    string // the tool it is about: without it the prompt is not offered
	arguments                []promptArgument
	// messages writes what is asked of the client's model. args holds every
	// argument that was given or has a default.
	messages func(ctx context.Context, c Config, args map[string]string) (string, error)
}

type promptArgument struct {
	name, description string
	required          bool
	values            []string // to choose from, the first being the default; nil takes any text
	image             bool     // an image argument
}

func imageNamed(name, description string) promptArgument {
	return promptArgument{name: name, description: description + " A path on the server's machine, a URL, or an upload://, download:// or visions:// reference.", required: true, image: true}
}

var prompts = []prompt{
	{
		name: "describe-screenshot", title: "Describe a screenshot", needs: "analyze_image",
		description: "What a screenshot shows, with its text read and not guessed.",
		arguments: []promptArgument{
			imageNamed("image", "The screenshot."),
			{name: "detail", description: "How much to say.", values: []string{"normal", "brief", "full"}},
		},
		messages: func(_ context.Context, _ Config, a map[string]string) (string, error) {
			return fmt.Sprintf("Describe the screenshot %s.\n"+
				"1. Call analyze_image with it as image_source for what it shows and how it is laid out.\n"+
				"2. Call fast_ocr_tesseract, if it is there, for the words: quote only what it read.\n"+
				"3. Zoom in with region where something is too small to judge.\n"+
				"Answer in %s detail: purpose of the screen, its parts from top to bottom, its state (errors, selections, empty fields). Say what could not be read.",
				quoted(a["image"]), a["detail"]), nil
		},
	},
	{
		name: "accessibility-audit", title: "Audit contrast and legibility", needs: "measure_image",
		description: "Measures the contrast of every text at once, and asks for findings and mends.",
		arguments: []promptArgument{
			imageNamed("image", "The screenshot."),
			{name: "level", description: "WCAG level to hold it to.", values: []string{"AA", "AAA"}},
		},
		messages: audit,
	},
	{
		name: "compare-before-after", title: "Compare two screenshots", needs: "visual_diff",
		description: "What changed between two screenshots, and whether it was meant.",
		arguments: []promptArgument{
			imageNamed("before", "The earlier screenshot."),
			imageNamed("after", "The later screenshot."),
			{name: "expected", description: "The change that was intended, in words."},
		},
		messages: func(_ context.Context, _ Config, a map[string]string) (string, error) {
			meant := "Tell what each region's change is."
			if a["expected"] != "" {
				meant = "The intended change is " + quoted(a["expected"]) + ". Tell for each region whether it is part of that, or an accident."
			}
			return fmt.Sprintf("Compare the screenshots %s (before) and %s (after).\n"+
				"1. Call visual_diff with image_sources [before, after] and method perceptual.\n"+
				"2. Look at each of changed_regions, largest first, in both images: pass its box as region to another tool.\n%s\n"+
				"When changed_pixels is 0 say that nothing changed, and look no further.",
				quoted(a["before"]), quoted(a["after"]), meant), nil
		},
	},
	{
		name: "extract-table", title: "Extract a table", needs: "fast_ocr_tesseract",
		description: "A table in a picture as data, every cell as it was read.",
		arguments: []promptArgument{
			imageNamed("image", "The picture with the table."),
			{name: "format", description: "What to write.", values: []string{"markdown", "csv", "json"}},
			{name: "table", description: "Which table, where there are several."},
		},
		messages: func(_ context.Context, _ Config, a map[string]string) (string, error) {
			which := "the table"
			if a["table"] != "" {
				which = "the table " + quoted(a["table"])
			}
			return fmt.Sprintf("Extract %s in the picture %s as %s.\n"+
				"1. Call fast_ocr_tesseract with it as image_source, mode table and words true: cells of a row are parted by tabs, boxes tell columns.\n"+
				"2. Read a cell whose words have a confidence under 0.6 again with its box, a little larger, as region.\n"+
				"Copy what was read: correct no number, invent no cell, leave an unreadable one empty and name it.",
				which, quoted(a["image"]), a["format"]), nil
		},
	},
	{
		name: "find-element", title: "Find an element", needs: "find_text_element",
		description: "Where something is on a screenshot, in pixels to click at.",
		arguments: []promptArgument{
			imageNamed("image", "The screenshot."),
			{name: "element", description: "What to find, by its text or its looks.", required: true},
		},
		messages: func(_ context.Context, _ Config, a map[string]string) (string, error) {
			return fmt.Sprintf("Find %s on the screenshot %s.\n"+
				"1. Call find_text_element with it.\n"+
				"2. Check the best match by looking at its box: pass it, a little larger, as region to another tool.\n"+
				"Answer with the box and its centre in pixels of the image, how it was found, and the confidence. When nothing fits, say so and name what comes closest.",
				quoted(a["element"]), quoted(a["image"])), nil
		},
	},
}

// audit measures first, so that the model speaks of figures.
func audit(ctx context.Context, c Config, a map[string]string) (string, error) {
	args, err := json.Marshal(map[string]string{"image_source": a["image"], "mode": "contrast"})
	if err != nil {
		return "", err
	}
	res, err := c.Invoke(ctx, "measure_image", args)
	if err != nil {
		e := tools.AsError(err)
		return "", refused("measuring %s: %s", a["image"], e.Message)
	}
	ratios := "4.5:1 for text, 3:1 for large text"
	if a["level"] == "AAA" {
		ratios = "7:1 for text, 4.5:1 for large text"
	}
	return fmt.Sprintf("Audit the legibility of the screenshot %s for WCAG level %s (%s).\n"+
		"It was measured; these figures are facts, do not guess others:\n\n%s\n\n"+
		"List each failing text with its colours, ratio, place and the nearest colour that passes. Name what is unverified and why. "+
		"Then look at the picture for what a ratio does not tell: text over pictures, meaning by colour alone, targets too small, text too small.",
		quoted(a["image"]), a["level"], ratios, res.JSON), nil
}

// quoted sets a person's text off from the words around it.
func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always encodes
	return string(b)
}

// offered are the prompts whose tool is there.
func offered(c Config) []prompt {
	var out []prompt
	for _, p := range prompts {
		if slices.ContainsFunc(c.Tools, func(t tools.Tool) bool { return t.Name == p.needs }) {
			out = append(out, p)
		}
	}
	return out
}

func addPrompts(srv *mcp.Server, c Config) {
	for _, p := range offered(c) {
		def := &mcp.Prompt{Name: p.name, Title: p.title, Description: p.description}
		for _, a := range p.arguments {
			about := a.description
			if a.values != nil {
				about += " One of " + strings.Join(a.values, ", ") + "."
			}
			def.Arguments = append(def.Arguments, &mcp.PromptArgument{Name: a.name, Description: about, Required: a.required})
		}
		srv.AddPrompt(def, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			args, err := p.check(req.Params.Arguments)
			if err != nil {
				return nil, err
			}
			s, err := p.messages(ctx, c, args)
			if err != nil {
				return nil, err
			}
			return &mcp.GetPromptResult{
				Description: p.description,
				Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: s}}},
			}, nil
		})
	}
}

// check returns the arguments with defaults filled in.
func (p prompt) check(given map[string]string) (map[string]string, error) {
	args := map[string]string{}
	names := make([]string, len(p.arguments))
	for i, a := range p.arguments {
		names[i] = a.name
		v := strings.TrimSpace(given[a.name])
		switch {
		case len(v) > maxPromptArgument:
			return nil, refused("prompt %s: %s has %d bytes, more than %d; name a picture by path, URL or reference instead of sending it", p.name, a.name, len(v), maxPromptArgument)
		case v == "" && a.required:
			return nil, refused("prompt %s needs the argument %s", p.name, a.name)
		case v == "" && a.values != nil:
			v = a.values[0]
		case a.values != nil && !slices.Contains(a.values, v):
			return nil, refused("prompt %s: %s is %q; it must be one of %s", p.name, a.name, v, strings.Join(a.values, ", "))
		}
		args[a.name] = v
	}
	for name := range given {
		if !slices.Contains(names, name) {
			return nil, refused("prompt %s has no argument %q, only %s", p.name, name, strings.Join(names, ", "))
		}
	}
	return args, nil
}
