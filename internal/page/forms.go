package page

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// readControl reads forms, fields and buttons.
func (r *reader) readControl(i int, e *element, role string) {
	switch e.tag {
	case atom.Form:
		if add(r, "forms", &r.m.Forms, func() Form {
			return Form{Label: r.givenName(e), Action: shorten(e.value("action"), maxHref), Method: shorten(strings.ToLower(e.value("method")), maxShort), Role: shorten(role, maxShort), Fields: []Field{}, Buttons: []string{}}
		}) {
			r.forms[i] = len(r.m.Forms) - 1
		}
	case atom.Button:
		r.addButton(i, e, r.textOf(e, maxShort))
	case atom.Input:
		kind := strings.ToLower(e.value("type"))
		switch kind {
		case "hidden":
		case "submit", "reset", "button":
			text := e.value("value")
			if text == "" && kind != "button" {
				text = strings.ToUpper(kind[:1]) + kind[1:] // what browsers write on it
			}
			r.addButton(i, e, shorten(text, maxShort))
		case "image":
			r.addButton(i, e, shorten(e.value("alt"), maxShort))
		case "":
			r.addField(i, e, "text")
		default:
			r.addField(i, e, shorten(kind, maxShort))
		}
	case atom.Select:
		r.addField(i, e, "select")
	case atom.Textarea:
		r.addField(i, e, "textarea")
	default:
		editable, isEditable := e.attribute("contenteditable")
		switch {
		case fieldRoles[role] && !(role == "listbox" && e.in&inList != 0):
			r.addField(i, e, role)
		case buttonRoles[role]:
			r.addButton(i, e, r.textOf(e, maxShort))
		case isEditable && !strings.EqualFold(editable, "false"):
			r.addField(i, e, "textbox")
		}
	}
}

// formOf finds the form a control belongs to.
func (r *reader) formOf(e *element) (int, bool) {
	at := e.form
	if id := e.value("form"); id != "" {
		if j, ok := r.ids[id]; ok && r.elements[j].tag == atom.Form {
			at = j
		}
	}
	n, ok := r.forms[at]
	return n, ok
}

func (r *reader) addField(i int, e *element, kind string) {
	field := func() Field {
		f := Field{Type: kind, Name: shorten(e.value("name"), maxShort), Label: r.fieldLabel(i), Group: r.legend(i), Placeholder: shorten(e.value("placeholder"), maxShort),
			Required: e.has("required") || e.value("aria-required") == "true", Disabled: r.disabled(i), Checked: e.has("checked") || e.value("aria-checked") == "true"}
		if e.tag == atom.Select {
			f.Options = r.options(i)
		}
		return f
	}
	if n, ok := r.formOf(e); ok {
		add(r, "fields", &r.m.Forms[n].Fields, field)
		return
	}
	add(r, "fields_outside_forms", &r.m.LooseFields, field)
}

func (r *reader) options(i int) []string {
	options := []string{}
	for j := i + 1; j < r.elements[i].end; j++ {
		c := &r.elements[j]
		if c.tag != atom.Option {
			continue
		}
		r.counts["options"]++
		if len(options) < MaxEntries {
			text := r.textOf(c, maxShort)
			if text == "" {
				text = shorten(c.value("label"), maxShort)
			}
			options = append(options, text)
		}
	}
	return options
}

// fieldLabel is what names a field: what ARIA refers to or says, a label, its
// title. A placeholder is no label.
func (r *reader) fieldLabel(i int) string {
	e := &r.elements[i]
	if e.has("aria-labelledby") || e.has("aria-label") {
		if name := r.givenName(e); name != "" {
			return name
		}
	}
	if j, ok := r.labels[e.value("id")]; ok {
		return r.labelText(j)
	}
	if e.in&inLabel != 0 {
		for p := e.parent; p >= 0; p = r.elements[p].parent {
			if r.elements[p].tag == atom.Label {
				return r.labelText(p)
			}
		}
	}
	return r.givenName(e)
}

// legend is the legend of the fieldset around an element.
func (r *reader) legend(i int) string {
	for p := r.elements[i].parent; p >= 0; p = r.elements[p].parent {
		e := &r.elements[p]
		if e.tag == atom.Fieldset && p+1 < e.end && r.elements[p+1].tag == atom.Legend {
			return r.textOf(&r.elements[p+1], maxShort)
		}
	}
	return ""
}

// disabled reports whether a control or a fieldset around it is disabled.
func (r *reader) disabled(i int) bool {
	if e := &r.elements[i]; e.has("disabled") || e.value("aria-disabled") == "true" {
		return true
	}
	for p := r.elements[i].parent; p >= 0; p = r.elements[p].parent {
		if e := &r.elements[p]; e.tag == atom.Fieldset && e.has("disabled") {
			return true
		}
	}
	return false
}

func (r *reader) addButton(i int, e *element, text string) {
	name := r.givenName(e)
	if text == "" && name == "" {
		name = r.altInside(i)
	}
	if name == text {
		name = ""
	}
	add(r, "buttons", &r.m.Buttons, func() Button { return Button{Text: text, Name: name, Disabled: r.disabled(i)} })
	if n, ok := r.formOf(e); ok {
		if text == "" {
			text = name
		}
		if f := &r.m.Forms[n]; len(f.Buttons) < MaxEntries {
			f.Buttons = append(f.Buttons, text)
		}
	}
}
