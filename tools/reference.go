package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Reference describes the tool in Markdown: what it does, its arguments as a
// table in the order of the schema, and both schemas.
func (t Tool) Reference() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n", t.Name, t.Description)
	b.WriteString("Group: " + t.Group)
	if t.Writes {
		b.WriteString("; writes files or keeps something, so it is left out when read-only")
	}
	if t.OpenWorld {
		b.WriteString("; reaches beyond this machine")
	}
	b.WriteString("\n\n## Arguments\n\n| name | type | default | |\n|---|---|---|---|\n")
	var schema struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(t.Input, &schema) == nil && len(schema.Properties) > 0 {
		for name, p := range rawMembers(bytes.TrimSpace(schema.Properties)) {
			argumentRow(&b, name, p, schema.Required)
		}
	}
	schemaBlock(&b, "Input schema", t.Input)
	if t.Output != nil {
		schemaBlock(&b, "Output schema", t.Output)
	}
	return b.String()
}

// argumentRow writes one row of the table of arguments.
func argumentRow(b *strings.Builder, name string, property json.RawMessage, required []string) {
	var p struct {
		Type        string
		Description string
		Enum        []any
		Default     json.RawMessage
		Minimum     json.Number
		Maximum     json.Number
	}
	if json.Unmarshal(property, &p) != nil {
		return
	}
	about := p.Description
	if len(p.Enum) > 0 {
		values := make([]string, len(p.Enum))
		for i, v := range p.Enum {
			values[i] = fmt.Sprint(v)
		}
		about += " One of " + strings.Join(values, ", ") + "."
	}
	switch {
	case p.Minimum != "" && p.Maximum != "":
		about += fmt.Sprintf(" From %s to %s.", p.Minimum, p.Maximum)
	case p.Minimum != "":
		about += fmt.Sprintf(" At least %s.", p.Minimum)
	case p.Maximum != "":
		about += fmt.Sprintf(" At most %s.", p.Maximum)
	}
	value := string(p.Default)
	if slices.Contains(required, name) {
		value = "required"
	}
	row := strings.NewReplacer("|", `\|`, "\n", " ")
	fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", name, p.Type, row.Replace(value), row.Replace(strings.TrimSpace(about)))
}

func schemaBlock(b *strings.Builder, title string, schema json.RawMessage) {
	var indented bytes.Buffer
	if json.Indent(&indented, schema, "", "  ") != nil {
		indented.Write(schema)
	}
	fmt.Fprintf(b, "\n## %s\n\n```json\n%s\n```\n", title, bytes.TrimSpace(indented.Bytes()))
}
