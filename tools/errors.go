package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/visions-mcp/visions/internal/admission"
	"github.com/visions-mcp/visions/internal/guard"
	"github.com/visions-mcp/visions/internal/imaging"
	"github.com/visions-mcp/visions/internal/source"
	"github.com/visions-mcp/visions/internal/store"
	"github.com/visions-mcp/visions/model"
)

// Code names a kind of failure. Codes are stable: clients may test them.
type Code string

// The codes, each with its HTTP status and whether a retry can help in [Code.Status]
// and [Code.Retryable].
const (
	InvalidArgument   Code = "INVALID_ARGUMENT"
	UnknownTool       Code = "UNKNOWN_TOOL"
	QueueFull         Code = "QUEUE_FULL"
	RateLimited       Code = "RATE_LIMITED"
	TooLarge          Code = "TOO_LARGE"
	ImageTooLarge     Code = "IMAGE_TOO_LARGE"
	ImageCorrupt      Code = "IMAGE_CORRUPT"
	UnsupportedFormat Code = "UNSUPPORTED_FORMAT"
	NotFound          Code = "NOT_FOUND"
	Expired           Code = "EXPIRED"
	PathDenied        Code = "PATH_DENIED"
	URLDenied         Code = "URL_DENIED"
	DownloadFailed    Code = "DOWNLOAD_FAILED"
	OCRUnavailable    Code = "OCR_UNAVAILABLE"
	OCRLanguage       Code = "OCR_LANGUAGE"
	ModelUnavailable  Code = "MODEL_UNAVAILABLE"
	ModelNotFound     Code = "MODEL_NOT_FOUND"
	ModelNotVision    Code = "MODEL_NOT_VISION"
	ModelIncomplete   Code = "MODEL_INCOMPLETE"
	ModelContext      Code = "MODEL_CONTEXT"
	ModelTimeout      Code = "MODEL_TIMEOUT"
	Cancelled         Code = "CANCELLED"
	Deadline          Code = "DEADLINE"
	JobUnknown        Code = "JOB_UNKNOWN"
	JobExpired        Code = "JOB_EXPIRED"
	JobRestarted      Code = "JOB_RESTARTED"
	RequestIDConflict Code = "REQUEST_ID_CONFLICT"
	Internal          Code = "INTERNAL"
)

// statusClientClosed is the status that HTTP servers log when the client went
// away before the answer (nginx's 499; no RFC defines one).
const statusClientClosed = 499

var codes = map[Code]struct {
	status    int
	retryable bool
}{
	InvalidArgument:   {http.StatusBadRequest, false},
	UnknownTool:       {http.StatusNotFound, false},
	QueueFull:         {http.StatusTooManyRequests, true},
	RateLimited:       {http.StatusTooManyRequests, true},
	TooLarge:          {http.StatusRequestEntityTooLarge, false},
	ImageTooLarge:     {http.StatusRequestEntityTooLarge, false},
	ImageCorrupt:      {http.StatusUnprocessableEntity, false},
	UnsupportedFormat: {http.StatusUnsupportedMediaType, false},
	NotFound:          {http.StatusNotFound, false},
	Expired:           {http.StatusGone, false},
	PathDenied:        {http.StatusForbidden, false},
	URLDenied:         {http.StatusForbidden, false},
	DownloadFailed:    {http.StatusBadGateway, true},
	OCRUnavailable:    {http.StatusServiceUnavailable, false},
	OCRLanguage:       {http.StatusBadRequest, false},
	ModelUnavailable:  {http.StatusServiceUnavailable, true},
	ModelNotFound:     {http.StatusNotFound, false},
	ModelNotVision:    {http.StatusUnprocessableEntity, false},
	ModelIncomplete:   {http.StatusBadGateway, true},
	ModelContext:      {http.StatusUnprocessableEntity, false},
	ModelTimeout:      {http.StatusGatewayTimeout, true},
	Cancelled:         {statusClientClosed, true},
	Deadline:          {http.StatusGatewayTimeout, true},
	JobUnknown:        {http.StatusNotFound, false},
	JobExpired:        {http.StatusGone, false},
	JobRestarted:      {http.StatusGone, false},
	RequestIDConflict: {http.StatusConflict, false},
	Internal:          {http.StatusInternalServerError, false},
}

// Status is the HTTP status that goes with the code; 500 for an unknown one.
func (c Code) Status() int {
	if k, ok := codes[c]; ok {
		return k.status
	}
	return http.StatusInternalServerError
}

// Retryable reports whether the same call can succeed when it is made again.
func (c Code) Retryable() bool { return codes[c].retryable }

