// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

var portals = []struct {
	address string
	port    uint32
	want    string // "" is refused
}{
	{"10.0.0.10", 0, "10.0.0.10:3260"},
	{"10.0.0.10", 3260, "10.0.0.10:3260"},
	{"10.0.0.10", 65535, "10.0.0.10:65535"},
	{"10.0.0.10", 65536, ""},
	{"10.0.0.10", 68796, ""}, // 3260 in 16 bits (behaviour.md ISCSI-3)
	{"fd00::10", 1, "[fd00::10]:1"},
	{"FD00:0::0010", 1, "[fd00::10]:1"},
	{"[fd00::10]", 1, "[fd00::10]:1"},
	{"fe80::1%12", 1, "[fe80::1%12]:1"},
	{"fe80::1%eth0", 1, ""},
	{"[10.0.0.10]", 1, ""},
	{"[fd00::10", 1, ""},
	{"fd00::10]", 1, ""},
	{"SAN.Example.ORG", 1, "san.example.org:1"},
	{"san.example.org.", 1, "san.example.org:1"},
	{"my_san-1", 1, "my_san-1:1"},
	{"localhost", 1, "localhost:1"},
	{"3com", 1, "3com:1"},
	{"", 1, ""},
	{" ", 1, ""},
	{"10.0.0.256", 1, ""},
	{"10.0.0", 1, ""},
	{"0.0.0.0", 1, ""},
	{"::", 1, ""},
	{"224.0.0.1", 1, ""},
	{"ff02::1", 1, ""},
	{"-san", 1, ""},
	{"san-", 1, ""},
	{"san..org", 1, ""},
	{".", 1, ""},
	{"san org", 1, ""},
	{"san:3260", 1, ""},
	{"10.0.0.10:3260", 1, ""},
	{"sän", 1, ""},
	{"a'b", 1, ""},
	// RFC 1035 2.3.4: a label has at most 63 bytes, a name 253 as it is written.
	{strings.Repeat("a", 63), 1, strings.Repeat("a", 63) + ":1"},
	{strings.Repeat("a", 64), 1, ""},
	{strings.Repeat("a.", 126) + "a", 1, strings.Repeat("a.", 126) + "a:1"},
	{strings.Repeat("a.", 126) + "a.", 1, strings.Repeat("a.", 126) + "a:1"},
	{strings.Repeat("a.", 126) + "aa", 1, ""},
}

func TestParsePortal(t *testing.T) {
	for _, test := range portals {
		t.Run(test.address, func(t *testing.T) {
			got, err := ParsePortal(test.address, test.port)
			if test.want == "" {
				if !errors.Is(err, errdefs.ErrInvalidArgument) {
					t.Errorf("got %s, %v", got, err)
				}
				return
			}
			if err != nil || got.String() != test.want {
				t.Errorf("got %s, %v, want %s", got, err, test.want)
			}
		})
	}
}

// A portal that we would not take keeps its address, in lower case.
func TestPortalAt_OddAddress(t *testing.T) {
	if got, want := portalAt("Not An Address", 3260), (Portal{Address: "not an address", Port: 3260}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

var targets = []struct{ name, want string }{
	{"iqn.1991-05.com.microsoft:server-target", "iqn.1991-05.com.microsoft:server-target"},
	{"IQN.1991-05.COM.Microsoft:Server_1", "iqn.1991-05.com.microsoft:server_1"},
	{"iqn.2005-10.org.freenas.ctl:pvc-0b1e", "iqn.2005-10.org.freenas.ctl:pvc-0b1e"},
	{"iqn.2001-04.com.example", "iqn.2001-04.com.example"},
	{"iqn.2001-04.com.example:", "iqn.2001-04.com.example:"},
	{"iqn.2001-04.com.example:a:b.c", "iqn.2001-04.com.example:a:b.c"},
	{"eui.02004567A425678D", "eui.02004567a425678d"},
	{"naa.52004567BA64678D", "naa.52004567ba64678d"},
	{"naa.62004567BA64678D0123456789ABCDEF", "naa.62004567ba64678d0123456789abcdef"},
	{"iqn.2001-04.a:" + strings.Repeat("x", 223-14), "iqn.2001-04.a:" + strings.Repeat("x", 223-14)},
	{"iqn.2001-04.a:" + strings.Repeat("x", 224-14), ""},
	{"", ""},
	{"iqn", ""},
	{"iqn.", ""},
	{"iqn.2001-13.com.example", ""},
	{"iqn.2001-00.com.example", ""},
	{"iqn.201-04.com.example", ""},
	{"iqn.2001-04.", ""},
	{"iqn.2001-04.-a", ""},
	{"iqn.2001-04.a b", ""},
	{"iqn.2001-04.a:b/c", ""},
	{"iqn.2001-04.a:b'c", ""},
	{`iqn.2001-04.a:b"c`, ""},
	{`iqn.2001-04.a:b\c`, ""},
	{"iqn.2001-04.a:b}c", ""},
	{"iqn.2001-04.a:b\n", ""},
	{"iqn.2001-04.a:ü", ""},
	{"\u212Aqn.2001-04.a", ""}, // the Kelvin sign is k in lower case
	{"eui.02004567A425678", ""},
	{"eui.02004567A425678DD", ""},
	{"eui.02004567A425678G", ""},
	{"naa.52004567BA64678", ""},
	{"naa.52004567BA64678D0", ""},
	{"0200.4567", ""},
}

func TestParseTarget(t *testing.T) {
	for _, test := range targets {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseTarget(test.name)
			if string(got) != test.want || (err == nil) != (test.want != "") || err != nil && !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// Whatever is taken is taken again, as the same, and cannot leave a query.
func FuzzParseTarget(f *testing.F) {
	for _, test := range targets {
		f.Add(test.name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, err := ParseTarget(text)
		if err != nil {
			if name != "" || !errors.Is(err, errdefs.ErrInvalidArgument) || len(err.Error()) > 5*maxName {
				t.Fatalf("%q: %q, %v", text, name, err)
			}
			return
		}
		if again, err := ParseTarget(string(name)); err != nil || again != name {
			t.Fatalf("%q: %q, then %q, %v", text, name, again, err)
		}
		if len(name) > maxName || strings.ContainsAny(string(name), "'\"\\{}%[] \x00") || !strings.EqualFold(text, string(name)) {
			t.Fatalf("%q was taken as %q", text, name)
		}
		if _, err := wmi.PathOf(classTarget, "NodeAddress", string(name)); err != nil {
			t.Fatal(err)
		}
	})
}

// Whatever is taken is taken again, as the same, is an address or a host name,
// and cannot leave a query.
func FuzzParsePortal(f *testing.F) {
	for _, test := range portals {
		f.Add(test.address, test.port)
	}
	f.Fuzz(func(t *testing.T, address string, port uint32) {
		p, err := ParsePortal(address, port)
		if err != nil {
			if !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Fatalf("%q: %v", address, err)
			}
			return
		}
		if again, err := ParsePortal(p.Address, uint32(p.Port)); err != nil || again != p {
			t.Fatalf("%q: %v, then %v, %v", address, p, again, err)
		}
		if p.Port == 0 || port != 0 && uint32(p.Port) != port || strings.ContainsAny(p.Address, "'\"\\{}[] \x00") {
			t.Fatalf("%q, %d were taken as %v", address, port, p)
		}
		if _, err := netip.ParseAddr(p.Address); err != nil && !isHostName(p.Address) {
			t.Fatalf("%q is neither address nor name", p.Address)
		}
	})
}
