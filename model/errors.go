package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind is what went wrong.
type Kind string

// The kinds of errors.
const (
	KindUnavailable Kind = "unavailable" // the server cannot be reached, or is overloaded
	KindNotFound    Kind = "not_found"   // the model is not installed
	KindNotVision   Kind = "not_vision"  // the model cannot look at images
	KindIncomplete  Kind = "incomplete"  // the answer was cut
	KindContext     Kind = "context"     // the question does not fit the model's context
	KindTimeout     Kind = "timeout"
	KindCancelled   Kind = "cancelled"
	KindInvalid     Kind = "invalid" // the request is wrong
	KindFailed      Kind = "failed"  // the server said that it failed
)

// Error is a failed call.
type Error struct {
	Kind            Kind
	Model           string
	Elapsed         time.Duration
	FirstToken      time.Duration // when the first piece of the answer came, 0 for never
	Resident        []string      // models in memory, when asked
	InstalledVision []string      // installed vision models, when asked
	Diagnosis       string        // what it means and what to do
	Partial         string        // text that came before the failure
	Err             error

	permanent bool // asking again cannot help, whatever the kind says
}

// Error says the kind, the model, the cause, the times and the diagnosis.
func (e *Error) Error() string {
	text := fmt.Sprintf("model %q: %s", e.Model, strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Elapsed > 0 {
		text += fmt.Sprintf(" (after %s", e.Elapsed.Round(time.Millisecond))
		if e.FirstToken > 0 {
			text += fmt.Sprintf(", first text after %s", e.FirstToken.Round(time.Millisecond))
		}
		text += ")"
	}
	if e.Diagnosis != "" {
		text += "; " + e.Diagnosis
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request can succeed later.
func (e *Error) Retryable() bool {
	if e.permanent {
		return false
	}
	return e.Kind == KindUnavailable || e.Kind == KindIncomplete || e.Kind == KindTimeout || e.Kind == KindFailed
}

// errFirstToken is the cause when nothing came in time.
var errFirstToken = errors.New("no part of the answer came in time")

// ended returns why a call's context ended: Cancelled by the caller, or Timeout.
func ended(ctx context.Context) (Kind, error) {
	cause := context.Cause(ctx)
	if errors.Is(cause, errFirstToken) || errors.Is(cause, context.DeadlineExceeded) {
		return KindTimeout, cause
	}
	return KindCancelled, cause
}

// invalid is an error of the request.
func invalid(name, format string, args ...any) *Error {
	return &Error{Kind: KindInvalid, Model: name, Err: fmt.Errorf(format, args...)}
}

// maxMessage bounds what is repeated of a server's message, in bytes.
const maxMessage = 500

// clip shortens text of a server for an error.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + " [cut]"
}
