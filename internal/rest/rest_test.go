package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/internal/wire"
)

// service is the routes on a mux, with a clock of the test's.
type service struct {
	*http.ServeMux
	store *store.Store
	now   time.Time
}

func newService(t *testing.T, c Config) *service {
	t.Helper()
	s := &service{ServeMux: http.NewServeMux(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	var err error
	if s.store, err = store.Open(store.Config{Now: clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.store.Close() })
	c.Store, c.Now = s.store, clock
	if c.Budget == nil {
		c.Budget = wire.NewBudget(0)
	}
	routes, err := Routes(c)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, h := range routes {
		s.Handle(pattern, h)
	}
	return s
}

// ask makes a request and decodes the answer.
func (s *service) ask(t *testing.T, method, path, kind string, body io.Reader, change ...func(*http.Request)) (int, map[string]any, http.Header) {
	t.Helper()
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("Content-Type", kind)
	for _, f := range change {
		f(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer map[string]any
	if strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
		}
	} else {
		answer = map[string]any{"bytes": w.Body.Bytes()}
	}
	return w.Code, answer, w.Header()
}

func pictures(t *testing.T) (asPNG, asJPEG []byte) {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, 12, 5))
	for i := range m.Pix {
		m.Pix[i] = byte(i*i) | 1
	}
	var a, b bytes.Buffer
	if err := png.Encode(&a, m); err != nil {
		t.Fatal(err)
	}
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return a.Bytes(), b.Bytes()
}

func form(t *testing.T, parts ...string) (kind string, body *bytes.Buffer) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for _, p := range parts {
		if p == "file" {
			part, err := w.CreateFormFile("picture", "../../evil.png")
			if err != nil {
				t.Fatal(err)
			}
			data, _ := pictures(t)
			part.Write(data) //nolint:errcheck // a buffer
			continue
		}
		w.WriteField(p, "value") //nolint:errcheck // a buffer
	}
	w.Close()
	return w.FormDataContentType(), body
}

func TestUploadKeepsTheImage(t *testing.T) {
	asPNG, asJPEG := pictures(t)
	formKind, formBody := form(t, "name", "file", "after")
	for name, c := range map[string]struct {
		path, kind string
		body       []byte
		mime       string
	}{
		"PNG":                 {"/upload", "image/png", asPNG, "image/png"},
		"JPEG":                {"/vision/upload", "image/jpeg", asJPEG, "image/jpeg"},
		"image/jpg":           {"/staging/upload", "image/jpg", asJPEG, "image/jpeg"},
		"loud with parameter": {"/upload", "IMAGE/JPEG; charset=binary", asJPEG, "image/jpeg"},
		"octets":              {"/upload", "application/octet-stream", asPNG, "image/png"},
		"curl --data-binary":  {"/upload", "application/x-www-form-urlencoded", asPNG, "image/png"},
		"no type":             {"/upload", "", asPNG, "image/png"},
		"a form":              {"/upload", formKind, formBody.Bytes(), "image/png"},
	} {
		s := newService(t, Config{})
		status, got, _ := s.ask(t, "POST", c.path, c.kind, bytes.NewReader(c.body))
		if status != 200 || got["mimeType"] != c.mime || got["width"] != 12.0 || got["height"] != 5.0 || got["expires"] != "2026-01-02T03:19:05Z" {
			t.Errorf("%s: %d %v", name, status, got)
			continue
		}
		id := fmt.Sprint(got["filename"])
		if got["uploadRef"] != "upload://"+id || got["image_url"] != got["uploadRef"] {
			t.Errorf("%s: references %v", name, got)
		}
		kept, _, err := s.store.Get(store.Uploads, id)
		if err != nil || float64(len(kept)) != got["size"] || !bytes.Equal(kept, asPNG) && !bytes.Equal(kept, asJPEG) {
			t.Errorf("%s: kept %d bytes, %v", name, len(kept), err)
		}
	}
}

func TestUploadRefuses(t *testing.T) {
	asPNG, asJPEG := pictures(t)
	noFile, noFileBody := form(t, "a", "b")
	for name, c := range map[string]struct {
		method, kind string
		body         io.Reader
		status       int
		code         string
		says         string
	}{
		"GET":                     {"GET", "", nil, 405, "INVALID_ARGUMENT", "GET"},
		"a wrong type":            {"POST", "image/png", bytes.NewReader(asJPEG), 415, "UNSUPPORTED_FORMAT", "image/jpeg"},
		"text":                    {"POST", "text/plain", bytes.NewReader(asPNG), 415, "UNSUPPORTED_FORMAT", "text/plain"},
		"a broken type":           {"POST", ";;;", bytes.NewReader(asPNG), 415, "UNSUPPORTED_FORMAT", ";;;"},
		"no image":                {"POST", "image/png", strings.NewReader("GIF87 or so"), 415, "UNSUPPORTED_FORMAT", ""},
		"half an image":           {"POST", "image/png", bytes.NewReader(asPNG[:40]), 422, "IMAGE_CORRUPT", "end"},
		"nothing":                 {"POST", "image/png", strings.NewReader(""), 400, "INVALID_ARGUMENT", "empty"},
		"too long":                {"POST", "image/png", bytes.NewReader(make([]byte, 200_000)), 413, "TOO_LARGE", "MaxUploadBytes (1000 bytes)"},
		"too long, length hidden": {"POST", "image/png", io.MultiReader(bytes.NewReader(make([]byte, 200_000))), 413, "TOO_LARGE", "MaxUploadBytes (1000 bytes)"},
		"a little too long":       {"POST", "image/png", bytes.NewReader(make([]byte, 1001)), 413, "TOO_LARGE", "MaxUploadBytes"},
		"a form without file":     {"POST", noFile, noFileBody, 400, "INVALID_ARGUMENT", "no file"},
		"a form without boundary": {"POST", "multipart/form-data", bytes.NewReader(asPNG), 400, "INVALID_ARGUMENT", "form"},
	} {
		s := newService(t, Config{MaxUpload: 1000})
		status, got, _ := s.ask(t, c.method, "/upload", c.kind, c.body)
		if status != c.status || got["code"] != c.code || got["statusCode"] != float64(c.status) || !strings.Contains(fmt.Sprint(got["message"]), c.says) {
			t.Errorf("%s: %d %v, want %d %s with %q", name, status, got, c.status, c.code, c.says)
		}
		if n := len(s.store.List(store.Uploads)); n != 0 {
			t.Errorf("%s: %d files were kept", name, n)
		}
	}
	full := newService(t, Config{Budget: wire.NewBudget(10)})
	if status, got, head := full.ask(t, "POST", "/upload", "image/png", bytes.NewReader(asPNG)); status != 429 || got["code"] != "QUEUE_FULL" || head.Get("Retry-After") == "" {
		t.Errorf("without room for the bytes: %d %v", status, got)
	}
}

