package guard

import (
	"errors"
	"net/netip"
	"testing"
)

// TestPublicAddress walks the IANA special-purpose registries: the first and the
// last address of each block, and the neighbours of some.
func TestPublicAddress(t *testing.T) {
	for _, block := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.0.0/29",
		"192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/31", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
		"192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
		"240.0.0.0/4", "255.255.255.255/32",
		"::1/128", "::/128", "::/96", "::ffff:0:0/104", "::ffff:127.0.0.0/104", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
		"2001:1::1/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32",
		"2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
		"64:ff9b::127.0.0.1/128", "64:ff9b::10.0.0.0/104", "64:ff9b::169.254.169.254/128", "2002:7f00:1::/48", "2002:a00::/24",
		"::ffff:169.254.169.254/128", "::10.0.0.1/128", "2001:0:4136:e378:8000:63bf:3fff:fdd2/128",
	} {
		p := netip.MustParsePrefix(block)
		for _, a := range []netip.Addr{p.Addr(), last(p)} {
			if PublicAddress(a) {
				t.Errorf("%s of %s counts as public", a, block)
			}
		}
	}
	for _, addr := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
		"172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001::1", "2001:4860:4860::8888", "2003::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8",
	} {
		if !PublicAddress(netip.MustParseAddr(addr)) {
			t.Errorf("%s counts as not public", addr)
		}
	}
	if PublicAddress(netip.Addr{}) || PublicAddress(netip.MustParseAddr("2606:4700::1%eth0")) {
		t.Error("no address, or one with a zone, counts as public")
	}
}

// last is the last address of a block.
func last(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(b)
	return a
}

func TestPublicOnly(t *testing.T) {
	for address, allowed := range map[string]bool{
		"8.8.8.8:443": true, "[2606:4700:4700::1111]:80": true,
		"127.0.0.1:80": false, "[::1]:80": false, "[fe80::1%eth0]:80": false, "10.1.2.3:1": false, "localhost:80": false, "": false,
	} {
		err := PublicOnly("tcp", address, nil)
		if (err == nil) != allowed || err != nil && !errors.Is(err, ErrAddress) {
			t.Errorf("%q: %v, allowed should be %t", address, err, allowed)
		}
	}
}
