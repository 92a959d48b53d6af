// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byDesign are all the ways in which a path of this package is spelled otherwise
// than filepath cleans it (docs/architecture.md, "Paths"): an example, and what
// filepath's spelling becomes.
var byDesign = []struct {
	name, example string
	apply         func(cleaned string) string
}{
	{"a rooted path is on the system drive", `\var\lib`, func(s string) string {
		if Rooted(s) {
			return `C:` + s
		}
		return s
	}},
	{"a drive needs no prefix", `\\?\C:\dir`, func(s string) string {
		return prefixedDrive.ReplaceAllString(s, "$1")
	}},
	{"a share needs no prefix", `\\?\unc\host\share\dir`, func(s string) string {
		return prefixedShare.ReplaceAllString(s, `\\`)
	}},
	{"a drive is in upper case", `c:\dir`, func(s string) string {
		if len(s) > 1 && s[1] == ':' {
			return strings.ToUpper(s[:1]) + s[1:]
		}
		return s
	}},
	{"a volume is spelled as Windows does", `\\?\volume{4C1B02C1-d990-11dc-99ae-806e6f6e6963}\dir`, func(s string) string {
		return prefixedVolume.ReplaceAllStringFunc(s, func(name string) string {
			return volumePrefix + strings.ToLower(name[len(volumePrefix):])
		})
	}},
	{"a root ends in a backslash", `\\host\share`, func(s string) string {
		if s == filepath.VolumeName(s) {
			return s + `\`
		}
		return s
	}},
}

var (
	prefixedDrive  = regexp.MustCompile(`^\\\\\?\\([A-Za-z]:)`)
	prefixedShare  = regexp.MustCompile(`^\\\\\?\\(?i:UNC)\\`)
	prefixedVolume = regexp.MustCompile(`^\\\\\?\\(?i:Volume)\{[-0-9A-Fa-f]{36}\}`)
)

// refusedByDesign are all reasons to refuse a path, as filepath would tell them,
// but for its length and its encoding.
var refusedByDesign = []struct {
	name, example string
	is            func(s string) bool
}{
	{"no root", `C:dir`, func(s string) bool { return !filepath.IsAbs(s) && !Rooted(s) }},
	{"no letter of a drive", `1:\dir`, func(s string) bool { return !Rooted(s) && len(s) > 1 && s[1] == ':' && !isLetter(s[0]) }},
	{"no share", `\\host\.\dir`, func(s string) bool {
		names := strings.SplitN(strings.TrimPrefix(s, `\\`), `\`, 3)
		return isShare(s) && (len(names) < 2 || isNothing(names[0]) || isNothing(names[1]))
	}},
	{"a device", `\\.\C:\dir`, func(s string) bool {
		return strings.HasPrefix(s, `\\.\`) || strings.HasPrefix(s, `\\?\`) && !prefixed(s)
	}},
	{"the name of a device", `C:\nul.txt`, func(s string) bool {
		return slices.ContainsFunc(below(s), func(e string) bool { return e != ".." && !filepath.IsLocal(e) })
	}},
	{"a parent element", `C:\a\..\b`, func(s string) bool { return slices.ContainsFunc(spelled(s), func(e string) bool { return e == ".." }) }},
	{"a dot or blank at an end", `C:\a. \b`, func(s string) bool {
		return slices.ContainsFunc(spelled(s), func(e string) bool { return strings.HasSuffix(e, " ") || e != ".." && strings.HasSuffix(e, ".") })
	}},
	{"a character that no name has", `C:\a*b`, func(s string) bool {
		return slices.ContainsFunc(spelled(s), func(e string) bool { return strings.ContainsAny(e, `<>:"|?*`) })
	}},
}

// prefixed reports whether a path that begins with \\?\ is in one of the forms
// that name files.
func prefixed(s string) bool {
	root := prefixedDrive.FindString(s) + prefixedVolume.FindString(s)
	return root != "" && strings.HasPrefix(s, root+`\`) || prefixedShare.MatchString(s)
}

func isShare(s string) bool {
	return strings.HasPrefix(s, `\\`) && !strings.HasPrefix(s, `\\?\`) && !strings.HasPrefix(s, `\\.\`)
}

// below are the elements below the volume.
func below(s string) []string {
	if Rooted(s) { // filepath takes a colon there for that of a drive
		return elements(s)
	}
	return elements(s[len(filepath.VolumeName(s)):])
}

// spelled are those and the names of a share.
func spelled(s string) []string {
	if isShare(s) {
		return elements(s)
	}
	return below(s)
}

func elements(s string) []string {
	return slices.DeleteFunc(strings.Split(s, `\`), isNothing)
}

// reasons are those to refuse a path.
func reasons(s string) []string {
	var list []string
	for _, r := range refusedByDesign {
		if r.is(filepath.FromSlash(s)) {
			list = append(list, r.name)
		}
	}
	return list
}

// cleaned is what filepath makes of a path, in our spelling but for the difference
// left out.
func cleaned(s, leftOut string) string {
	cleaned := filepath.Clean(s)
	for _, d := range byDesign {
		if d.name != leftOut {
			cleaned = d.apply(cleaned)
		}
	}
	return cleaned
}

// Each difference is one, and there is no other in its example.
func TestFilepath_ByDesign(t *testing.T) {
	for _, d := range byDesign {
		t.Run(d.name, func(t *testing.T) {
			p := mustParse(t, d.example)
			if got := cleaned(d.example, d.name); got == p.String() {
				t.Errorf("it is no difference: %s", got)
			}
			agree(t, d.example, p)
		})
	}
}

func TestFilepath_RefusedByDesign(t *testing.T) {
	for _, r := range refusedByDesign {
		if got := reasons(r.example); !slices.Equal(got, []string{r.name}) {
			t.Errorf("%s: refused for %q, want %q", r.example, got, r.name)
		}
		if p, err := Parse(r.example, 'C'); err == nil {
			t.Errorf("%s: parsed as %q", r.example, p)
		}
	}
}

// agree checks that filepath, as built for Windows, says the same of a path as
// its parsed form.
func agree(t *testing.T, s string, p Path) {
	t.Helper()
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q: %s is %q, with filepath %q", s, what, got, want)
		}
	}
	said := cleaned(s, "")
	check("the path", p.String(), said)
	check("the parent", p.Parent().String(), filepath.Dir(said))
	check("the volume", p.Root().String(), cleaned(filepath.VolumeName(said)+`\`, ""))
	if !p.IsRoot() { // of which filepath's base is a backslash
		check("the base", p.Base(), filepath.Base(said))
		check("the rest", strings.Join(p.Elements(), `\`), relative(t, p))
	}
	for _, spelling := range []string{p.String(), p.Extended()} {
		check("a spelling", p.String(), cleaned(spelling, ""))
		if !filepath.IsAbs(spelling) {
			t.Errorf("%q: %q is not absolute", s, spelling)
		}
	}
	if rest := strings.Join(p.Elements(), `\`); rest != "" && !filepath.IsLocal(rest) {
		t.Errorf("%q: %q leads elsewhere, or is a device", s, rest)
	}
	if joined, err := p.Join("name"); err == nil {
		check("a name in it", joined.String(), filepath.Join(p.String(), "name"))
	}
}

func relative(t *testing.T, p Path) string {
	t.Helper()
	rest, err := filepath.Rel(p.Root().String(), p.String())
	if err != nil {
		t.Error(err)
	}
	return rest
}

func TestFilepath(t *testing.T) {
	for _, s := range []string{
		`C:\`, `C:\dir`, `C:/dir/x`, `C:\\dir\\\x`, `C:\dir\`, `C:\.\dir\.\x\.`, `C:\a..b\...c`, `C:\a b\ c`, `C:\é\ß`,
		`\`, `/`, `\dir`, `/var/lib/kubelet`, `\.\x`,
		`\\host\share`, `\\host\share\`, `\\host\share\dir\x`, `//host/share/dir`, `\\host\share\\dir\.`, `\\host\c$\x`,
		`\\?\C:\`, `\\?\C:\dir\`, `\\?\d:\a\.\b`, `//?/C:/dir`, `\\?\UNC\host\share`, `\\?\UNC\host\share\dir`, `//?/unc/host/share/dir`,
		`\\?\Volume{` + guid + `}\`, `\\?\Volume{` + guid + `}\dir\x`, `//?/Volume{` + guid + `}/dir`,
		`C:\` + unpaired, `C:\` + strings.Repeat(`\a`, 1000), `C:\com10\console\nulls.txt`,
	} {
		agree(t, s, mustParse(t, s))
	}
}

// Generated paths: those that are accepted agree, and there is a reason to refuse
// each other.
func TestFilepath_Generated(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(list ...string) string { return list[random.IntN(len(list))] }
	accepted, refused := 0, 0
	for range 20_000 {
		var b strings.Builder
		b.WriteString(one(`C:`, `c:\`, `z:/`, `\`, `/`, `\\host\share`, `//host/share/`, `\\?\C:\`, `\\?\unc\h\s`, `\\?\Volume{`+guid+`}`, `\\.\`, `..\`, ``))
		for range random.IntN(6) {
			b.WriteString(one(`\`, `\`, `/`, `\\`, `\.\`, ``))
			for range random.IntN(4) {
				b.WriteString(one(`a`, `B`, `.`, `..`, ` `, `com`, `1`, `nul`, `CON`, `$`, `~`, `é`, unpaired, `:`, `*`, `{`, `-`))
			}
		}
		s := b.String()
		p, err := Parse(s, 'C')
		if err == nil {
			accepted++
			agree(t, s, p)
		} else {
			refused++
		}
		if why := reasons(s); (err == nil) != (len(why) == 0) {
			t.Errorf("%q: %v; reasons to refuse it: %q", s, err, why)
		}
	}
	if accepted < 5000 || refused < 5000 {
		t.Errorf("%d accepted, %d refused: the comparison is poor", accepted, refused)
	}
}
