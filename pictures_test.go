package visions

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"testing"
)

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func dataURI(t *testing.T, m image.Image) string {
	t.Helper()
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(encodePNG(t, m))
}
