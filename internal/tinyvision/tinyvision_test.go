package tinyvision

import (
	"bytes"
	"testing"
)

func TestWriteGGUFIsDeterministic(t *testing.T) {
	for _, o := range []Options{{}, {TextOnly: true}} {
		var a, b bytes.Buffer
		if err := WriteGGUF(&a, o); err != nil {
			t.Fatal(err)
		}
		if err := WriteGGUF(&b, o); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(a.Bytes(), b.Bytes()) {
			t.Errorf("%+v: two runs differ", o)
		}
		if a.Len() > 1<<20 || !bytes.HasPrefix(a.Bytes(), []byte("GGUF")) {
			t.Errorf("%+v: %d bytes that begin with %q", o, a.Len(), a.Bytes()[:4])
		}
	}
}