// TestUploadRate counts by the peer's address, and behind a trusted proxy by the
// address that the proxy saw.
func TestUploadRate(t *testing.T) {
	asPNG, _ := pictures(t)
	s := newService(t, Config{UploadRate: 2, TrustedProxies: []string{"10.0.0.0/8", "192.0.2.9"}})
	upload := func(peer, forwarded string) int {
		status, got, head := s.ask(t, "POST", "/upload", "image/png", bytes.NewReader(asPNG), func(r *http.Request) {
			r.RemoteAddr = peer + ":1234"
			if forwarded != "" {
				r.Header.Set("X-Forwarded-For", forwarded)
			}
		})
		if status == 429 && (got["code"] != "RATE_LIMITED" || head.Get("Retry-After") == "") {
			t.Errorf("refused with %v, Retry-After %q", got, head.Get("Retry-After"))
		}
		return status
	}
	for i, c := range []struct {
		peer, forwarded string
		want            int
	}{
		{"203.0.113.1", "", 200}, {"203.0.113.1", "", 200}, {"203.0.113.1", "", 429},
		{"203.0.113.1", "203.0.113.77", 429}, // anybody can write this header
		{"203.0.113.2", "", 200},
		{"10.1.1.1", "203.0.113.3", 200}, {"10.2.2.2", "198.51.100.1, 203.0.113.3", 200}, {"10.1.1.1", "203.0.113.3", 429},
		{"192.0.2.9", "203.0.113.4, 10.5.5.5", 200},
		{"10.1.1.1", "no address", 200},
	} {
		if got := upload(c.peer, c.forwarded); got != c.want {
			t.Errorf("upload %d from %s (%q): %d, want %d", i, c.peer, c.forwarded, got, c.want)
		}
	}
	s.now = s.now.Add(time.Minute)
	if got := upload("203.0.113.1", ""); got != 200 {
		t.Errorf("a minute later: %d", got)
	}
	for range 30 {
		any := newService(t, Config{UploadRate: -1})
		if status, _, _ := any.ask(t, "POST", "/upload", "image/png", bytes.NewReader(asPNG)); status != 200 {
			t.Fatalf("without a rate: %d", status)
		}
	}
	if _, err := Routes(Config{TrustedProxies: []string{"here"}}); err == nil || !strings.Contains(err.Error(), `"here"`) {
		t.Errorf("a proxy that is no address: %v", err)
	}
}

func TestFiles(t *testing.T) {
	asPNG, _ := pictures(t)
	s := newService(t, Config{})
	ref, err := s.store.Put(store.Outputs, "png", asPNG)
	if err != nil {
		t.Fatal(err)
	}
	upload, err := s.store.Put(store.Uploads, "png", asPNG)
	if err != nil {
		t.Fatal(err)
	}
	status, got, head := s.ask(t, "GET", "/files/"+ref.ID, "", nil)
	if status != 200 || !bytes.Equal(got["bytes"].([]byte), asPNG) || head.Get("Content-Type") != "image/png" || head.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d, %v", status, head)
	}
	if status, got, _ = s.ask(t, "GET", "/files/"+ref.ID, "", nil, func(r *http.Request) { r.Header.Set("Range", "bytes=0-7") }); status != 206 || len(got["bytes"].([]byte)) != 8 {
		t.Errorf("a range: %d %v", status, got)
	}
	if status, got, head = s.ask(t, "HEAD", "/files/"+ref.ID, "", nil); status != 200 || len(got["bytes"].([]byte)) != 0 || head.Get("Content-Length") != fmt.Sprint(len(asPNG)) {
		t.Errorf("HEAD: %d %v", status, head)
	}
	for path, want := range map[string]int{
		"/files/" + strings.Repeat("0", 32) + ".png": 404, "/files/..%2fuploads%2f" + upload.ID: 404, "/files/" + upload.ID: 404, "/files/%2e%2e": 404,
	} {
		if status, got, _ := s.ask(t, "GET", path, "", nil); status != want || got["code"] != "NOT_FOUND" {
			t.Errorf("%s: %d %v", path, status, got)
		}
	}
	if status, got, _ := s.ask(t, "DELETE", "/files/"+ref.ID, "", nil); status != 405 {
		t.Errorf("DELETE: %d %v", status, got)
	}
	s.now = s.now.Add(time.Hour)
	if status, got, _ := s.ask(t, "GET", "/files/"+ref.ID, "", nil); status != 410 || got["code"] != "EXPIRED" {
		t.Errorf("an hour later: %d %v", status, got)
	}
}
