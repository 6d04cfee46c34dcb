package tools

import (
	"encoding/json"
	"math/big"
	"strings"
)

// coerce turns a value in a wrong but clear form into what the schema asks for:
// JSON text into the array or object it spells, "15" into 15, "true" into true,
// 300 into "300", chat messages into their text, one value into a list of one.
// What is not clear is left for the schema check to refuse.
func coerce(schema map[string]any, v any) any {
	if v == nil {
		return nil
	}
	switch schema["type"] {
	case "array":
		return coerceArray(schema, v)
	case "object":
		return coerceObject(schema, v)
	case "integer", "number":
		if s, ok := v.(string); ok {
			s = strings.TrimSpace(s)
			if _, ok := new(big.Float).SetString(s); ok && json.Valid([]byte(s)) {
				v = json.Number(s)
			}
		}
		return v
	case "boolean":
		switch v {
		case "true", "True", "TRUE":
			return true
		case "false", "False", "FALSE":
			return false
		}
		return v
	case "string":
		return coerceText(v)
	}
	return v
}

func coerceArray(schema map[string]any, v any) any {
	if s, ok := v.(string); ok && s != imageMark {
		if parsed, ok := spelled(s, '['); ok {
			v = parsed
		}
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	items, _ := schema["items"].(map[string]any)
	out := make([]any, len(list))
	for i, e := range list {
		out[i] = coerce(items, e)
	}
	return out
}

func coerceObject(schema map[string]any, v any) any {
	if s, ok := v.(string); ok {
		if parsed, ok := spelled(s, '{'); ok {
			v = parsed
		}
	}
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	properties, _ := schema["properties"].(map[string]any)
	out := make(map[string]any, len(m))
	for name, e := range m {
		p, _ := properties[name].(map[string]any)
		if c := coerce(p, e); c != nil || p["type"] == nil {
			out[name] = c
		}
	}
	return out
}

// coerceText words numbers and booleans, and takes the text out of a list of
// chat messages or content parts.
func coerceText(v any) any {
	switch v := v.(type) {
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	case []any:
		var texts []string
		for _, e := range v {
			t, ok := messageText(e)
			if !ok {
				return v
			}
			texts = append(texts, t)
		}
		return strings.Join(texts, "\n")
	}
	return v
}

// messageText is the text of one chat message or content part.
func messageText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case map[string]any:
		if t, ok := v["text"].(string); ok {
			return t, true
		}
		switch c := v["content"].(type) {
		case string:
			return c, true
		case []any:
			t, ok := coerceText(c).(string)
			return t, ok
		}
	}
	return "", false
}

// spelled parses s when it is JSON text that begins with open.
func spelled(s string, open byte) (any, bool) {
	s = strings.TrimSpace(s)
	if s == "" || s[0] != open {
		return nil, false
	}
	v, err := decodeValue(json.RawMessage(s))
	return v, err == nil
}
