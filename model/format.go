package model

import (
	"encoding/json"
	"fmt"
)

// schemaKeywords are the JSON Schema keywords that are sent to a server as
// output format. Everything else stays here: a bad "pattern" ends an Ollama
// server, and references cannot be resolved there.
var schemaKeywords = map[string]bool{
	"type": true, "properties": true, "items": true, "enum": true, "required": true, "additionalProperties": true,
	"minItems": true, "maxItems": true, "minimum": true, "maximum": true,
}

// maxSchema bounds the schema that is sent, in bytes: a server turns it into a
// grammar and cuts a large one without saying so.
const maxSchema = 8 << 10

// maxSchemaDepth bounds how deep it may nest.
const maxSchemaDepth = 16

// outputFormat reduces a schema to what is safe to send.
func outputFormat(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var v map[string]any
	if err := json.Unmarshal(schema, &v); err != nil {
		return nil, fmt.Errorf("the output schema is not a JSON object: %w", err)
	}
	out, err := json.Marshal(plainSchema(v, 0))
	if err != nil {
		return nil, err
	}
	if len(out) > maxSchema {
		return nil, fmt.Errorf("the output schema has %d bytes (limit %d)", len(out), maxSchema)
	}
	return out, nil
}

func plainSchema(v map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if depth > maxSchemaDepth {
		return out
	}
	for key, e := range v {
		if !schemaKeywords[key] {
			continue
		}
		switch key {
		case "properties":
			m, _ := e.(map[string]any)
			props := map[string]any{}
			for name, p := range m {
				p, _ := p.(map[string]any)
				props[name] = plainSchema(p, depth+1)
			}
			out[key] = props
		case "items", "additionalProperties":
			if m, ok := e.(map[string]any); ok {
				out[key] = plainSchema(m, depth+1)
			} else if _, ok := e.(bool); ok {
				out[key] = e
			}
		case "type":
			if t, ok := e.(string); ok {
				out[key] = t
			}
		default:
			out[key] = e
		}
	}
	return out
}
