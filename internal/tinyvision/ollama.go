package tinyvision

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// OllamaVersion is the version of the server that the tests run, built by
// scripts/build-ollama.sh.
const OllamaVersion = "v0.17.4"

// Names of the models that [StartOllama] makes.
const (
	Vision = "tinyvision:latest" // sees colours
	Text   = "tinytext:latest"   // the same without eyes
)

// Server is a running Ollama server.
type Server struct {
	URL string
	cmd *exec.Cmd
	end chan struct{}
}

// program finds the server that scripts/build-ollama.sh has built.
func program() (string, error) {
	if path := os.Getenv("VISIONS_OLLAMA_BIN"); path != "" {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(cache, "visions", "ollama-"+OllamaVersion, "ollama")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: run scripts/build-ollama.sh (make test does)", err)
	}
	return path, nil
}

// Start starts a server on a free loopback port with its home and models under
// dir, and makes the two models. The caller must call Stop.
func Start(dir string) (*Server, error) {
	bin, err := program()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &Server{URL: fmt.Sprintf("http://127.0.0.1:%d", port), end: make(chan struct{})}
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(bin, "serve")
	s.cmd.Env = append(os.Environ(), "HOME="+home, "OLLAMA_MODELS="+filepath.Join(dir, "models"),
		fmt.Sprintf("OLLAMA_HOST=127.0.0.1:%d", port), "OLLAMA_NO_CLOUD=1", "OLLAMA_LOAD_TIMEOUT=1m")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	ownGroup(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s.cmd.Wait()
		close(s.end)
	}()
	if err := s.prepare(); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// StartOllama is [Start] for one test; the server ends with it.
func StartOllama(tb testing.TB) *Server {
	tb.Helper()
	s, err := Start(tb.TempDir())
	if err != nil {
		tb.Fatalf("the real model server: %v", err)
	}
	tb.Cleanup(s.Stop)
	return s
}

// Stop kills the server and its model runners and waits for it. It may be
// called again.
func (s *Server) Stop() {
	killGroup(s.cmd)
	<-s.end
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startTime is how long the server has to answer, on a machine that is busy.
const startTime = 60 * time.Second

func (s *Server) prepare() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	for s.post(ctx, http.MethodGet, "/api/version", nil) != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer at %s", s.URL)
		case <-s.end:
			return errors.New("the server ended while it started")
		case <-time.After(20 * time.Millisecond):
		}
	}
	for name, o := range map[string]Options{Vision: {}, Text: {TextOnly: true}} {
		if err := s.Create(ctx, name, o); err != nil {
			return err
		}
	}
	return nil
}

// template renders a conversation for the model.
const template = `{{- range .Messages }}{{ if eq .Role "user" }}[INST]{{ .Content }}[/INST]{{ else if eq .Role "system" }}[SYSTEM_PROMPT]{{ .Content }}[/SYSTEM_PROMPT]{{ else }}{{ .Content }}</s>{{ end }}{{ end }}`

// Create makes a model of that name on the server.
func (s *Server) Create(ctx context.Context, name string, o Options) error {
	var file bytes.Buffer
	if err := WriteGGUF(&file, o); err != nil {
		return err
	}
	sum := sha256.Sum256(file.Bytes())
	digest := "sha256:" + hex.EncodeToString(sum[:])
	if err := s.post(ctx, http.MethodPost, "/api/blobs/"+digest, file.Bytes()); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{
		"model": name, "files": map[string]string{"model.gguf": digest}, "template": template, "stream": false,
		"parameters": map[string]any{"temperature": 0, "num_ctx": 2048},
	})
	if err != nil {
		return err
	}
	return s.post(ctx, http.MethodPost, "/api/create", body)
}

func (s *Server) post(ctx context.Context, method, path string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", path, res.Status, text)
	}
	return err
}
