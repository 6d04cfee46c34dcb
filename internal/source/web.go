package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/visions-mcp/visions/internal/guard"
)

// Limits on fetching a URL.
const (
	maxRedirects   = 3
	webTimeout     = 30 * time.Second // for the whole download
	dialTimeout    = 10 * time.Second
	answerTimeout  = 15 * time.Second // until the headers are there
	maxHeaderBytes = 64 << 10
	maxURL         = 8 << 10 // characters
)

// newWeb returns a client for URLs that strangers name: no proxy, because a
// proxy would connect on our behalf; control sees every address that is
// dialled, also after a redirect; and nothing is decompressed, because what a
// server sends is then what is counted.
func newWeb(control func(network, address string, _ syscall.RawConn) error) *http.Client {
	dialer := &net.Dialer{Timeout: dialTimeout, Control: control}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: answerTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes, DisableCompression: true, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("%w: more than %d redirects", ErrDownload, maxRedirects)
			}
			return checkURL(r.URL)
		},
	}
}

// checkURL refuses what is not a plain web address.
func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%w: the scheme %q (http and https are served)", ErrURLDenied, u.Scheme)
	case u.Hostname() == "":
		return fmt.Errorf("%w: it names no host", ErrInvalidArgument)
	case u.User != nil:
		return fmt.Errorf("%w: it carries a user name; credentials are not sent", ErrURLDenied)
	}
	return nil
}

// Download gets an image from the web, within [Limits] and 30 seconds.
//
// # Errors
//
// [ErrInvalidArgument] for what is no URL; [ErrURLDenied] for a scheme other
// than http and https, credentials, or an address that is not public; and
// [ErrDownload] for an answer that is no image, [ErrTooLarge] for one that is
// too long.
func (r *Resolver) Download(ctx context.Context, address string) (*Blob, error) {
	b, err := r.download(ctx, address)
	if err != nil && context.Cause(ctx) != nil {
		return nil, context.Cause(ctx)
	}
	return b, err
}

func (r *Resolver) download(ctx context.Context, address string) (*Blob, error) {
	if r.web == nil {
		return nil, fmt.Errorf("%w: %s: this server downloads nothing; %s", ErrURLDenied, shortName(address), ways)
	}
	if len(address) > maxURL {
		return nil, fmt.Errorf("%w: the URL has %d characters (limit %d)", ErrInvalidArgument, len(address), maxURL)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not a URL", ErrInvalidArgument, shortName(address))
	}
	if err := checkURL(u); err != nil {
		return nil, fmt.Errorf("%s: %w", shortName(u.Redacted()), err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, webTimeout, fmt.Errorf("%w: it took longer than %s", ErrDownload, webTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrInvalidArgument, shortName(address), err)
	}
	req.Header.Set("Accept", "image/png, image/jpeg, image/webp, image/gif, image/bmp, image/*;q=0.5")
	req.Header.Set("User-Agent", "visions")
	resp, err := r.web.Do(req)
	if err != nil {
		return nil, webError(ctx, u, err)
	}
	defer resp.Body.Close()
	b, err := r.readWeb(u, resp)
	if err != nil {
		return nil, webError(ctx, u, err)
	}
	return b, nil
}

// readWeb reads an answer as far as an image may be long.
func (r *Resolver) readWeb(u *url.URL, resp *http.Response) (*Blob, error) {
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: the server answered %s", ErrDownload, resp.Status)
	}
	declared, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind, _, _ := strings.Cut(declared, "/"); kind {
	case "", "image", "application", "binary":
	default:
		return nil, fmt.Errorf("%w: the server answered %s, not an image; give the address of the image itself", ErrDownload, declared)
	}
	limit := r.c.Limits.Bytes
	if resp.ContentLength > limit {
		return nil, r.tooLarge(resp.ContentLength)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w: the answer broke off after %d bytes: %w", ErrDownload, len(data), err)
	}
	if int64(len(data)) > limit {
		return nil, r.tooLarge(int64(len(data)))
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: the answer is empty", ErrDownload)
	}
	b := &Blob{Data: data, Name: shortName(u.Host + "/" + path.Base(u.Path))}
	if declared == "image/jpg" || declared == "image/pjpeg" {
		declared = "image/jpeg"
	}
	if strings.HasPrefix(declared, "image/") {
		b.warnType(declared, "the server")
	}
	return b, nil
}

// webError says which URL failed, and keeps our own reasons in front of what
// the HTTP client made of them.
func webError(ctx context.Context, u *url.URL, err error) error {
	name := shortName(u.Redacted())
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	switch {
	case errors.Is(err, guard.ErrAddress):
		return fmt.Errorf("%w: %s: %w. Hosts on an intranet can set AllowPrivateURLs", ErrURLDenied, name, err)
	case errors.Is(err, ErrURLDenied), errors.Is(err, ErrDownload), errors.Is(err, ErrTooLarge), errors.Is(err, ErrInvalidArgument):
		return fmt.Errorf("%s: %w", name, err)
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", name, context.Cause(ctx))
	}
	return fmt.Errorf("%w: %s: %v", ErrDownload, name, err)
}
