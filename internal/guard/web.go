package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Web decides which HTTP requests a loopback server may serve. A web page in
// the user's browser can send requests to any local port; what gives it away
// is its Origin, or after DNS rebinding the Host it still believes in.
type Web struct {
	hosts   []string
	origins []string
	token   [sha256.Size]byte
	hasKey  bool
}

// NewWeb returns the checks. hosts are further host names (with or without a
// port) beside the loopback ones, origins are web origins such as
// "https://app.example"; both are empty by default. An empty token asks for
// none.
//
// # Errors
//
// An origin that is not scheme://host, or "null".
func NewWeb(hosts, origins []string, token string) (*Web, error) {
	w := &Web{hasKey: token != "", token: sha256.Sum256([]byte(token))}
	for _, h := range hosts {
		w.hosts = append(w.hosts, strings.ToLower(h))
	}
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || strings.TrimSuffix(u.Path, "/") != "" {
			return nil, fmt.Errorf("allowed origin %q is not of the form scheme://host[:port]", o)
		}
		w.origins = append(w.origins, strings.ToLower(u.Scheme+"://"+u.Host))
	}
	return w, nil
}

// Host checks the Host header: a loopback address, localhost, or an allowed
// host. The error says which option lets it in.
func (w *Web) Host(r *http.Request) error {
	host := strings.ToLower(r.Host)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if name == "localhost" || slices.Contains(w.hosts, host) || slices.Contains(w.hosts, name) {
		return nil
	}
	if ip, err := netip.ParseAddr(name); err == nil && ip.IsLoopback() {
		return nil
	}
	return fmt.Errorf("the Host header %q is not a loopback address; add it to AllowedHosts to accept it", r.Host)
}

// Origin checks the Origin header: none, the server's own, or an allowed one.
// "null", which sandboxed pages and files send, is never accepted.
func (w *Web) Origin(r *http.Request) error {
	for _, o := range r.Header.Values("Origin") {
		if !w.CrossOrigin(o) && !sameOrigin(o, r) {
			return fmt.Errorf("the Origin header %q is not allowed; add it to AllowedOrigins to accept it", o)
		}
	}
	return nil
}

// sameOrigin reports whether o is the origin the request itself was sent to.
func sameOrigin(o string, r *http.Request) bool {
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return strings.EqualFold(o, scheme+r.Host)
}

// CrossOrigin reports whether pages of that origin may read answers.
func (w *Web) CrossOrigin(o string) bool {
	return slices.Contains(w.origins, strings.ToLower(o))
}

// Token checks the bearer token, in constant time. It accepts anything when
// none is set.
func (w *Web) Token(r *http.Request) error {
	if !w.hasKey {
		return nil
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	sum := sha256.Sum256([]byte(strings.TrimSpace(given)))
	if strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(sum[:], w.token[:]) == 1 {
		return nil
	}
	return fmt.Errorf("this server asks for a token: send the header Authorization: Bearer TOKEN")
}
