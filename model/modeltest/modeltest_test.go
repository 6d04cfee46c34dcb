package modeltest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/visions-mcp/visions/model"
)

func kind(err error) model.Kind {
	var e *model.Error
	errors.As(err, &e)
	if e == nil {
		return ""
	}
	return e.Kind
}

func TestBlockEndsWithTheContext(t *testing.T) {
	m := New(Answer{Block: true}, Answer{Block: true})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := m.Chat(ctx, &model.Request{Model: Name}, nil)
		failed <- err
	}()
	if err := m.Await(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-failed; kind(err) != model.KindCancelled {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := m.Chat(ctx, &model.Request{Model: Name}, nil); kind(err) != model.KindTimeout {
		t.Errorf("past its deadline: %v", err)
	}
	if err := m.Await(ctx, 3); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting for a request that never comes: %v", err)
	}
}

func TestTheScriptIsFollowed(t *testing.T) {
	m := New(Answer{Text: "a", Err: errors.New("broken")})
	m.Add(Answer{Text: "b"})
	var heard string
	if _, err := m.Chat(t.Context(), &model.Request{}, func(s string) { heard += s }); kind(err) != model.KindFailed || heard != "a" {
		t.Errorf("%v after %q", err, heard)
	}
	if res, err := m.Chat(t.Context(), &model.Request{}, nil); err != nil || res.Text != "b" {
		t.Errorf("%v, %v", res, err)
	}
	if _, err := m.Chat(t.Context(), &model.Request{}, nil); kind(err) != model.KindFailed {
		t.Errorf("past the end: %v", err)
	}
	if _, err := m.Chat(t.Context(), nil, nil); kind(err) != model.KindInvalid {
		t.Errorf("nil request: %v", err)
	}
	s := Say("x", "y")
	for _, want := range []string{"x", "y", "y"} {
		if res, err := s.Chat(t.Context(), &model.Request{}, nil); err != nil || res.Text != want {
			t.Errorf("%v, %v; want %q", res, err, want)
		}
	}
	if d, err := s.Show(t.Context(), Name); err != nil || !d.Vision {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := s.Show(t.Context(), "other"); kind(err) != model.KindNotFound {
		t.Errorf("another model: %v", err)
	}
}
