// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const guid = "4c1b02c1-d990-11dc-99ae-806e6f6e6963"

// unpaired is a lone high surrogate as Windows names may hold it.
const unpaired = "\xed\xa0\xbd"

func mustParse(t *testing.T, s string) Path {
	t.Helper()
	p, err := Parse(s, 'C')
	if err != nil {
		t.Fatalf("Parse(%q): %v", s, err)
	}
	return p
}

// FS-44: the extended form too, of a drive and, unlike upstream's, of a share
// (SMB-13).
func TestParse_Forms(t *testing.T) {
	long := strings.Repeat("a", 255)
	tests := []struct {
		name, in, want, extended string
	}{
		{"drive", `C:\dir`, `C:\dir`, `\\?\C:\dir`},
		{"lower-case drive", `c:\Dir`, `C:\Dir`, `\\?\C:\Dir`},
		{"drive root", `d:\`, `D:\`, `\\?\D:\`},
		{"slashes", `C:/var/lib\kubelet`, `C:\var\lib\kubelet`, `\\?\C:\var\lib\kubelet`},
		{"rooted", `\var\lib\kubelet`, `S:\var\lib\kubelet`, `\\?\S:\var\lib\kubelet`},
		{"rooted with slashes", `/var/lib`, `S:\var\lib`, `\\?\S:\var\lib`},
		{"the root alone", `\`, `S:\`, `\\?\S:\`},
		{"UNC", `\\host\share\dir`, `\\host\share\dir`, `\\?\UNC\host\share\dir`},
		{"UNC with slashes", `//host/share/dir`, `\\host\share\dir`, `\\?\UNC\host\share\dir`},
		{"UNC root", `\\host\share`, `\\host\share\`, `\\?\UNC\host\share\`},
		{"UNC root with backslash", `\\host\share\`, `\\host\share\`, `\\?\UNC\host\share\`},
		{"hidden share", `\\host\c$\dir`, `\\host\c$\dir`, `\\?\UNC\host\c$\dir`},
		{"extended drive", `\\?\c:\dir`, `C:\dir`, `\\?\C:\dir`},
		{"extended with slashes", `//?/c:/dir`, `C:\dir`, `\\?\C:\dir`},
		{"extended UNC", `\\?\unc\host\share\dir`, `\\host\share\dir`, `\\?\UNC\host\share\dir`},
		{"volume", `\\?\Volume{` + guid + `}\dir`, `\\?\Volume{` + guid + `}\dir`, `\\?\Volume{` + guid + `}\dir`},
		{"volume root", `\\?\volume{` + strings.ToUpper(guid) + `}\`, `\\?\Volume{` + guid + `}\`, `\\?\Volume{` + guid + `}\`},
		{"trailing backslash", `C:\dir\`, `C:\dir`, `\\?\C:\dir`},
		{"doubled backslash", `C:\\a\\\b`, `C:\a\b`, `\\?\C:\a\b`},
		{"dot element", `C:\.\a\.`, `C:\a`, `\\?\C:\a`},
		{"dots in a name", `C:\a..b\..c\.d`, `C:\a..b\..c\.d`, `\\?\C:\a..b\..c\.d`},
		{"device name as part", `C:\console\com\com10\nulls.txt\aux-1`, `C:\console\com\com10\nulls.txt\aux-1`, `\\?\C:\console\com\com10\nulls.txt\aux-1`},
		{"unusual but legal", `C:\pv c~1 (x) [y] {z} 'q' ;$&%@!#^`, `C:\pv c~1 (x) [y] {z} 'q' ;$&%@!#^`, `\\?\C:\pv c~1 (x) [y] {z} 'q' ;$&%@!#^`},
		{"255 units", `C:\` + long, `C:\` + long, `\\?\C:\` + long},
		{"255 units, astral", `C:\` + strings.Repeat("\U0001F4BE", 127) + "x", `C:\` + strings.Repeat("\U0001F4BE", 127) + "x", `\\?\C:\` + strings.Repeat("\U0001F4BE", 127) + "x"},
		{"two-byte letters", `C:\` + strings.Repeat("é", 255), `C:\` + strings.Repeat("é", 255), `\\?\C:\` + strings.Repeat("é", 255)},
		{"unpaired surrogate", `C:\` + unpaired, `C:\` + unpaired, `\\?\C:\` + unpaired},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse(tt.in, 's')
			if err != nil {
				t.Fatalf("Parse(%q): %v", tt.in, err)
			}
			if got := p.String(); got != tt.want {
				t.Errorf("String: got %q, want %q", got, tt.want)
			}
			if got := p.Extended(); got != tt.extended {
				t.Errorf("Extended: got %q, want %q", got, tt.extended)
			}
			if again := mustParse(t, p.Extended()); again != p {
				t.Errorf("Parse of the extended form: got %q, want %q", again, p)
			}
		})
	}
}

func TestParse_Refuses(t *testing.T) {
	refused := map[string][]string{
		"relative":            {"", ".", "..", "dir", `dir\x`, `pv1\foo`, "1:\\foo", "::", "é:\\x"},
		"drive-relative":      {"C:", "C:dir", `\\?\C:`, `\\?\C:dir`},
		"device":              {`\\.\PhysicalDrive0`, `\\.\pipe\x`, `//./C:/x`, `\\.\C:\x`, `\??\C:\x`, `/??/C:/x`, `\\?\GLOBALROOT\Device\HarddiskVolume1\x`, `\\?\globalroot\x`, `\\?\PhysicalDrive0`, `\\?\pipe\x`, `\\?\`, `\\.`, `\\?`, `\\host\pipe\x`, `\\host\MAILSLOT\x`, `\\?\UNC\host\pipe\x`, `\\?\HarddiskVolume1\x`, `\\?\BootPartition\x`},
		"UNC without share":   {`\\`, `\\host`, `\\host\`, `\\\share`, `\\?\UNC\`, `\\?\UNC\host`, `\\?\UNC\\share`, `\\..\share`, `\\host\..\x`, `\\ho:st\share`},
		"volume name":         {`\\?\Volume{` + guid + `}`, `\\?\Volume{` + guid[1:] + `}\`, `\\?\Volume{` + guid + `\`, `\\?\Volume{` + guid + `}x\`, `\\?\Volume{}\`, `\\?\Volume{{` + guid + `}}\`},
		"parent element":      {`C:\..`, `C:\a\..\b`, `C:\a/../b`, `\..\x`, `\\host\share\..\x`, `\\?\C:\a\..`},
		"reserved name":       {`C:\CON`, `C:\dir\nul`, `C:\Prn\x`, `C:\aux.txt`, `C:\NUL.tar.gz`, `C:\NUL .txt`, `C:\com1`, `C:\COM9.log`, `C:\lpt1`, `C:\COM` + "\u00b9", `C:\lpt` + "\u00b3" + `.x`, `C:\conin$`, `C:\CONOUT$.x`, `\\host\share\nul`, `\\?\C:\con`},
		"stream":              {`C:\a:b`, `C:\a::$DATA`, `C:\dir:stream\x`, `C:\a::$INDEX_ALLOCATION`},
		"control character":   {"C:\\a\x00b", "C:\\\x1f", "C:\\a\nb", "C:\\\t"},
		"forbidden character": {`C:\a<b`, `C:\a>b`, `C:\a"b`, `C:\a|b`, `C:\a?b`, `C:\a*b`},
		"trailing dot, blank": {`C:\a.`, `C:\a `, `C:\...`, `C:\a. \b`, `C:\ `, `\\host \share\x`, `\\host.\share`},
		"not Unicode":         {"C:\\\xff", "C:\\\xed\xa0", "C:\\\xc0\xaf", "C:\\\xed\xa0\xbd\xed\xb2\xbe"},
		"long element":        {`C:\` + strings.Repeat("a", 256), `C:\` + strings.Repeat("\U0001F4BE", 128)},
		"long path":           {`C:\` + strings.Repeat(`a\`, 16382) + "a"},
	}
	for name, inputs := range refused {
		for _, in := range inputs {
			t.Run(name, func(t *testing.T) {
				p, err := Parse(in, 'C')
				if !errors.Is(err, errdefs.ErrInvalidArgument) {
					t.Errorf("Parse(%.60q): got %q, %v", in, p, err)
				}
				if p != (Path{}) {
					t.Errorf("Parse(%.60q): got %q beside an error", in, p)
				}
			})
		}
	}
}

// Drivers search for the text (behaviour.md FS-6, TXT-1).
func TestParse_RelativeText(t *testing.T) {
	for _, in := range []string{"", "dir", "C:dir", `pv1\foo`} {
		_, err := Parse(in, 'C')
		if err == nil || !strings.Contains(err.Error(), "not an absolute Windows path") {
			t.Errorf("Parse(%q): %v", in, err)
		}
	}
}

func TestParse_LongestPath(t *testing.T) {
	// 7 units for \\?\C:\, then elements of one unit and a backslash.
	longest := `C:\` + strings.Repeat(`a\`, 16379) + "aa"
	if p := mustParse(t, longest); units(p.Extended()) != maxPath {
		t.Fatalf("got %d units, want %d", units(p.Extended()), maxPath)
	}
	if _, err := Parse(longest+"a", 'C'); !errors.Is(err, errdefs.ErrInvalidArgument) {
		t.Errorf("one unit more: %v", err)
	}
}

func TestParse_RootedNeedsADrive(t *testing.T) {
	for _, drive := range []byte{0, '1', ':'} {
		if p, err := Parse(`\x`, drive); err == nil {
			t.Errorf("drive %q: got %q", drive, p)
		}
	}
	for in, want := range map[string]bool{`\x`: true, `/x`: true, `\`: true, `\\x\y`: false, `//x/y`: false, `\/x/y`: false, `C:\x`: false, `x`: false, ``: false} {
		if got := Rooted(in); got != want {
			t.Errorf("Rooted(%q): got %v", in, got)
		}
	}
}

func TestPath_Methods(t *testing.T) {
	tests := []struct {
		in, parent, base, root string
		elements               []string
		server                 string
		isRoot, unc, volume    bool
	}{
		{`C:\a\b`, `C:\a`, "b", `C:\`, []string{"a", "b"}, "", false, false, false},
		{`C:\a`, `C:\`, "a", `C:\`, []string{"a"}, "", false, false, false},
		{`C:\`, `C:\`, "", `C:\`, nil, "", true, false, false},
		{`\\host\share\a`, `\\host\share\`, "a", `\\host\share\`, []string{"a"}, `\\host`, false, true, false},
		{`\\host\share`, `\\host\share\`, "", `\\host\share\`, nil, `\\host`, true, true, false},
		{`\\?\Volume{` + guid + `}\a`, `\\?\Volume{` + guid + `}\`, "a", `\\?\Volume{` + guid + `}\`, []string{"a"}, "", false, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.in, func(t *testing.T) {
			p := mustParse(t, tt.in)
			if got := p.Parent().String(); got != tt.parent {
				t.Errorf("Parent: got %q, want %q", got, tt.parent)
			}
			if got := p.Base(); got != tt.base {
				t.Errorf("Base: got %q, want %q", got, tt.base)
			}
			if got := p.Root().String(); got != tt.root {
				t.Errorf("Root: got %q, want %q", got, tt.root)
			}
			if got := p.Elements(); !slices.Equal(got, tt.elements) {
				t.Errorf("Elements: got %q, want %q", got, tt.elements)
			}
			if got := p.Server(); got != tt.server {
				t.Errorf("Server: got %q, want %q", got, tt.server)
			}
			if p.IsRoot() != tt.isRoot || p.IsUNC() != tt.unc || p.IsVolume() != tt.volume {
				t.Errorf("IsRoot, IsUNC, IsVolume: got %v, %v, %v", p.IsRoot(), p.IsUNC(), p.IsVolume())
			}
		})
	}
}

func TestPath_Join(t *testing.T) {
	p := mustParse(t, `C:\a`)
	if q, err := p.Join("b..c"); err != nil || q.String() != `C:\a\b..c` {
		t.Errorf("got %q, %v", q, err)
	}
	for _, bad := range []string{"", ".", "..", `b\c`, "b/c", `..\c`, "C:", "nul", "b.", "b:c", strings.Repeat("a", 256), "\xff"} {
		if q, err := p.Join(bad); !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("Join(%q): got %q, %v", bad, q, err)
		}
	}
}

func TestPath_Below(t *testing.T) {
	tests := []struct {
		p, other string
		want     bool
	}{
		{`C:\a\b`, `C:\a`, true},
		{`c:\A\B\c`, `C:\a\b`, true},
		{`C:\a`, `C:\`, true},
		{`C:\a`, `C:\a`, false},
		{`C:\`, `C:\`, false},
		{`C:\ab`, `C:\a`, false}, // behaviour.md FS-8
		{`D:\a\b`, `C:\a`, false},
		{`\\h\s\a`, `\\H\S`, true},
		{`\\h\s2\a`, `\\h\s`, false},
	}
	for _, tt := range tests {
		if got := mustParse(t, tt.p).Below(mustParse(t, tt.other)); got != tt.want {
			t.Errorf("%q below %q: got %v", tt.p, tt.other, got)
		}
	}
}

func TestPath_Key(t *testing.T) {
	same := [][2]string{
		{`c:\Var\LIB`, `C:\vAR\lib`},
		{`C:\straße\é\я`, `c:\STRAßE\É\Я`},
		{`\\Host\Share\x`, `\\hOST\sHARE\X`},
	}
	for _, pair := range same {
		if a, b := mustParse(t, pair[0]).Key(), mustParse(t, pair[1]).Key(); a != b {
			t.Errorf("%q and %q: got %q and %q", pair[0], pair[1], a, b)
		}
	}
	different := [][2]string{
		{`C:\a`, `C:\b`},
		{"C:\\\u0131", `C:\i`}, // dotless i
		{"C:\\\u017f", `C:\s`}, // long s
		{"C:\\\U00010428", "C:\\\U00010400"},
		{`C:\` + unpaired, "C:\\\ufffd"},
		{"C:\\\xed\xa0\xbd", "C:\\\xed\xa0\xbe"},
	}
	for _, pair := range different {
		if a, b := mustParse(t, pair[0]).Key(), mustParse(t, pair[1]).Key(); a == b {
			t.Errorf("%q and %q have the key %q", pair[0], pair[1], a)
		}
	}
}

func TestParseTarget(t *testing.T) {
	const dir = `C:\var\lib`
	tests := []struct {
		name, substitute string
		relative         bool
		want             string // "" is refused
	}{
		{"volume mount", `\??\Volume{` + guid + `}\`, false, `\\?\Volume{` + guid + `}\`},
		{"junction", `\??\D:\target`, false, `D:\target`},
		{"SMB link", `\??\UNC\host\share\sub`, false, `\\host\share\sub`},
		{"drive root", `\??\D:\`, false, `D:\`},
		{"relative", `sub\x`, true, `C:\var\lib\sub\x`},
		{"relative up", `..\x`, true, `C:\var\x`},
		{"relative up and down", `a\..\..\x`, true, `C:\var\x`},
		{"relative, rooted", `\x`, true, `C:\x`},
		{"relative, here", `.`, true, `C:\var\lib`},
		{"relative above the root", `..\..\..\x`, true, ""},
		{"relative with a drive", `C:x`, true, ""},
		{"absolute without prefix", `C:\x`, false, ""},
		{"extended is no NT path", `\\?\C:\x`, false, ""},
		{"up in an absolute target", `\??\C:\a\..\b`, false, ""},
		{"device", `\??\GLOBALROOT\Device\HarddiskVolume1\`, false, ""},
		{"NT device", `\Device\HarddiskVolume1\`, false, ""},
		{"drive device", `\??\C:`, false, ""},
		{"pipe", `\??\UNC\host\pipe\x`, false, ""},
		{"empty", ``, false, ""},
		{"not Unicode", "a\xff", true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParseTarget(tt.substitute, tt.relative, mustParse(t, dir))
			if tt.want == "" {
				if !errors.Is(err, errdefs.ErrInvalidArgument) {
					t.Fatalf("got %q, %v", p, err)
				}
				return
			}
			if err != nil || p.String() != tt.want {
				t.Errorf("got %q, %v, want %q", p, err, tt.want)
			}
		})
	}
}

func TestClimbs(t *testing.T) {
	for target, want := range map[string]bool{`a\b`: false, `a..b`: false, `..`: true, `a\..\b`: true, `\a`: true, ``: false} {
		if got := Climbs(target); got != want {
			t.Errorf("Climbs(%q): got %v", target, got)
		}
	}
}
