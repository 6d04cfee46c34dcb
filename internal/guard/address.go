package guard

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// ErrAddress is what a network address that no URL may reach answers.
var ErrAddress = errors.New("address not allowed")

// special are the blocks of the IANA special-purpose address registries (RFC
// 6890 and its updates) that are not ordinary addresses of the public Internet,
// and multicast. IPv6 outside 2000::/3 is refused altogether.
var special = func() (list []netip.Prefix) {
	for _, block := range []string{
		"0.0.0.0/8",         // this network
		"10.0.0.0/8",        // private use
		"100.64.0.0/10",     // shared by carriers
		"127.0.0.0/8",       // loopback
		"169.254.0.0/16",    // link-local, and metadata services of clouds
		"172.16.0.0/12",     // private use
		"192.0.0.0/24",      // protocol assignments
		"192.0.2.0/24",      // documentation
		"192.31.196.0/24",   // AS112
		"192.52.193.0/24",   // AMT
		"192.88.99.0/24",    // 6to4 relays
		"192.168.0.0/16",    // private use
		"192.175.48.0/24",   // AS112
		"198.18.0.0/15",     // benchmarking
		"198.51.100.0/24",   // documentation
		"203.0.113.0/24",    // documentation
		"224.0.0.0/4",       // multicast
		"240.0.0.0/4",       // reserved, and broadcast
		"2001::/23",         // protocol assignments: Teredo, benchmarking, ORCHID
		"2001:db8::/32",     // documentation
		"2002::/16",         // 6to4: an IPv4 address behind a relay
		"2620:4f:8000::/48", // AS112
		"3fff::/20",         // documentation
	} {
		list = append(list, netip.MustParsePrefix(block))
	}
	return list
}()

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the IPv4 address is in the last four bytes
)

// PublicAddress reports whether an address is one of the public Internet. An
// IPv4 address inside an IPv6 one (mapped, NAT64) counts as itself.
func PublicAddress(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	for _, block := range special {
		if block.Contains(a) {
			return false
		}
	}
	return a.IsValid()
}

// PublicOnly is a Control function for [net.Dialer]: it refuses every address
// that is not of the public Internet. It sees the address that is connected to,
// after names have been resolved, so that a name cannot change its mind between
// a check and its use.
//
// # Errors
//
// [ErrAddress].
func PublicOnly(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q (%s)", ErrAddress, address, network)
	}
	if !PublicAddress(at.Addr()) {
		return fmt.Errorf("%w: %s is not an address of the public Internet", ErrAddress, at.Addr())
	}
	return nil
}
