// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// names draws elements that Parse takes, over letters that fold oddly and
// characters that are special elsewhere in a path.
func names() *rapid.Generator[string] {
	letter := rapid.SampledFrom([]string{"a", "A", "é", "É", "ß", "\u0131", "\u01c5", "\u1e9e", "\u212a", "\U00010428", unpaired, "\xed\xb2\xbe", "\ufffd", ".", " ", "-", "~"})
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(letter, 1, 8).Draw(t, "letters"), "")
	}).Filter(func(s string) bool { return checkElement(s) == nil })
}

func roots() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{`c:\`, `Z:/`, `\`, `\\Host\Share\`, `\\?\d:\`, `\\?\unc\h\s\`, `\\?\volume{` + strings.ToUpper(guid) + `}\`})
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := roots().Draw(t, "root")
		elements := rapid.SliceOf(names()).Draw(t, "elements")
		separator := rapid.SampledFrom([]string{`\`, `/`, `\\`, `\.\`}).Draw(t, "separator")

		p, err := Parse(root+strings.Join(elements, separator), 'C')
		if err != nil {
			t.Fatal(err)
		}
		checkPath(t, p)
		if !slices.Equal(p.Elements(), elements) {
			t.Fatalf("elements: got %q, want %q", p.Elements(), elements)
		}
		built := p.Root()
		for _, e := range elements {
			if built, err = built.Join(e); err != nil {
				t.Fatal(err)
			}
		}
		if built != p {
			t.Fatalf("joined: got %q, want %q", built, p)
		}
	})
}

// checkPath states what holds for every path.
func checkPath(t interface{ Fatalf(string, ...any) }, p Path) {
	for _, spelling := range []string{p.String(), p.Extended()} {
		if again, err := Parse(spelling, 0); err != nil || again != p {
			t.Fatalf("%q: Parse(%q): got %q, %v", p, spelling, again, err)
		}
	}
	folded, err := Parse(p.Key(), 0)
	if err != nil || folded.Key() != p.Key() {
		t.Fatalf("%q: key %q has the key %q, %v", p, p.Key(), folded.Key(), err)
	}
	if !p.IsRoot() {
		again, err := p.Parent().Join(p.Base())
		if err != nil || again != p {
			t.Fatalf("%q: parent and base: got %q, %v", p, again, err)
		}
		if !p.Below(p.Parent()) || !p.Below(p.Root()) {
			t.Fatalf("%q is not below its parent and root", p)
		}
	}
	if p.Below(p) || p.IsUNC() && p.IsVolume() {
		t.Fatalf("%q contradicts itself", p)
	}
}

// Two names that Windows tells apart keep different paths and keys.
func TestProperties_UnitsDoNotCollide(t *testing.T) {
	unit := rapid.Custom(func(t *rapid.T) string {
		u := rapid.SampledFrom([]uint16{'a', 0xD83D, 0xD83E, 0xDCBE, 0xDFFF, 0xFFFD, 0xE000}).Draw(t, "unit")
		return string([]byte{byte(u), byte(u >> 8)})
	})
	rapid.Check(t, func(t *rapid.T) {
		a := strings.Join(rapid.SliceOfN(unit, 1, 4).Draw(t, "a"), "")
		b := strings.Join(rapid.SliceOfN(unit, 1, 4).Draw(t, "b"), "")
		p, errA := Parse(`C:\`+abi.DecodeUTF16([]byte(a)), 'C')
		q, errB := Parse(`C:\`+abi.DecodeUTF16([]byte(b)), 'C')
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if (a == b) != (p == q) || (a == b) != (p.Key() == q.Key()) {
			t.Fatalf("%q and %q: keys %q and %q", a, b, p.Key(), q.Key())
		}
	})
}

// The fold of every character is its own fold, and never a separator.
func TestFold_EveryCharacter(t *testing.T) {
	for r := rune(0); r <= 0x1FFFF; r++ {
		once := Fold(string(r))
		if twice := Fold(once); twice != once {
			t.Errorf("%U: folds to %q, then to %q", r, once, twice)
		}
		if r > 0x7F && once[0] <= 0x7F {
			t.Errorf("%U folds to %q", r, once)
		}
	}
}

// Whatever is taken is absolute, has no parent element and is read again from
// each of its spellings; there is no path beside an error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		``, `\`, `C:\`, `c:/var/lib/kubelet`, `\var\lib`, `\\host\share\x`, `\\?\C:\x`, `\\?\UNC\h\s\x`, `\\?\Volume{` + guid + `}\x`,
		`\\.\C:\x`, `\??\C:\x`, `C:\a..b\..`, `C:\NUL .txt`, `C:\a:b`, "C:\\\xed\xa0\xbd\xed\xb2\xbe", "C:\\" + unpaired, `C:\a. \b`,
	} {
		f.Add(seed, byte('C'))
	}
	f.Fuzz(func(t *testing.T, s string, drive byte) {
		p, err := Parse(s, drive)
		if err != nil {
			if p != (Path{}) {
				t.Fatalf("%q: got %q beside %v", s, p, err)
			}
			return
		}
		checkPath(t, p)
		if slices.Contains(p.Elements(), "..") {
			t.Fatalf("%q keeps a parent element: %q", s, p)
		}
	})
}

// Whatever a link says, its target is a path as Parse takes it, and a relative one
// stays on the volume of the link.
func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{`\??\C:\x`, `\??\UNC\h\s\x`, `\??\Volume{` + guid + `}\`, `..\x`, `a\..\..\..\..`, `\x`, `..`, ``} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	directory, err := Parse(`C:\a\b`, 'C')
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string, relative bool) {
		p, err := ParseTarget(s, relative, directory)
		if err != nil {
			return
		}
		checkPath(t, p)
		if relative && p.Root() != directory.Root() {
			t.Fatalf("%q leads from %q to %q", s, directory, p)
		}
	})
}
