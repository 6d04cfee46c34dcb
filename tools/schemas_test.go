package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed is how much of a client's context the tools take: the JSON of
// tools/list.
func listed(t *testing.T, groups ...string) int {
	t.Helper()
	size := 0
	for _, tool := range Builtin() {
		if len(groups) > 0 && !slices.Contains(groups, tool.Group) {
			continue
		}
		raw, err := json.Marshal(map[string]any{"name": tool.Name, "title": tool.Title, "description": tool.Description, "inputSchema": tool.Input, "outputSchema": tool.Output,
			"annotations": map[string]bool{"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false, "openWorldHint": false}})
		if err != nil {
			t.Fatal(err)
		}
		size += len(raw)
	}
	return size
}

func TestSchemasLeaveRoomInAContext(t *testing.T) {
	all, few := listed(t), listed(t, "ocr", "measure")
	t.Logf("all tools %d bytes, groups ocr and measure %d bytes", all, few)
	if all > 40_000 || few > 8_000 {
		t.Errorf("all tools take %d bytes (limit 40000), groups ocr and measure %d (limit 8000)", all, few)
	}
}

func TestPlainSchemasHaveNoFileMarks(t *testing.T) {
	marked, plain := registry(t), registry(t)
	var err error
	if plain, err = NewRegistry(plain.env, Builtin(), Selection{Plain: true}); err != nil {
		t.Fatal(err)
	}
	images := 0
	for i, tool := range plain.Tools() {
		if bytes.Contains(tool.Input, []byte("x-mcp-file")) {
			t.Errorf("%s: %s", tool.Name, tool.Input)
		}
		with := string(marked.Tools()[i].Input)
		if strings.Contains(with, "x-mcp-file") {
			images++
			with = strings.ReplaceAll(with, `,"x-mcp-file":true,"x-mcp-file-accept":["image/*"]`, "")
		}
		if with != string(tool.Input) {
			t.Errorf("%s: more than the marks is another:\n%s\n%s", tool.Name, with, tool.Input)
		}
	}
	if images == 0 {
		t.Error("no tool takes images")
	}
	res, err := plain.Call(t.Context(), "preprocess_and_crop", map[string]any{"image_source": noise(20, 20)})
	if err != nil || len(res.JSON) == 0 {
		t.Errorf("without marks, an image is no image any more: %v", err)
	}
}

// generator makes arguments from schemas.
type generator struct{ *rand.Rand }

// value is one that the schema allows.
func (g generator) value(s map[string]any, name string) any {
	if list, ok := s["enum"].([]any); ok {
		return list[g.IntN(len(list))]
	}
	switch s["type"] {
	case "string":
		if s["x-mcp-file"] == true {
			return noise(24+g.IntN(60), 24+g.IntN(60))
		}
		return []string{"", "a", "#ff0000", "red", "/tmp", "http://127.0.0.1:1/a.png", "\u200b\u202e<script>", strings.Repeat("long ", 400)}[g.IntN(8)]
	case "boolean":
		return g.IntN(2) == 0
	case "integer", "number":
		low, high := 1.0, 10.0
		if v, ok := s["minimum"].(float64); ok {
			low, high = v, v+10 // mostly within the images
		}
		if v, ok := s["maximum"].(float64); ok {
			high = min(v, low+2000)
		}
		if s["type"] == "integer" {
			return int(low) + g.IntN(int(high-low)+1)
		}
		return low + g.Float64()*(high-low)
	case "array":
		low, high := 0, 3
		if v, ok := s["minItems"].(float64); ok {
			low = int(v)
			high = max(high, low)
		}
		if v, ok := s["maxItems"].(float64); ok {
			high = min(high, int(v))
		}
		items, _ := s["items"].(map[string]any)
		list := []any{}
		for range low + g.IntN(high-low+1) {
			list = append(list, g.value(items, name))
		}
		return list
	case "object":
		return g.object(s)
	}
	return []any{nil, true, 7, "text", []any{}, map[string]any{}}[g.IntN(6)]
}

func (g generator) object(s map[string]any) map[string]any {
	out := map[string]any{}
	required, _ := s["required"].([]any)
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || g.IntN(4) == 0 {
			out[name] = g.value(properties[name].(map[string]any), name)
		}
	}
	if out["region"] != nil {
		delete(out, "crop") // its other name
	}
	return out
}

// TestEveryToolTakesWhatItsSchemaAllows calls each tool with arguments made from
// its schema, and with one of them broken: it must answer, or refuse with a
// code that is not INTERNAL.
func TestEveryToolTakesWhatItsSchemaAllows(t *testing.T) {
	r := registry(t)
	const calls = 25
	for _, tool := range r.tools {
		g := generator{rand.New(rand.NewPCG(7, uint64(len(tool.Name))))}
		answered := 0
		for n := range calls {
			args := g.object(tool.input)
			broken := n%5 == 4 && len(args) > 0
			if broken {
				name := slices.Sorted(maps.Keys(args))[g.IntN(len(args))]
				args[name] = []any{map[string]any{"odd": 1}, -1e300, "\x00", []any{[]any{}}, nil}[g.IntN(5)]
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			_, err := r.Call(ctx, tool.Name, args)
			late := ctx.Err() != nil
			cancel()
			var e *Error
			switch {
			case err == nil:
				answered++
			case !errors.As(err, &e) || e.Code == Internal || e.Message == "" || len(e.Message) > 3000 || late:
				t.Errorf("%s with %.300s: %v (late %t)", tool.Name, fmt.Sprint(args), err, late)
			}
		}
		t.Logf("%s answered %d of %d calls", tool.Name, answered, calls)
		_, job := tool.input["properties"].(map[string]any)["job_id"] // nobody guesses one
		if answered == 0 && tool.Group != "model" && tool.Group != "chat" && !tool.OpenWorld && !job {
			t.Errorf("%s answered no call", tool.Name)
		}
	}
}
