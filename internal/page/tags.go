package page

import "golang.org/x/net/html/atom"

func set(tags ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(tags))
	for _, t := range tags {
		m[t] = true
	}
	return m
}

// What the HTML standard says of elements (html.spec.whatwg.org, sections
// "Elements" and "The stack of open elements"). All of it is read only.
var (
	isVoid = set(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr)

	isBlock = set(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Caption, atom.Center, atom.Dd, atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr,
		atom.Legend, atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.Optgroup, atom.Option, atom.P, atom.Pre, atom.Search, atom.Section, atom.Summary,
		atom.Table, atom.Tbody, atom.Td, atom.Tfoot, atom.Th, atom.Thead, atom.Tr, atom.Ul)

	closesP = set(atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Center, atom.Dd, atom.Details, atom.Dialog, atom.Dir, atom.Div, atom.Dl, atom.Dt,
		atom.Fieldset, atom.Figcaption, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Hr,
		atom.Li, atom.Main, atom.Menu, atom.Nav, atom.Ol, atom.P, atom.Pre, atom.Search, atom.Section, atom.Summary, atom.Table, atom.Ul)

	isTablePart = set(atom.Table, atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup)

	tableScope = set(atom.Table)
	pScope     = set(atom.Table, atom.Td, atom.Th, atom.Caption, atom.Button, atom.Object, atom.Marquee)
	listScope  = set(atom.Ul, atom.Ol, atom.Menu, atom.Dl, atom.Table, atom.Td, atom.Th, atom.Caption, atom.Button, atom.Object, atom.Article, atom.Section, atom.Nav, atom.Aside,
		atom.Form, atom.Fieldset, atom.Blockquote, atom.Details, atom.Main, atom.Header, atom.Footer)

	byTag = map[atom.Atom]where{
		atom.Nav: inNav, atom.Header: inHeader, atom.Footer: inFooter, atom.Aside: inAside, atom.Main: inMain, atom.Article: inArticle,
		atom.Ul: inList, atom.Ol: inList, atom.Menu: inList, atom.Dl: inList, atom.Table: inTable, atom.Label: inLabel, atom.Legend: inLabel, atom.Button: inButton, atom.A: inLink,
		atom.Select: inSelect, atom.Datalist: inSelect, atom.Svg: inSVG,
		atom.H1: inHeading, atom.H2: inHeading, atom.H3: inHeading, atom.H4: inHeading, atom.H5: inHeading, atom.H6: inHeading,
	}
	byRole = map[string]where{
		"navigation": inNav, "banner": inHeader, "contentinfo": inFooter, "complementary": inAside, "main": inMain, "article": inArticle,
		"heading": inHeading, "button": inButton, "link": inLink, "list": inList, "tab": inButton, "menuitem": inButton,
	}

	// wanted are the attributes that are kept.
	wanted = map[string]bool{
		"id": true, "href": true, "src": true, "alt": true, "title": true, "role": true, "lang": true, "dir": true, "hidden": true, "style": true, "open": true,
		"aria-label": true, "aria-labelledby": true, "aria-current": true, "aria-level": true, "aria-disabled": true, "aria-checked": true, "aria-required": true,
		"type": true, "name": true, "value": true, "placeholder": true, "required": true, "disabled": true, "checked": true, "for": true, "form": true,
		"action": true, "method": true, "label": true, "colspan": true, "contenteditable": true,
	}

	// landmarkOf is the ARIA role that an element has by itself.
	landmarkOf = map[atom.Atom]string{
		atom.Nav: "navigation", atom.Main: "main", atom.Aside: "complementary", atom.Header: "banner", atom.Footer: "contentinfo", atom.Search: "search", atom.Dialog: "dialog",
	}
	landmarkRoles = map[string]bool{
		"navigation": true, "main": true, "complementary": true, "banner": true, "contentinfo": true, "search": true, "form": true, "region": true,
		"dialog": true, "alertdialog": true, "alert": true, "status": true, "toolbar": true,
	}
	// fieldRoles are the roles that make a form field of an element that is none.
	fieldRoles = map[string]bool{
		"textbox": true, "searchbox": true, "checkbox": true, "radio": true, "switch": true, "combobox": true, "slider": true, "spinbutton": true, "listbox": true,
	}
	buttonRoles = map[string]bool{"button": true, "tab": true, "menuitem": true, "menuitemcheckbox": true, "menuitemradio": true}
)