// Error is how a tool fails: a stable code, what happened to which input, and
// what to do next.
type Error struct {
	Code        Code
	Message     string
	Suggestions []string       // what the caller may do, most useful first
	Details     map[string]any // further members of the JSON form
	Err         error          // the cause, for errors.Is; never shown
	Structured  bool           // shown as structuredContent too, in the form of Object
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// MarshalJSON gives the form clients see: error, code, message, suggestions,
// retryable, and the details.
func (e *Error) MarshalJSON() ([]byte, error) {
	m := map[string]any{}
	for k, v := range e.Details {
		m[k] = v
	}
	m["error"] = true
	m["code"] = e.Code
	m["message"] = e.Message
	m["retryable"] = e.Code.Retryable()
	m["suggestions"] = e.Suggestions
	if e.Suggestions == nil {
		m["suggestions"] = []string{}
	}
	return json.Marshal(m)
}

// Object gives the form of the job tools' contract: the message as error,
// is_error, the code, and the details.
func (e *Error) Object() map[string]any {
	m := map[string]any{}
	for k, v := range e.Details {
		m[k] = v
	}
	m["error"], m["is_error"], m["code"], m["retryable"] = e.Message, true, e.Code, e.Code.Retryable()
	return m
}

// Errorf makes an error of a code. It wraps what a %w verb names.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Suggest adds advice and returns the error.
func (e *Error) Suggest(advice ...string) *Error {
	e.Suggestions = append(e.Suggestions, advice...)
	return e
}

// AsError turns any error of a call into an [*Error]: the packages below each
// have their own kinds, and this is the one place that gives them codes.
func AsError(err error) *Error {
	var tool *Error
	if errors.As(err, &tool) {
		return tool
	}
	for _, convert := range []func(error) *Error{fromImaging, fromModel, fromOCR, fromJob, fromAdmission, fromSource, fromContext} {
		if e := convert(err); e != nil {
			e.Err = err
			return e
		}
	}
	return &Error{Code: Internal, Message: err.Error(), Err: err}
}

var imageCodes = map[imaging.Class]Code{
	imaging.ClassBytes:       TooLarge,
	imaging.ClassDimension:   ImageTooLarge,
	imaging.ClassPixels:      ImageTooLarge,
	imaging.ClassFrames:      ImageTooLarge,
	imaging.ClassScans:       ImageTooLarge,
	imaging.ClassTruncated:   ImageCorrupt,
	imaging.ClassCorrupt:     ImageCorrupt,
	imaging.ClassUnsupported: UnsupportedFormat,
	imaging.ClassNotImage:    UnsupportedFormat,
}

func fromImaging(err error) *Error {
	var e *imaging.Error
	if !errors.As(err, &e) {
		return nil
	}
	code, ok := imageCodes[e.Class]
	if !ok {
		code = ImageCorrupt
	}
	return &Error{Code: code, Message: err.Error(), Details: map[string]any{"class": string(e.Class)}}
}

var modelCodes = map[model.Kind]Code{
	model.KindUnavailable: ModelUnavailable,
	model.KindNotFound:    ModelNotFound,
	model.KindNotVision:   ModelNotVision,
	model.KindIncomplete:  ModelIncomplete,
	model.KindContext:     ModelContext,
	model.KindTimeout:     ModelTimeout,
	model.KindCancelled:   Cancelled,
	model.KindInvalid:     InvalidArgument,
	model.KindFailed:      ModelUnavailable,
}

func fromModel(err error) *Error {
	var e *model.Error
	if !errors.As(err, &e) {
		return nil
	}
	details := map[string]any{"model": e.Model, "elapsed_ms": e.Elapsed.Milliseconds()}
	if e.FirstToken > 0 {
		details["ttft_ms"] = e.FirstToken.Milliseconds()
	}
	if e.Resident != nil {
		details["resident_models"] = e.Resident
	}
	if e.InstalledVision != nil {
		details["installed_vision_models"] = e.InstalledVision
	}
	if e.Partial != "" {
		details["partial_text"] = e.Partial
	}
	out := &Error{Code: modelCodes[e.Kind], Message: err.Error(), Details: details}
	if out.Code == "" {
		out.Code = Internal
	}
	if e.Diagnosis != "" {
		out.Suggestions = []string{e.Diagnosis}
	}
	return out
}

func fromAdmission(err error) *Error {
	var full *admission.FullError
	if errors.As(err, &full) {
		return &Error{Code: QueueFull, Message: err.Error(),
			Details:     map[string]any{"queue_depth": full.Depth, "waiting": full.Waiting},
			Suggestions: []string{"call again when one of the running calls has answered", "raise ServerConfig.QueueDepth"}}
	}
	var gate *admission.GateFullError
	if errors.As(err, &gate) {
		return &Error{Code: QueueFull, Message: err.Error(),
			Details:     map[string]any{"queue_depth": gate.MaxWaiting, "waiting": gate.MaxWaiting, "running": gate.Held},
			Suggestions: []string{"call again when one of the running calls has answered"}}
	}
	if errors.Is(err, admission.ErrStopping) {
		return &Error{Code: Cancelled, Message: err.Error()}
	}
	return nil
}

func fromSource(err error) *Error {
	for _, k := range []struct {
		is   error
		code Code
	}{
		{source.ErrPathDenied, PathDenied}, {guard.ErrDenied, PathDenied},
		{source.ErrURLDenied, URLDenied}, {source.ErrDownload, DownloadFailed},
		{source.ErrTooLarge, TooLarge}, {source.ErrInvalidArgument, InvalidArgument}, {source.ErrNotFound, NotFound},
		{store.ErrExpired, Expired}, {store.ErrQuota, TooLarge}, {store.ErrNotFound, NotFound},
		{fs.ErrNotExist, NotFound}, {fs.ErrPermission, PathDenied},
	} {
		if errors.Is(err, k.is) {
			return &Error{Code: k.code, Message: err.Error()}
		}
	}
	return nil
}

func fromContext(err error) *Error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: Deadline, Message: "the call's deadline passed before it was done"}
	case errors.Is(err, context.Canceled):
		return &Error{Code: Cancelled, Message: "the call was cancelled"}
	}
	return nil
}
