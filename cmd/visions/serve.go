package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/visions-mcp/visions"
)

// drainTime is what calls in flight get after a signal.
const drainTime = 2 * time.Second

// serveFlags are the flags of serve beside the engine's settings.
type serveFlags struct {
	stdio, stateful bool
	http, unix      string
	token           string
	hosts, origins  string
	queue           int
	uploadMB, rate  string
	proxies         string
}

func (p *program) serve(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	var f serveFlags
	fs.BoolVar(&f.stdio, "stdio", false, "serve standard input and output (the default when nothing else is asked for)")
	fs.StringVar(&f.http, "http", "", "serve HTTP at 127.0.0.1:PORT or PORT; 0 picks a free port (environment PORT)")
	fs.StringVar(&f.unix, "unix", "", `serve a Unix socket at this path; "default" is the one of bridge`)
	fs.StringVar(&f.token, "token", "", "bearer token for HTTP (environment VISIONS_TOKEN, which other users cannot see)")
	fs.StringVar(&f.hosts, "allowed-hosts", "", "Host headers to accept beside the loopback names, separated by commas")
	fs.StringVar(&f.origins, "allowed-origins", "", "web origins whose pages may call, separated by commas (environment CORS_ORIGINS)")
	fs.BoolVar(&f.stateful, "stateful", false, "keep HTTP sessions for clients of older protocol versions")
	fs.StringVar(&f.uploadMB, "max-upload-mb", "", "longest upload in MiB, 20 by default (environment MAX_UPLOAD_SIZE_MB)")
	fs.StringVar(&f.rate, "upload-rate", "", "uploads a minute from one address, 10 by default, -1 for any number (environment UPLOAD_RATE_LIMIT)")
	fs.StringVar(&f.proxies, "trusted-proxies", "", "addresses or prefixes whose X-Forwarded-For is believed when uploads are counted, separated by commas")
	fs.IntVar(&f.queue, "queue-depth", visions.DefaultQueueDepth, "calls inside at once; a power of two")
	settings := define(fs)
	if _, err := p.parse(fs, args, 0, 0); err != nil {
		return err
	}
	c, env, err := p.config(fs, settings)
	if err != nil {
		return err
	}
	for flag, from := range map[*string]string{&f.token: "VISIONS_TOKEN", &f.origins: "CORS_ORIGINS", &f.http: "PORT", &f.uploadMB: "MAX_UPLOAD_SIZE_MB", &f.rate: "UPLOAD_RATE_LIMIT"} {
		if *flag == "" && (from != "PORT" || !f.stdio && f.unix == "") {
			*flag = env(from)
		}
	}
	eng, err := visions.New(c)
	if err != nil {
		return err
	}
	defer eng.Close()
	srv, err := visions.Init(eng, visions.ServerConfig{QueueDepth: f.queue, Name: "visions"})
	if err != nil {
		return err
	}
	return p.attach(ctx, srv, f)
}

// attach starts the transports and waits for a signal, or for the end of
// standard input when that is served.
func (p *program) attach(ctx context.Context, srv *visions.Server, f serveFlags) error {
	background := context.WithoutCancel(ctx)
	if f.http != "" {
		port, err := loopbackPort(f.http)
		if err != nil {
			return err
		}
		h := visions.HTTPConfig{TrustedProxies: list(f.proxies), Port: port, Token: f.token, AllowedHosts: list(f.hosts), AllowedOrigins: list(f.origins), SSE: true, Stateful: f.stateful}
		if f.uploadMB != "" {
			mb, err := positive(f.uploadMB)
			if err != nil {
				return usageError{fmt.Errorf("-max-upload-mb: %w", err)}
			}
			h.MaxUploadBytes = int64(mb) << 20
		}
		if f.rate != "" {
			if h.UploadRate, err = strconv.Atoi(f.rate); err != nil || h.UploadRate == 0 {
				return usageError{fmt.Errorf("-upload-rate: %q is not a number other than 0", f.rate)}
			}
		}
		if err := srv.StartHTTP(background, &h); err != nil {
			return err
		}
		fmt.Fprintf(p.err, "listening http http://127.0.0.1:%d/mcp\n", h.Port)
	}
	if f.unix != "" {
		path, err := p.socketPath(f.unix)
		if err != nil {
			return err
		}
		if err := srv.StartUnix(background, &visions.UnixConfig{Path: path}); err != nil {
			return err
		}
		fmt.Fprintf(p.err, "listening unix %s\n", path)
	}
	var hungUp <-chan struct{}
	if f.stdio || f.http == "" && f.unix == "" {
		if err := srv.StartStdio(background, &visions.StdioConfig{In: p.in, Out: p.out}); err != nil {
			return err
		}
		hungUp = srv.Done(visions.Stdio)
	}
	select {
	case <-ctx.Done():
	case <-hungUp:
	}
	bounded, cancel := context.WithTimeout(background, drainTime)
	defer cancel()
	if err := srv.Stop(bounded); err != nil && bounded.Err() == nil {
		return err
	}
	return nil
}

// loopbackPort reads "PORT", ":PORT" or "127.0.0.1:PORT".
func loopbackPort(addr string) (int, error) {
	host, port := "", addr
	if h, p, err := net.SplitHostPort(addr); err == nil {
		host, port = h, p
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 || n > 65535 {
		return 0, usageError{fmt.Errorf("-http %q: want PORT or 127.0.0.1:PORT", addr)}
	}
	if host != "" && host != "127.0.0.1" && host != "localhost" {
		return 0, usageError{fmt.Errorf("-http %q: only 127.0.0.1 is served; put a proxy of your own in front to serve others", addr)}
	}
	return n, nil
}

// socketPath returns where a daemon's socket is; "default" or "" is in the
// user's runtime folder.
func (p *program) socketPath(given string) (string, error) {
	if given != "" && given != "default" {
		return given, nil
	}
	dir := p.env("XDG_RUNTIME_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", usageError{fmt.Errorf("no default socket: neither XDG_RUNTIME_DIR nor a home folder is set; give a path")}
		}
		dir = filepath.Join(cache, "visions")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "visions.sock"), nil
}
