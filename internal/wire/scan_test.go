package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzScanner holds the scanner to encoding/json: it accepts what is valid
// JSON (and UTF-8, and not too deep), nothing else, and never more than once
// through.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"arguments":{"a":[1,-0.5e+3,null,true]}}}`,
		`"\u00e9\"\\\n"`, `"a` + "\x01" + `b"`, `"123456789\u12g4"`, `[`, `[[[]]]`, `-`, `01`, `1.`, `1e`, `{"a"}`, `{"a":1,}`, `nul`, ` 1 `, `1 2`, ``, `"\`, `"\u12`, "\xff",
		`"` + strings.Repeat(`\"`, 50) + `"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &scanner{b: data}
		err := s.all(s.value)
		if strings.Count(string(data), "[")+strings.Count(string(data), "{") > maxDepth {
			return
		}
		if valid := json.Valid(data); utf8.Valid(data) && valid != (err == nil) {
			t.Errorf("json.Valid %v, scanner %v: %q", valid, err, data)
		}
		m, bad := Parse(data)
		if bad == nil && !json.Valid(data) {
			t.Errorf("Parse accepted %q", data)
		}
		if bad == nil && m.IsCall() {
			var plain struct{ Method string }
			if err := json.Unmarshal(data, &plain); err == nil && strings.Count(string(data), `ethod`) == 1 && plain.Method != m.Method && utf8.ValidString(plain.Method) {
				t.Errorf("method %q, encoding/json says %q", m.Method, plain.Method)
			}
		}
	})
}

func TestScannerDepth(t *testing.T) {
	for n, ok := range map[int]bool{maxDepth: true, maxDepth + 1: false, 1 << 20: false} {
		s := &scanner{b: []byte(strings.Repeat("[", n) + strings.Repeat("]", n))}
		if err := s.all(s.value); (err == nil) != ok {
			t.Errorf("%d levels: %v", n, err)
		}
	}
}

func TestFindID(t *testing.T) {
	for in, want := range map[string]string{
		`{"id":1,"x":`: `1`,
		`{"params":{"id":5,"a":["id",{"id":6}]},"id":"end"}`:    `"end"`,
		`{"params":{"id":5}, "id" : "a\"b" , "method":"x" oops`: `"a\"b"`,
		`{"method":"id","id":-7}`:                               `-7`,
		`{"id":1`:                                               ``, // it may go on
		`{"id":null,"x":1}`:                                     ``,
		`{"id":1.5,"x":1}`:                                      ``,
		`{"id":{"id":3},"x":1}`:                                 ``,
		`{"other":"id","x":1}`:                                  ``,
		`[{"id":1}]`:                                            ``,
		`garbage "id":1, }`:                                     ``,
		`{"id":"` + strings.Repeat("x", maxFoundID) + `","x":1}`:   ``,
		`{"text":"\\","id":9,"rest":"` + strings.Repeat("z", 5000): `9`,
	} {
		if got := string(FindID([]byte(in))); got != want {
			t.Errorf("%.60s: id %s, want %s", in, got, want)
		}
	}
}

func TestDetach(t *testing.T) {
	big := `{"image":"` + strings.Repeat("A", detachBytes) + `"}`
	m, bad := Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"n", "arguments" : ` + big + ` ,"_meta":{"progressToken":1}}}`))
	if bad != nil {
		t.Fatal(bad)
	}
	params, arguments := m.Detach()
	var p struct {
		Name      string
		Arguments string
		Meta      struct{ ProgressToken int } `json:"_meta"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.Name != "n" || p.Meta.ProgressToken != 1 || !strings.Contains(p.Arguments, "wire.Prepare") {
		t.Errorf("params %s: %v", params, err)
	}
	if string(arguments) != big || !m.Progress {
		t.Errorf("arguments %.40s, progress %v", arguments, m.Progress)
	}
}
