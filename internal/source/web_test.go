package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/imaging"
)

// site serves images well and badly.
func site(t *testing.T) *httptest.Server {
	data := pngOf(t, picture())
	mux := http.NewServeMux()
	serve := func(path, kind string, status int, body []byte) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			w.Write(body) //nolint:errcheck // the client may have gone, which is what some cases are about
		})
	}
	serve("/a.png", "image/png", 200, data)
	serve("/untyped", "application/octet-stream", 200, data)
	serve("/wrong.jpg", "image/jpeg", 200, data)
	serve("/page", "text/html; charset=utf-8", 200, []byte("<p>no</p>"))
	serve("/empty", "image/png", 200, nil)
	serve("/missing", "image/png", 404, data)
	serve("/partial", "image/png", 206, data)
	serve("/long", "image/png", 200, make([]byte, 5000))
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/silent", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2999")
		w.Write(data) //nolint:errcheck // see above
	})
	mux.HandleFunc("/hops/{n}", func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscan(r.PathValue("n"), &n) //nolint:errcheck // the tests' own
		to := fmt.Sprintf("/hops/%d", n-1)
		if n == 1 {
			to = "/a.png"
		}
		http.Redirect(w, r, to, http.StatusFound)
	})
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("url"), http.StatusFound)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}

func TestDownload(t *testing.T) {
	srv := site(t)
	want := pngOf(t, picture())
	r := resolver(t, Config{PrivateURLs: true, Limits: imaging.Limits{Bytes: 3000}})
	for path, warnings := range map[string]int{"/a.png": 0, "/untyped": 0, "/wrong.jpg": 1, "/hops/1": 0, "/hops/3": 0} {
		b, err := r.Fetch(t.Context(), srv.URL+path, Options{})
		if err != nil || !bytes.Equal(b.Data, want) || len(b.Warnings) != warnings {
			t.Errorf("%s: %v (%+v)", path, err, b)
		}
	}
	for path, want := range map[string]error{
		"/page": ErrDownload, "/empty": ErrDownload, "/missing": ErrDownload, "/partial": ErrDownload, "/cut": ErrDownload,
		"/hops/4": ErrDownload, "/long": ErrTooLarge, "/endless": ErrTooLarge, "/to?url=ftp://a/b": ErrURLDenied, "/to?url=file:///etc/passwd": ErrURLDenied,
	} {
		_, err := r.Download(t.Context(), srv.URL+path)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: %v, want %v and the URL", path, err, want)
		}
	}
	for address, want := range map[string]error{
		"http://": ErrInvalidArgument, "http://%zz": ErrInvalidArgument, "https:///a.png": ErrInvalidArgument, "http://a b/": ErrInvalidArgument,
		"http://me:secret@127.0.0.1/": ErrURLDenied, "http://127.0.0.1:1/" + strings.Repeat("a", maxURL): ErrInvalidArgument,
		"http://host.invalid/a.png": ErrDownload, "http://127.0.0.1:1/a.png": ErrDownload, "gopher://127.0.0.1/": ErrURLDenied,
	} {
		_, err := r.Download(t.Context(), address)
		if !errors.Is(err, want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60s: %v, want %v", address, err, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancelled := make(chan error)
	go func() {
		_, err := r.Download(ctx, srv.URL+"/silent")
		cancelled <- err
	}()
	cancel(errStop)
	if err := <-cancelled; !errors.Is(err, errStop) {
		t.Errorf("a download that was cancelled: %v", err)
	}
}

// TestDownloadStaysOnThePublicInternet checks addresses where they are dialled.
func TestDownloadStaysOnThePublicInternet(t *testing.T) {
	srv := site(t)
	_, port, _ := net.SplitHostPort(srv.Listener.Addr().String())
	r := resolver(t, Config{})
	for _, address := range []string{
		srv.URL + "/a.png", "http://localhost:" + port + "/a.png", "http://[::1]:" + port + "/", "http://[::ffff:127.0.0.1]:" + port + "/",
		"http://0.0.0.0:" + port + "/", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[fe80::1]/", "http://[64:ff9b::7f00:1]/",
	} {
		_, err := r.Fetch(t.Context(), address, Options{})
		if !errors.Is(err, ErrURLDenied) || !strings.Contains(err.Error(), "AllowPrivateURLs") {
			t.Errorf("%s: %v, want ErrURLDenied that says how to allow it", address, err)
		}
	}
	// The first hop is allowed as if it were public, the second is not.
	other := site(t)
	r.web = newWeb(func(network, address string, c syscall.RawConn) error {
		if address == srv.Listener.Addr().String() {
			return nil
		}
		return guard.PublicOnly(network, address, c)
	})
	if _, err := r.Download(t.Context(), srv.URL+"/a.png"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Download(t.Context(), srv.URL+"/to?url="+other.URL+"/a.png"); !errors.Is(err, ErrURLDenied) {
		t.Errorf("a redirect to a private address: %v", err)
	}
	// A proxy of the environment would connect on our behalf.
	t.Setenv("HTTP_PROXY", srv.URL)
	t.Setenv("http_proxy", srv.URL)
	if _, err := resolver(t, Config{}).Download(t.Context(), "http://10.0.0.1/a.png"); !errors.Is(err, ErrURLDenied) {
		t.Errorf("with a proxy in the environment: %v", err)
	}
}
