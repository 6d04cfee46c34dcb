package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// arguments are one call's arguments after parsing: the members by name, and
// the image arguments, which never go through the schema check or a JSON
// encoder because they may be tens of megabytes.
type arguments struct {
	members map[string]any
	images  map[string][]any // string, []byte or image.Image, by member
}

// imageMark stands for an image argument while the rest is checked.
const imageMark = "(image)"

// parseArguments takes raw JSON, nil, or a map whose image arguments may also
// be []byte or image.Image.
func (t *compiledTool) parseArguments(in any) (*arguments, error) {
	a := &arguments{members: map[string]any{}, images: map[string][]any{}}
	switch in := in.(type) {
	case nil:
	case map[string]any:
		for name, v := range in {
			if err := t.setValue(a, name, v); err != nil {
				return nil, err
			}
		}
	case json.RawMessage:
		if err := t.parseJSON(a, in); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("arguments are %T, want a JSON object", in)
	}
	return a, nil
}

func (t *compiledTool) parseJSON(a *arguments, raw json.RawMessage) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' { // the whole object as JSON text
		var text string
		if json.Unmarshal(raw, &text) == nil {
			raw = json.RawMessage(strings.TrimSpace(text))
		}
	}
	if len(raw) == 0 || raw[0] != '{' || !json.Valid(raw) {
		return fmt.Errorf("arguments are not a JSON object")
	}
	for name, value := range rawMembers(raw) {
		if t.images[name] {
			images, err := rawImages(value)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			t.setImages(a, name, images)
			continue
		}
		v, err := decodeValue(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		a.members[name] = v
	}
	return nil
}

// rawImages reads an image argument: a string, or an array of strings, also
// one that comes as JSON text.
func rawImages(raw json.RawMessage) (any, error) {
	switch raw[0] {
	case '"':
		text, err := unquote(raw)
		if err != nil {
			return nil, err
		}
		if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "[") && json.Valid([]byte(trimmed)) {
			return rawImages(json.RawMessage(trimmed))
		}
		return text, nil
	case '[':
		list := []any{}
		for value := range rawElements(raw) {
			v, err := rawImages(value)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return decodeValue(raw)
}

func (t *compiledTool) setValue(a *arguments, name string, v any) error {
	if t.images[name] {
		t.setImages(a, name, v)
		return nil
	}
	// What a Go caller passes may hold structs and typed slices: JSON makes
	// them the plain values that the schema describes.
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.members[name], err = decodeValue(raw)
	return err
}

// setImages keeps the image values aside and leaves marks of the same shape.
func (t *compiledTool) setImages(a *arguments, name string, v any) {
	var list []any
	switch v := v.(type) {
	case []any:
		list = v
	case []string:
		for _, s := range v {
			list = append(list, s)
		}
	case []image.Image:
		for _, m := range v {
			list = append(list, m)
		}
	case [][]byte:
		for _, b := range v {
			list = append(list, b)
		}
	case string:
		if trimmed := strings.TrimSpace(v); t.imageLists[name] && strings.HasPrefix(trimmed, "[") {
			var texts []any
			if json.Unmarshal([]byte(trimmed), &texts) == nil {
				t.setImages(a, name, texts)
				return
			}
		}
		list = []any{v}
		a.images[name], a.members[name] = list, mark(v)
		return
	default:
		list = []any{v}
		a.images[name], a.members[name] = list, mark(v)
		return
	}
	marks := make([]any, len(list))
	for i, v := range list {
		marks[i] = mark(v)
	}
	a.images[name], a.members[name] = list, marks
}

// mark is what the schema sees of an image value: a string for everything that
// can be an image, the value itself for the rest (a number, null).
func mark(v any) any {
	switch v.(type) {
	case string, []byte, image.Image:
		return imageMark
	}
	return v
}

func decodeValue(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}

// unquote decodes a JSON string, with one copy when it has no escapes.
func unquote(raw json.RawMessage) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// check coerces, refuses unknown members, applies defaults and validates, in
// that order.
func (t *compiledTool) check(a *arguments) error {
	for name := range a.members {
		if strings.HasPrefix(name, "_") {
			delete(a.members, name) // clients inject members such as _session_key
		}
	}
	properties, _ := t.input["properties"].(map[string]any)
	if err := a.cropIsRegion(properties); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(a.members)) {
		schema, known := properties[name].(map[string]any)
		if !known {
			if t.input["additionalProperties"] == false {
				return unknownMember(name, slices.Sorted(maps.Keys(properties)))
			}
			continue
		}
		v := coerce(schema, a.members[name])
		if v == nil && schema["type"] != nil {
			delete(a.members, name) // null for absent
			delete(a.images, name)
			continue
		}
		a.members[name] = v
	}
	for name, p := range properties {
		schema, _ := p.(map[string]any)
		if def, ok := schema["default"]; ok {
			if _, given := a.members[name]; !given {
				a.members[name] = def
			}
		}
	}
	if err := t.inputSchema.Validate(a.members); err != nil {
		return schemaError(err)
	}
	return nil
}

// cropIsRegion takes crop for region, which it was called once; most tools list
// region only, since listing both would cost every client room.
func (a *arguments) cropIsRegion(properties map[string]any) error {
	crop, given := a.members["crop"]
	if !given || properties["region"] == nil {
		return nil
	}
	if _, both := a.members["region"]; both {
		return Errorf(InvalidArgument, "region and crop are the same thing: give one of them")
	}
	a.members["region"] = crop
	delete(a.members, "crop")
	return nil
}

func unknownMember(name string, known []string) error {
	e := Errorf(InvalidArgument, "unknown argument %q", name)
	if near := nearest(name, known); near != "" {
		e.Message += fmt.Sprintf(": did you mean %q?", near)
	}
	return e.Suggest("known arguments: " + strings.Join(known, ", "))
}

// schemaError words the deepest causes of a validation failure: where, and what
// is allowed there.
func schemaError(err error) error {
	v, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return err
	}
	var texts []string
	printer := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(v *jsonschema.ValidationError) {
		for _, c := range v.Causes {
			walk(c)
		}
		if len(v.Causes) == 0 {
			where := strings.Join(v.InstanceLocation, ".")
			if where != "" {
				where += ": "
			}
			texts = append(texts, where+v.ErrorKind.LocalizedString(printer))
		}
	}
	walk(v)
	slices.Sort(texts)
	return Errorf(InvalidArgument, "%s", strings.Join(texts, "; "))
}

// bind fills dst, a pointer to a struct with json tags, from the members that
// are not images.
func (a *arguments) bind(dst any) error {
	plain := make(map[string]any, len(a.members))
	for name, v := range a.members {
		if _, ok := a.images[name]; !ok {
			plain[name] = v
		}
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, dst)
}
