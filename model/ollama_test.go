package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/visions-mcp/visions/internal/tinyvision"
)

// server is the real Ollama server that these tests share.
var server *tinyvision.Server

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "visions-ollama-")
	if err == nil {
		server, err = tinyvision.Start(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the real model server:", err)
		os.Exit(1)
	}
	code := m.Run()
	server.Stop()
	os.RemoveAll(dir)
	os.Exit(code)
}

func backend(t *testing.T, url string) *Ollama {
	t.Helper()
	o, err := NewOllama(OllamaConfig{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func solid(w, h int, c color.Color) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.Draw(m, m.Rect, image.NewUniform(c), image.Point{}, draw.Src)
	return m
}

var named = map[string]color.NRGBA{
	"red": {255, 0, 0, 255}, "green": {0, 255, 0, 255}, "blue": {0, 0, 255, 255}, "yellow": {255, 255, 0, 255}, "cyan": {0, 255, 255, 255},
	"magenta": {255, 0, 255, 255}, "white": {255, 255, 255, 255}, "black": {0, 0, 0, 255}, "gray": {128, 128, 128, 255},
}

// kindOf returns the error's kind, "" for none.
func kindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return ""
}

func TestTheModelSeesColours(t *testing.T) {
	o := backend(t, server.URL)
	for name, c := range named {
		res, err := o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "What colour?", Images: []image.Image{solid(300, 200, c)}}, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(res.Text, name) {
			t.Errorf("%s: the model says %q", name, res.Text)
		}
	}
}

func TestImagesOfEverySizeArrive(t *testing.T) {
	o := backend(t, server.URL)
	for _, size := range []image.Point{{1, 1}, {257, 27}, {2000, 10}, {10, 3000}, {3840, 2160}, {57, 56}} {
		res, err := o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "Colour?", Images: []image.Image{solid(size.X, size.Y, named["blue"])}}, nil)
		if err != nil {
			t.Errorf("%v: %v", size, err)
			continue
		}
		s := res.Images[0]
		if !strings.Contains(res.Text, "blue") {
			t.Errorf("%v: the model says %q", size, res.Text)
		}
		if s.Input != size || min(s.Size.X, s.Size.Y) < minEdge || max(s.Size.X, s.Size.Y) > DefaultMaxEdge {
			t.Errorf("%v was sent as %+v", size, s)
		}
		if s.Size != size && len(res.Warnings) == 0 {
			t.Errorf("%v was sent as %v without a word", size, s.Size)
		}
		x, y := s.ToInput(float64(s.Content.Max.X), float64(s.Content.Max.Y))
		if int(x+0.5) != size.X || int(y+0.5) != size.Y {
			t.Errorf("%v: the far corner maps to %g,%g", size, x, y)
		}
	}
}

func TestTwoImagesBothArrive(t *testing.T) {
	res, err := backend(t, server.URL).Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "Colour?",
		Images: []image.Image{solid(224, 224, named["red"]), solid(224, 224, named["green"])}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(res.Text, "yellow") && !strings.Contains(res.Text, "gray") {
		t.Errorf("the average of red and green is called %q", res.Text)
	}
}

func TestSchemaAnswersAreJSON(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string","enum":["red","blue","green"]}},"required":["colour"]}`)
	res, err := backend(t, server.URL).Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "Colour?", Schema: schema, Images: []image.Image{solid(100, 100, named["red"])}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Colour string }
	if err := json.Unmarshal([]byte(res.Text), &got); err != nil || got.Colour != "red" {
		t.Errorf("the answer is %q (%v)", res.Text, err)
	}
}

