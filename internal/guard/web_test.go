package guard

import (
	"net/http/httptest"
	"testing"
)

func TestWebHost(t *testing.T) {
	w, err := NewWeb([]string{"box.example", "proxy.example:8443"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for host, ok := range map[string]bool{
		"127.0.0.1:80": true, "127.8.8.8": true, "localhost": true, "LOCALHOST:1": true, "[::1]:99": true, "[::1]": true,
		"box.example": true, "BOX.example:1": true, "proxy.example:8443": true, "proxy.example:1": false,
		"evil.example": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false, "10.0.0.1": false, "": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if err := w.Host(r); (err == nil) != ok {
			t.Errorf("Host %q: %v", host, err)
		}
	}
}

func TestWebOrigin(t *testing.T) {
	w, err := NewWeb(nil, []string{"https://App.example"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for origin, ok := range map[string]bool{
		"http://127.0.0.1:9": true, "https://app.example": true,
		"https://127.0.0.1:9": false, "http://127.0.0.1:10": false, "http://app.example": false, "null": false, "": false, "http://evil.example": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "127.0.0.1:9"
		r.Header.Set("Origin", origin)
		if err := w.Origin(r); (err == nil) != ok {
			t.Errorf("Origin %q: %v", origin, err)
		}
	}
	if err := w.Origin(httptest.NewRequest("GET", "/", nil)); err != nil {
		t.Errorf("no Origin: %v", err)
	}
	for _, bad := range []string{"null", "*", "app.example", "https://a.example/path"} {
		if _, err := NewWeb(nil, []string{bad}, ""); err == nil {
			t.Errorf("origin %q was accepted as a setting", bad)
		}
	}
}

func TestWebToken(t *testing.T) {
	w, _ := NewWeb(nil, nil, "s3cret")
	for header, ok := range map[string]bool{
		"Bearer s3cret": true, "bearer s3cret": true, "Bearer s3cre": false, "Basic s3cret": false, "Bearer": false, "": false, "s3cret": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Authorization", header)
		if err := w.Token(r); (err == nil) != ok {
			t.Errorf("Authorization %q: %v", header, err)
		}
	}
}
