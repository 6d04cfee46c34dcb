package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// kept are members that shortening never touches, at any depth: what an answer
// is about must not be what is dropped.
var kept = map[string]bool{
	"success": true, "error": true, "code": true, "message": true, "verdict": true, "reasons": true,
	"warnings": true, "abstained": true, "worst": true, "failing": true, "uri": true, "output_file_path": true,
}

// truncationAction is one thing that was shortened.
type truncationAction struct {
	Action        string `json:"action"`
	Path          string `json:"path"`
	OriginalChars int    `json:"original_chars,omitempty"`
	KeptChars     int    `json:"kept_chars,omitempty"`
	Dropped       int    `json:"dropped,omitempty"`
	Remaining     int    `json:"remaining,omitempty"`
	Was           int    `json:"was,omitempty"`
}

// Limits of shortening.
const (
	truncationReserve = 1024 // characters kept free for the record of what was done
	minString         = 200  // characters below which a string is not shortened
	minItems          = 3    // items below which a list is not shortened
	maxActions        = 8    // places shortened; more than this and the record itself grows
)

// truncate shortens the longest strings, then the longest lists, until the JSON
// is at most limit bytes, and records each step under _truncation. The result
// is always valid JSON; it stays over the limit only when nothing may be
// shortened any further.
func truncate(raw []byte, limit int) ([]byte, error) {
	v, err := decodeValue(raw)
	if err != nil {
		return nil, err
	}
	root, ok := v.(map[string]any)
	if !ok {
		return raw, nil
	}
	target := limit - truncationReserve
	var actions []truncationAction
	size := len(raw)
	for size > target && len(actions) < maxActions {
		c := largest(root, "$", size-target)
		if c == nil {
			break
		}
		actions = append(actions, c.shorten())
		out, err := marshal(root)
		if err != nil {
			return nil, err
		}
		size = len(out)
	}
	root["_truncation"] = map[string]any{
		"truncated": true, "max_chars": limit, "actions": actions,
		"note": "The answer was shortened to MaxResponseText; treat the lists and texts named in actions as incomplete.",
	}
	return marshal(root)
}

// candidate is a string or list that may be shortened, and how.
type candidate struct {
	size    int
	shorten func() truncationAction
}

// largest finds the biggest string or list under v that may be shortened, by
// the length of its JSON. excess is how many characters must go.
func largest(v any, path string, excess int) *candidate {
	var best *candidate
	consider := func(c *candidate) {
		if c != nil && (best == nil || c.size > best.size) {
			best = c
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if kept[name] {
				continue
			}
			at := path + "." + name
			set := func(x any) { v[name] = x }
			consider(shortenable(v[name], at, excess, set))
			consider(largest(v[name], at, excess))
		}
	case []any:
		for i, e := range v {
			at := fmt.Sprintf("%s[%d]", path, i)
			consider(shortenable(e, at, excess, func(x any) { v[i] = x }))
			consider(largest(e, at, excess))
		}
	}
	return best
}

func shortenable(v any, path string, excess int, set func(any)) *candidate {
	switch v := v.(type) {
	case string:
		if len(v) <= minString {
			return nil
		}
		return &candidate{size: len(v) * 2, shorten: func() truncationAction { return shortenString(v, path, excess, set) }}
	case []any:
		if len(v) <= minItems {
			return nil
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil
		}
		return &candidate{size: len(raw), shorten: func() truncationAction { return shortenList(v, len(raw), path, excess, set) }}
	}
	return nil
}

const ellipsis = " […]"

func shortenString(s, path string, excess int, set func(any)) truncationAction {
	keep := max(minString-len(ellipsis), len(s)-excess-len(ellipsis))
	for keep > 0 && !utf8.RuneStart(s[keep]) {
		keep--
	}
	short := strings.TrimRight(s[:keep], " \n") + ellipsis
	set(short)
	return truncationAction{Action: "shortened_string", Path: path, OriginalChars: len(s), KeptChars: len(short)}
}

func shortenList(list []any, size int, path string, excess int, set func(any)) truncationAction {
	perItem := max(1, size/len(list))
	keep := min(len(list)-1, max(minItems, len(list)-excess/perItem-1))
	set(list[:keep])
	return truncationAction{Action: "dropped_array_items", Path: path, Dropped: len(list) - keep, Remaining: keep, Was: len(list)}
}
