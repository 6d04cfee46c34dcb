package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Schema is a JSON Schema in the plain subset that every client understands:
// type, properties, items, enum, description, required, default, minimum,
// maximum, minItems, maxItems, additionalProperties, and the file mark
// x-mcp-file. The zero value allows anything.
type Schema struct {
	Type        string // "" allows every type (a member that may be null)
	Description string
	Properties  []Property // in the order clients see; for type object
	Required    []string
	Items       *Schema // for type array
	Enum        []any
	Default     any
	Minimum     *float64
	Maximum     *float64
	MinItems    *int
	MaxItems    *int
	Open        bool // an object that may have other members than Properties
	Image       bool // an image argument: marked x-mcp-file, and large values are kept out of validation
}

// Property is one named member of an object.
type Property struct {
	Name string
	Schema
}

// MarshalJSON writes the schema with its keys in a fixed order.
func (s Schema) MarshalJSON() ([]byte, error) {
	var w objectWriter
	w.text("type", s.Type)
	w.text("description", s.Description)
	if s.Image {
		w.add("x-mcp-file", true)
		w.add("x-mcp-file-accept", imageMIMETypes)
	}
	if s.Type == "object" {
		w.add("properties", propertyList(s.Properties))
	}
	if len(s.Required) > 0 {
		w.add("required", s.Required)
	}
	if s.Type == "object" && !s.Open {
		w.add("additionalProperties", false)
	}
	if s.Items != nil {
		w.add("items", s.Items)
	}
	if s.Enum != nil {
		w.add("enum", s.Enum)
	}
	if s.Default != nil {
		w.add("default", s.Default)
	}
	if s.Minimum != nil {
		w.add("minimum", *s.Minimum)
	}
	if s.Maximum != nil {
		w.add("maximum", *s.Maximum)
	}
	if s.MinItems != nil {
		w.add("minItems", *s.MinItems)
	}
	if s.MaxItems != nil {
		w.add("maxItems", *s.MaxItems)
	}
	return w.bytes()
}

// imageMIMETypes are the types that a file picker offers; what is no PNG, JPEG,
// WebP, GIF or BMP is refused with a word on what to do.
var imageMIMETypes = []string{"image/*"}

// withoutFileMarks returns a schema without x-mcp-file and x-mcp-file-accept, in
// the same order.
func withoutFileMarks(schema json.RawMessage) json.RawMessage {
	switch {
	case len(schema) == 0:
		return schema
	case schema[0] == '[':
		out := []byte{'['}
		for v := range rawElements(schema) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, withoutFileMarks(v)...)
		}
		return append(out, ']')
	case schema[0] != '{':
		return schema
	}
	var w objectWriter
	for name, v := range rawMembers(schema) {
		if !strings.HasPrefix(name, "x-mcp-file") {
			w.add(name, withoutFileMarks(v))
		}
	}
	out, _ := w.bytes() // the members are valid JSON
	return out
}

type propertyList []Property

func (l propertyList) MarshalJSON() ([]byte, error) {
	var w objectWriter
	for _, p := range l {
		w.add(p.Name, p.Schema)
	}
	return w.bytes()
}

// JSON returns the schema as raw JSON, for [Tool.Input] and [Tool.Output].
func (s Schema) JSON() json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil // only a Default or Enum value that JSON cannot hold
	}
	return raw
}

// objectWriter writes the members of one JSON object in call order.
type objectWriter struct {
	buf bytes.Buffer
	err error
}

func (w *objectWriter) text(key, value string) {
	if value != "" {
		w.add(key, value)
	}
}

func (w *objectWriter) add(key string, value any) {
	k, _ := json.Marshal(key)
	v, err := json.Marshal(value)
	if err != nil && w.err == nil {
		w.err = err
	}
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	} else {
		w.buf.WriteByte(',')
	}
	w.buf.Write(k)
	w.buf.WriteByte(':')
	w.buf.Write(v)
}

func (w *objectWriter) bytes() ([]byte, error) {
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes(), w.err
}

// Object returns an object schema without other members than the given ones.
func Object(required []string, properties ...Property) Schema {
	return Schema{Type: "object", Properties: properties, Required: required}
}

// And returns the object with further properties, which are not required.
func (s Schema) And(more ...Property) Schema {
	s.Properties = append(slices.Clone(s.Properties), more...)
	return s
}

// Text returns a string property.
func Text(name, description string) Property {
	return Property{name, Schema{Type: "string", Description: description}}
}

// Flag returns a boolean property with its default.
func Flag(name, description string, def bool) Property {
	return Property{name, Schema{Type: "boolean", Description: description, Default: def}}
}

// Number returns a number property within [low, high].
func Number(name, description string, low, high float64) Property {
	return Property{name, Schema{Type: "number", Description: description, Minimum: &low, Maximum: &high}}
}

// Integer returns an integer property within [low, high].
func Integer(name, description string, low, high float64) Property {
	return Property{name, Schema{Type: "integer", Description: description, Minimum: &low, Maximum: &high}}
}

// Choice returns a string property that takes one of values, the first by
// default.
func Choice(name, description string, values ...string) Property {
	enum := make([]any, len(values))
	for i, v := range values {
		enum[i] = v
	}
	return Property{name, Schema{Type: "string", Description: description, Enum: enum, Default: values[0]}}
}

// Image returns the property of an image argument.
func Image(name, description string) Property {
	return Property{name, Schema{Type: "string", Description: description + " " + imageWays, Image: true}}
}

// imageWays is what every image argument takes, in as few words as a model needs.
const imageWays = "Data URI, base64, URL, path, upload:// or download://."

// Region returns the property of a rectangle in pixels of the upright original.
func Region(name, description string) Property {
	s := Object([]string{"left", "top", "width", "height"},
		pixels("left"), pixels("top"), pixels("width"), pixels("height"))
	s.Description = description
	return Property{name, s}
}

// pixels returns an integer property that the image's own size bounds, which a
// schema does not know.
func pixels(name string) Property { return Property{name, Schema{Type: "integer"}} }
