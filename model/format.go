package model

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Limits on an output schema. A server turns it into a grammar, in which every
// repetition is written out, and cuts a large grammar without saying so.
const (
	maxSchema      = 8 << 10 // bytes of what is sent
	maxSchemaDepth = 16      // levels of nesting
	maxItems       = 256     // of an array
	maxEnum        = 256     // values
	maxInteger     = 1 << 53 // of minimum and maximum: what JSON numbers hold exactly
)

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// annotations are the keywords that describe and do not constrain; they are
// left out without a word.
var annotations = []string{"$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}

// reducer reduces a schema to what is safe to send. Only keywords it knows pass:
// a bad "pattern" ends an Ollama server, and references cannot be resolved
// there.
type reducer struct {
	dropped map[string]bool // constraints that were left out
}

// outputFormat reduces a schema to what is safe to send and tells which of its
// constraints the server will not enforce.
func outputFormat(schema json.RawMessage) (json.RawMessage, []string, error) {
	if len(schema) == 0 {
		return nil, nil, nil
	}
	var v map[string]any
	if err := json.Unmarshal(schema, &v); err != nil {
		return nil, nil, fmt.Errorf("the output schema is not a JSON object: %w", err)
	}
	if v == nil {
		return nil, nil, fmt.Errorf("the output schema is null, not a JSON object")
	}
	r := &reducer{dropped: map[string]bool{}}
	plain, err := r.object(v, "", 0)
	if err != nil {
		return nil, nil, err
	}
	out, err := json.Marshal(plain)
	if err != nil {
		return nil, nil, err
	}
	if len(out) > maxSchema {
		return nil, nil, fmt.Errorf("the output schema has %d bytes (limit %d)", len(out), maxSchema)
	}
	if len(r.dropped) == 0 {
		return out, nil, nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(r.dropped)), ", ")
	return out, []string{"the model server does not enforce these keywords of the output schema, check the answer: " + clip(names)}, nil
}

// wrong is an error of a schema, at a place like "/properties/a".
func wrong(path, format string, args ...any) error {
	if path == "" {
		path = "/"
	}
	return fmt.Errorf("the output schema at %s: %s", clip(path), fmt.Sprintf(format, args...))
}

func (r *reducer) object(v map[string]any, path string, depth int) (map[string]any, error) {
	if depth > maxSchemaDepth {
		return nil, wrong(path, "it nests deeper than %d levels", maxSchemaDepth)
	}
	out := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		value, err := r.keyword(key, v[key], path+"/"+key, depth)
		if err != nil {
			return nil, err
		}
		if value != nil {
			out[key] = value
		}
	}
	for _, pair := range [][2]string{{"minItems", "maxItems"}, {"minimum", "maximum"}} {
		low, hasLow := out[pair[0]].(float64)
		high, hasHigh := out[pair[1]].(float64)
		if hasLow && hasHigh && low > high {
			return nil, wrong(path, "%s %g is above %s %g", pair[0], low, pair[1], high)
		}
	}
	return out, nil
}

// keyword checks the value of one keyword; nil leaves it out.
func (r *reducer) keyword(key string, v any, path string, depth int) (any, error) {
	switch key {
	case "type":
		return schemaType(v, path)
	case "properties":
		return r.properties(v, path, depth)
	case "items", "additionalProperties":
		return r.schema(v, path, depth+1)
	case "required":
		return names(v, path)
	case "enum":
		return enum(v, path)
	case "minItems", "maxItems":
		if n, ok := v.(float64); ok && n == math.Trunc(n) && n >= 0 && n <= maxItems {
			return n, nil
		}
		return nil, wrong(path, "%s is not a whole number from 0 to %d", shown(v), maxItems)
	case "minimum", "maximum":
		if n, ok := v.(float64); ok && math.Abs(n) <= maxInteger {
			return n, nil
		}
		return nil, wrong(path, "%s is not a number from -2^53 to 2^53", shown(v))
	}
	if !slices.Contains(annotations, key) {
		r.dropped[key] = true
	}
	return nil, nil
}

// schema is a nested schema: an object or a boolean.
func (r *reducer) schema(v any, path string, depth int) (any, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case map[string]any:
		return r.object(v, path, depth)
	}
	return nil, wrong(path, "%s is not a schema", shown(v))
}

func (r *reducer) properties(v any, path string, depth int) (any, error) {
	m, ok := v.(map[string]any)
	if !ok {
		return nil, wrong(path, "%s is not an object", shown(v))
	}
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		p, ok := m[name].(map[string]any)
		if !ok {
			return nil, wrong(path+"/"+name, "%s is not an object", shown(m[name]))
		}
		plain, err := r.object(p, path+"/"+name, depth+1)
		if err != nil {
			return nil, err
		}
		out[name] = plain
	}
	return out, nil
}

func schemaType(v any, path string) (any, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, t := range list {
		if s, ok := t.(string); !ok || !slices.Contains(schemaTypes, s) {
			return nil, wrong(path, "%s is not one of %s", shown(t), strings.Join(schemaTypes, ", "))
		}
	}
	if len(list) == 0 || len(list) > len(schemaTypes) {
		return nil, wrong(path, "the list has %d types (1 to %d)", len(list), len(schemaTypes))
	}
	return v, nil
}

func names(v any, path string) (any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, wrong(path, "%s is not a list of names", shown(v))
	}
	for _, n := range list {
		if _, ok := n.(string); !ok {
			return nil, wrong(path, "%s is not a name", shown(n))
		}
	}
	return v, nil
}

func enum(v any, path string) (any, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxEnum {
		return nil, wrong(path, "it must be a list of 1 to %d values", maxEnum)
	}
	for _, e := range list {
		switch e.(type) {
		case map[string]any, []any:
			return nil, wrong(path, "its values must be texts, numbers, booleans or null")
		}
	}
	return v, nil
}

// shown is a value of the schema for an error.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "the value"
	}
	return clip(string(text))
}
