package rest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/tools"
)

// uploads serves POST /upload: an image as the body, or as the first file of a
// multipart form.
type uploads struct {
	c     Config
	peers *peers
}

// maxFields bounds the parts before the file of a form.
const maxFields = 32

// ServeHTTP implements [http.Handler].
func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer patient(w)()
	if !allow(w, r, http.MethodPost) {
		return
	}
	if wait, ok := u.peers.take(r); !ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		refuse(w, tools.Errorf(tools.RateLimited, "UploadRate allows %d uploads a minute from one address", u.c.UploadRate).
			Suggest(fmt.Sprintf("upload again in %s", wait.Round(time.Second))))
		return
	}
	held := u.c.MaxUpload // of unknown length
	if r.ContentLength >= 0 {
		held = r.ContentLength
	}
	if held > u.c.MaxUpload+formOverhead {
		refuse(w, u.tooLarge())
		return
	}
	if !u.c.Budget.TryAcquire(held) {
		w.Header().Set("Retry-After", "1")
		refuse(w, tools.Errorf(tools.QueueFull, "MaxBytesInFlight (%d bytes) is taken by other requests", u.c.Budget.Max()).Suggest("upload again in a second"))
		return
	}
	defer u.c.Budget.Release(held)
	r.Body = http.MaxBytesReader(w, r.Body, u.c.MaxUpload+formOverhead)
	declared, data, err := u.read(r)
	if err != nil {
		refuse(w, err)
		return
	}
	body, err := u.keep(declared, data)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, body)
}

// formOverhead is what the boundaries and fields of a form may add to a file.
const formOverhead = 64 << 10 // bytes

func (u *uploads) tooLarge() error {
	return tools.Errorf(tools.TooLarge, "the upload is longer than MaxUploadBytes (%d bytes)", u.c.MaxUpload)
}

// read returns the bytes of the image and the type they are said to have.
func (u *uploads) read(r *http.Request) (declared string, data []byte, err error) {
	declared, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && r.Header.Get("Content-Type") != "" {
		return "", nil, tools.Errorf(tools.UnsupportedFormat, "the Content-Type %q cannot be read", r.Header.Get("Content-Type"))
	}
	body := io.Reader(r.Body)
	if declared == "multipart/form-data" {
		part, err := firstFile(multipart.NewReader(r.Body, parameters["boundary"]))
		if err != nil {
			return "", nil, u.broken(err)
		}
		declared, _, _ = mime.ParseMediaType(part.Header.Get("Content-Type"))
		body = part
	}
	data, err = io.ReadAll(io.LimitReader(body, u.c.MaxUpload+1))
	if err != nil {
		return "", nil, u.broken(err)
	}
	if int64(len(data)) > u.c.MaxUpload {
		return "", nil, u.tooLarge()
	}
	if len(data) == 0 {
		return "", nil, tools.Errorf(tools.InvalidArgument, "the upload is empty").Suggest("send the bytes of the image as the body")
	}
	return declared, data, nil
}

func (u *uploads) broken(err error) error {
	var tool *tools.Error
	switch {
	case tooLong(err):
		return u.tooLarge()
	case errors.As(err, &tool):
		return err
	}
	return tools.Errorf(tools.InvalidArgument, "the body broke off or is no form: %v", err)
}

// firstFile skips the fields before the first file of a form.
func firstFile(form *multipart.Reader) (*multipart.Part, error) {
	for range maxFields {
		part, err := form.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			return part, nil
		}
	}
	return nil, tools.Errorf(tools.InvalidArgument, "the form has no file among its first %d parts", maxFields)
}

// uploadTypes are the content types that say nothing, and so are not compared
// with the bytes.
var uploadTypes = map[string]bool{"": true, "application/octet-stream": true, "application/x-www-form-urlencoded": true} // the last is curl's for --data-binary

// uploaded is the answer to an upload.
type uploaded struct {
	Ref      string `json:"uploadRef"`
	ImageURL string `json:"image_url"`
	Filename string `json:"filename"`
	MIMEType string `json:"mimeType"`
	Size     int64  `json:"size"`
	Width    int    `json:"width"`
	Height   int    `json:"height"`
	Expires  string `json:"expires"`
}

// keep checks the image and stores it under a name of ours.
func (u *uploads) keep(declared string, data []byte) (*uploaded, error) {
	if !uploadTypes[declared] && !strings.HasPrefix(declared, "image/") {
		return nil, tools.Errorf(tools.UnsupportedFormat, "the Content-Type is %s", declared).
			Suggest("send an image as image/png, image/jpeg, image/webp, image/gif or image/bmp, or as multipart/form-data")
	}
	info, err := imaging.Probe(data, u.c.Limits)
	if err != nil {
		return nil, err
	}
	if declared == "image/jpg" || declared == "image/pjpeg" {
		declared = "image/jpeg"
	}
	if !uploadTypes[declared] && declared != "image/"+info.Format {
		return nil, tools.Errorf(tools.UnsupportedFormat, "the Content-Type says %s but the bytes are image/%s", declared, info.Format).
			Suggest("send the type of the bytes, or application/octet-stream")
	}
	ref, err := u.c.Store.Put(store.Uploads, info.Extension(), data)
	if err != nil {
		return nil, err
	}
	name := "upload://" + ref.ID
	return &uploaded{name, name, ref.ID, "image/" + info.Format, ref.Size, info.Width, info.Height, ref.Expires.UTC().Format(time.RFC3339)}, nil
}
