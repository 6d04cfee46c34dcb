// Package rest serves what clients ask for by plain HTTP beside the MCP
// endpoint: uploads and output files. Its handlers run behind the guard of
// package httpd.
package rest

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/internal/wire"
	"github.com/visions-mcp/visions/tools"
)

// Defaults of [Config].
const (
	DefaultMaxUpload  = 20 << 20 // bytes
	DefaultUploadRate = 10       // uploads a minute and peer
)

// Config is what the handlers work with.
type Config struct {
	Store     *store.Store
	Budget    *wire.Budget // bytes in flight, shared with the other edges
	Limits    imaging.Limits
	MaxUpload int64 // bytes; 0 is [DefaultMaxUpload]
	// UploadRate is how many uploads a peer address may make a minute; 0 is
	// [DefaultUploadRate], less is any number.
	UploadRate int
	// TrustedProxies are addresses or prefixes whose X-Forwarded-For is
	// believed when peers are counted.
	TrustedProxies []string
	Now            func() time.Time // nil is time.Now
}

// Routes returns the handlers by [http.ServeMux] pattern.
//
// # Errors
//
// A trusted proxy that is neither an address nor a prefix.
func Routes(c Config) (map[string]http.Handler, error) {
	if c.MaxUpload == 0 {
		c.MaxUpload = DefaultMaxUpload
	}
	if c.UploadRate == 0 {
		c.UploadRate = DefaultUploadRate
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	peers, err := newPeers(c)
	if err != nil {
		return nil, err
	}
	u := &uploads{c: c, peers: peers}
	return map[string]http.Handler{
		"/upload": u, "/vision/upload": u, "/staging/upload": u,
		"/files/{id}": &files{c.Store},
	}, nil
}

// refuse answers with an error: the status of its code, and statusCode, error
// (the status in words), message, code and suggestions as JSON.
func refuse(w http.ResponseWriter, err error) {
	e := tools.AsError(err)
	status := e.Code.Status()
	body := map[string]any{"statusCode": status, "error": http.StatusText(status), "message": e.Message, "code": e.Code}
	if len(e.Suggestions) > 0 {
		body["suggestions"] = e.Suggestions
	}
	answer(w, status, body)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client is gone
}

// allow answers false, and the request, when its method is none of methods.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	for _, m := range methods {
		if r.Method == m {
			return true
		}
	}
	for _, m := range methods {
		w.Header().Add("Allow", m)
	}
	answer(w, http.StatusMethodNotAllowed, map[string]any{"statusCode": http.StatusMethodNotAllowed, "error": http.StatusText(http.StatusMethodNotAllowed),
		"message": r.Method + " is not served at " + r.URL.Path, "code": tools.InvalidArgument})
	return false
}

// bodyTime is what a client gets to send an upload, or to take a file.
const bodyTime = 2 * time.Minute

// patient gives one request bodyTime. done must be called.
func patient(w http.ResponseWriter) (done func()) {
	rc := http.NewResponseController(w)
	set := func(t time.Time) {
		rc.SetReadDeadline(t)  //nolint:errcheck // a connection without deadlines has none
		rc.SetWriteDeadline(t) //nolint:errcheck // see above
	}
	set(time.Now().Add(bodyTime))
	return func() { set(time.Time{}) }
}

// tooLong is the end of a body that was cut at a limit.
func tooLong(err error) bool {
	var limit *http.MaxBytesError
	return errors.As(err, &limit)
}
