package rest

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

const (
	rateWindow = time.Minute
	maxPeers   = 4096 // addresses that are remembered at once
)

// peers counts requests by peer address in windows of a minute.
type peers struct {
	limit   int
	now     func() time.Time
	proxies []netip.Prefix

	mu    sync.Mutex
	since time.Time
	seen  map[netip.Addr]int
}

func newPeers(c Config) (*peers, error) {
	p := &peers{limit: c.UploadRate, now: c.Now, seen: map[netip.Addr]int{}}
	for _, text := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			a, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("TrustedProxies: %q is neither an address nor a prefix", text)
			}
			prefix = netip.PrefixFrom(a, a.BitLen())
		}
		p.proxies = append(p.proxies, prefix)
	}
	return p, nil
}

// take counts a request, or says how long to wait for the next.
func (p *peers) take(r *http.Request) (wait time.Duration, ok bool) {
	if p.limit < 0 {
		return 0, true
	}
	peer := p.address(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if now.Sub(p.since) >= rateWindow {
		p.since = now
		clear(p.seen)
	}
	wait = rateWindow - now.Sub(p.since)
	n, known := p.seen[peer]
	if n >= p.limit || !known && len(p.seen) >= maxPeers {
		return wait, false
	}
	p.seen[peer] = n + 1
	return 0, true
}

// address is that of the peer, or behind trusted proxies the one that the
// nearest of them saw.
func (p *peers) address(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	peer, _ := netip.ParseAddr(host)
	peer = peer.Unmap()
	var forwarded []string
	for _, line := range r.Header.Values("X-Forwarded-For") {
		forwarded = append(forwarded, strings.Split(line, ",")...)
	}
	for len(forwarded) > 0 && p.trusted(peer) {
		last, err := netip.ParseAddr(strings.TrimSpace(forwarded[len(forwarded)-1]))
		if err != nil {
			break
		}
		peer, forwarded = last.Unmap(), forwarded[:len(forwarded)-1]
	}
	return peer
}

func (p *peers) trusted(a netip.Addr) bool {
	for _, prefix := range p.proxies {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}
