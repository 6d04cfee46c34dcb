package tools

import (
	"bytes"
	"encoding/json"
	"iter"
)

// rawMembers gives the members of a valid JSON object without copying values.
// Names are decoded. The standard library's map[string]json.RawMessage copies
// each value, which a 20 MB image argument makes dear.
func rawMembers(obj json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		i := skipSpace(obj, 1)
		for i < len(obj) && obj[i] != '}' {
			end := skipValue(obj, i)
			name, err := unquote(obj[i:end])
			if err != nil {
				return
			}
			i = skipSpace(obj, skipSpace(obj, end)+1) // past the colon
			end = skipValue(obj, i)
			if !yield(name, obj[i:end]) {
				return
			}
			i = nextElement(obj, end)
		}
	}
}

// rawElements gives the elements of a valid JSON array without copying them.
func rawElements(arr json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		i := skipSpace(arr, 1)
		for i < len(arr) && arr[i] != ']' {
			end := skipValue(arr, i)
			if !yield(arr[i:end]) {
				return
			}
			i = nextElement(arr, end)
		}
	}
}

// nextElement steps over space and one comma.
func nextElement(b []byte, i int) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return i
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the index after the value of valid JSON that starts at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
			continue
		default:
			n := bytes.IndexAny(b[i:], ",]} \t\n\r")
			if n < 0 {
				return len(b)
			}
			i += n
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// skipString returns the index after the closing quote of the string at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		i += n
		escapes := 0
		for b[i-1-escapes] == '\\' {
			escapes++
		}
		i++
		if escapes%2 == 0 {
			return i
		}
	}
	return i
}