func TestDangerousRequestsDoNotHurtTheServer(t *testing.T) {
	o := backend(t, server.URL)
	for name, req := range map[string]*Request{
		"a pattern that ends a server": {Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=x)y$"}}}`), Prompt: "x"},
		"an image mark in the prompt":  {Prompt: "what is [img-7] and [img]?"},
	} {
		req.Model, req.Images = "tinyvision", []image.Image{solid(60, 60, named["red"])}
		if _, err := o.Chat(t.Context(), req, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := o.List(t.Context()); err != nil {
		t.Fatalf("the server is gone: %v", err)
	}
}

func TestModelsThatCannotAnswerAreRefusedWithAdvice(t *testing.T) {
	o := backend(t, server.URL)
	for name, want := range map[string]Kind{"tinytext": KindNotVision, "absent:7b": KindNotFound, "": KindInvalid} {
		_, err := o.Chat(t.Context(), &Request{Model: name, Prompt: "x", Images: []image.Image{solid(60, 60, named["red"])}}, nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != want {
			t.Errorf("%q: %v, want %s", name, err, want)
			continue
		}
		if name != "" && (!slices.Equal(e.InstalledVision, []string{tinyvision.Vision}) || !strings.Contains(e.Diagnosis, "tinyvision")) {
			t.Errorf("%q: the error names %v and says %q", name, e.InstalledVision, e.Diagnosis)
		}
	}
}

func TestCutAnswersAreNotSuccess(t *testing.T) {
	o := backend(t, server.URL)
	for name, req := range map[string]*Request{
		"the token limit":          {Prompt: "LOOP", Options: Options{NumPredict: 20}},
		"the server's repeat stop": {Prompt: "REPEAT"},
	} {
		req.Model, req.Images = "tinyvision", []image.Image{solid(60, 60, named["red"])}
		_, err := o.Chat(t.Context(), req, nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != KindIncomplete || e.Partial == "" || e.FirstToken == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeepAliveForms(t *testing.T) {
	o := backend(t, server.URL)
	for _, keep := range []string{"0", "-1", "300", "5m", ""} {
		if _, err := o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "x", KeepAlive: keep}, nil); err != nil {
			t.Errorf("keep_alive %q: %v", keep, err)
		}
	}
	for _, keep := range []string{"forever", "5 minutes", "m"} {
		if _, err := o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "x", KeepAlive: keep}, nil); kindOf(err) != KindInvalid {
			t.Errorf("keep_alive %q: %v, want invalid", keep, err)
		}
	}
}

// proxy stands in front of the real server and tells when the last of its
// client's connections has been closed.
func proxy(t *testing.T, target string) (url string, open func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	change := make(chan int, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			change <- 1
			go func() {
				defer c.Close()
				up, err := net.Dial("tcp", strings.TrimPrefix(target, "http://"))
				if err != nil {
					return
				}
				go func() { io.Copy(c, up); c.Close() }()
				io.Copy(up, c)
				up.Close()
				change <- -1
			}()
		}
	}()
	n := 0
	return "http://" + l.Addr().String(), func() int {
		for {
			select {
			case d := <-change:
				n += d
			case <-time.After(time.Second):
				return n
			}
		}
	}
}

func TestCancelClosesTheConnectionToTheModel(t *testing.T) {
	url, open := proxy(t, server.URL)
	o := backend(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	start := time.Now()
	_, err := o.Chat(ctx, &Request{Model: "tinyvision", Prompt: "LOOP", Options: Options{NumPredict: 4000}, Images: []image.Image{solid(60, 60, named["red"])}}, func(string) {
		if pieces++; pieces == 5 {
			cancel()
			start = time.Now()
		}
	})
	if kindOf(err) != KindCancelled {
		t.Fatalf("the cancelled call: %v", err)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("Chat returned %s after the cancel", took)
	}
	// Questions before the chat went over the same connection: none is left.
	if n := open(); n != 0 {
		t.Errorf("%d connections are still open a second after the cancel", n)
	}
}

func TestTimeoutsSayWhatWasGoingOn(t *testing.T) {
	o := backend(t, server.URL)
	_, err := o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "LOOP", Timeout: 700 * time.Millisecond, Options: Options{NumPredict: 8000}, Images: []image.Image{solid(60, 60, named["red"])}}, nil)
	var e *Error
	if !errors.As(err, &e) || e.Kind != KindTimeout || e.Diagnosis == "" || e.Elapsed == 0 || e.Resident == nil || !slices.Contains(e.InstalledVision, tinyvision.Vision) {
		t.Fatalf("total time: %#v", err)
	}
	_, err = o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "x", FirstToken: time.Nanosecond, Images: []image.Image{solid(60, 60, named["red"])}}, nil)
	if !errors.As(err, &e) || e.Kind != KindTimeout || e.FirstToken != 0 {
		t.Fatalf("first token: %v", err)
	}
}

func TestAServerThatDiesIsAnError(t *testing.T) {
	own := tinyvision.StartOllama(t)
	o := backend(t, own.URL)
	pieces := 0
	_, err := o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "LOOP", Options: Options{NumPredict: 4000}, Images: []image.Image{solid(60, 60, named["red"])}}, func(string) {
		if pieces++; pieces == 5 {
			own.Stop()
		}
	})
	var e *Error
	if !errors.As(err, &e) || e.Partial == "" {
		t.Fatalf("killed while answering: %v", err)
	}
	_, err = o.Chat(t.Context(), &Request{Model: "tinyvision", Prompt: "x"}, nil)
	if !errors.As(err, &e) || e.Kind != KindUnavailable || !strings.Contains(e.Diagnosis, own.URL) {
		t.Fatalf("after its end: %v", err)
	}
}

func TestOllamaURL(t *testing.T) {
	for in, want := range map[string]string{
		"": DefaultOllamaURL, "box": "http://box:11434", "box:1": "http://box:1", "http://box": "http://box:80", "https://box/p/": "https://box:443/p",
		"0.0.0.0": "http://127.0.0.1:11434", "[::1]:5": "http://[::1]:5", `"127.0.0.1:9"`: "http://127.0.0.1:9",
	} {
		if got, err := OllamaURL(in); err != nil || got != want {
			t.Errorf("OllamaURL(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	if _, err := OllamaURL("ftp://box"); err == nil {
		t.Error("ftp was accepted")
	}
}
