package rest

import (
	"bytes"
	"net/http"

	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// files serves GET /files/{id}: the output files that tools made.
type files struct{ store *store.Store }

// ServeHTTP implements [http.Handler].
func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer patient(w)()
	if !allow(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	data, ref, err := f.store.Get(store.Outputs, r.PathValue("id"))
	if err != nil {
		refuse(w, err)
		return
	}
	head := w.Header()
	head.Set("Content-Type", tools.MIMEType(ref.ID))
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Disposition", `inline; filename="`+ref.ID+`"`)
	head.Set("Cache-Control", "private, max-age=60")
	http.ServeContent(w, r, "", ref.Created, bytes.NewReader(data))
}
