package main

import (
	"bufio"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/visions-mcp/visions"
	"github.com/visions-mcp/visions/model"
)

// setting is one value that can come from a flag, the environment, a file given
// by -env, or its default, in that order.
type setting struct {
	flag, env, def, help string
	set                  func(c *visions.Config, value string) error
}

// engineSettings are those of visions.Config. docs/SETTINGS.md lists the same.
var engineSettings = []setting{
	{"ollama", "OLLAMA_HOST", "", "address of the Ollama server", func(c *visions.Config, v string) error {
		o, err := model.NewOllama(model.OllamaConfig{URL: v, Logger: c.Logger})
		if err != nil {
			return err
		}
		c.Models = map[string]model.Model{"": o}
		return nil
	}},
	{"fast-model", "VISION_MODEL_FAST", visions.DefaultFastModel, "model of analyze_image", func(c *visions.Config, v string) error { c.FastModel = v; return nil }},
	{"heavy-model", "VISION_MODEL_HEAVY", visions.DefaultHeavyModel, "model of the tools that need more", func(c *visions.Config, v string) error { c.HeavyModel = v; return nil }},
	{"model-timeout-ms", "OLLAMA_TIMEOUT_MS", "180000", "longest time for a model's answer, in milliseconds", func(c *visions.Config, v string) error {
		n, err := positive(v)
		c.ModelTimeout = time.Duration(n) * time.Millisecond
		return err
	}},
	{"model-calls", "MAX_PARALLEL_OLLAMA_REQUESTS", "1", "questions with the models at once", func(c *visions.Config, v string) (err error) {
		c.ModelCalls, err = positive(v)
		return err
	}},
	{"model-queue", "MAX_OLLAMA_QUEUE_SIZE", "20", "questions that may wait for a model", func(c *visions.Config, v string) (err error) {
		c.ModelQueue, err = positive(v)
		return err
	}},
	{"keep-alive", "OLLAMA_KEEP_ALIVE", "", `how long a model stays loaded ("5m", "300", "0", "-1")`, func(c *visions.Config, v string) error { c.KeepAlive = v; return nil }},
	{"roots", "IMAGE_ROOTS", "", "folders that image paths are confined to, separated by commas", func(c *visions.Config, v string) error { c.ImageRoots = list(v); return nil }},
	{"allow-private-urls", "ALLOW_PRIVATE_URLS", "false", "fetch images from addresses that are not public too", func(c *visions.Config, v string) (err error) {
		c.AllowPrivateURLs, err = strconv.ParseBool(v)
		return err
	}},
	{"dir", "FEEDBACK_DIR", "", "folder for uploads, downloads and output files; empty is a private one that ends with the program", func(c *visions.Config, v string) error { c.Dir = v; return nil }},
	{"job-dir", "VISIONS_JOB_DIR", "", "private folder that keeps vision jobs over restarts; empty keeps them in memory", func(c *visions.Config, v string) error { c.JobDir = v; return nil }},
	{"toolset", "TOOLSET", "", "groups or tools to offer, separated by commas; empty is all", func(c *visions.Config, v string) error { c.Toolset = list(v); return nil }},
	{"read-only", "READ_ONLY", "false", "leave out tools that write files or download", func(c *visions.Config, v string) (err error) {
		c.ReadOnly, err = strconv.ParseBool(v)
		return err
	}},
	{"plain-schemas", "PLAIN_SCHEMAS", "false", "leave the mark x-mcp-file out of schemas, for clients that refuse it", func(c *visions.Config, v string) (err error) {
		c.PlainSchemas, err = strconv.ParseBool(v)
		return err
	}},
	{"omit-images", "OMIT_IMAGES", "false", "leave pictures out of answers", func(c *visions.Config, v string) (err error) {
		c.OmitImages, err = strconv.ParseBool(v)
		return err
	}},
	{"max-response-bytes", "MAX_RESPONSE_BYTES", "1000000", "bound on an answer with its pictures", func(c *visions.Config, v string) (err error) {
		c.MaxResponseBytes, err = positive(v)
		return err
	}},
	{"max-response-text", "MAX_RESPONSE_TEXT_CHARS", "12000", "bound on an answer's JSON", func(c *visions.Config, v string) (err error) {
		c.MaxResponseText, err = positive(v)
		return err
	}},
}

func positive(v string) (int, error) {
	n, err := strconv.Atoi(v)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a positive number", v)
	}
	return n, nil
}

func list(v string) []string {
	var out []string
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// sources are where a run's settings come from.
type sources struct {
	flags   map[string]*string
	envFile *string
	verbose *bool
}

// define adds the engine's flags to a command.
func define(fs *flag.FlagSet) *sources {
	s := &sources{flags: map[string]*string{}}
	for _, e := range engineSettings {
		s.flags[e.flag] = fs.String(e.flag, "", fmt.Sprintf("%s (environment %s, default %q)", e.help, e.env, e.def))
	}
	s.envFile = fs.String("env", "", "file of NAME=value lines, used where the environment says nothing")
	s.verbose = fs.Bool("v", false, "log to standard error")
	return s
}

// config gathers the settings.
func (p *program) config(fs *flag.FlagSet, s *sources) (visions.Config, func(string) string, error) {
	var c visions.Config
	if *s.verbose {
		c.Logger = slog.New(slog.NewTextHandler(p.err, nil))
	}
	env := p.env
	if *s.envFile != "" {
		file, err := readEnv(*s.envFile)
		if err != nil {
			return c, nil, err
		}
		env = func(name string) string {
			if v := p.env(name); v != "" {
				return v
			}
			return file[name]
		}
	}
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, e := range engineSettings {
		from, value := "-"+e.flag, *s.flags[e.flag]
		if !given[e.flag] {
			from, value = e.env, env(e.env)
		}
		if value == "" && e.flag != "ollama" {
			continue
		}
		if err := e.set(&c, value); err != nil {
			return c, nil, usageError{fmt.Errorf("%s: %w", from, err)}
		}
	}
	return c, env, nil
}

// readEnv reads NAME=value lines; # begins a comment line, and quotes around a
// value are dropped.
func readEnv(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("-env: %w", err)
	}
	defer f.Close()
	m := map[string]string{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !ok {
			return nil, usageError{fmt.Errorf("%s:%d: want NAME=value", path, n)}
		}
		value = strings.TrimSpace(value)
		if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
			value = value[1 : len(value)-1]
		}
		m[strings.TrimSpace(name)] = value
	}
	return m, lines.Err()
}
