// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Limits, in UTF-16 units: of an element on NTFS, and of what a UNICODE_STRING
// can hold.
const (
	maxElement = 255
	maxPath    = 32767
)

// forbidden are the characters that no name has. A colon would name a stream.
const forbidden = `<>:"/\|?*`

// checkElement says why a name cannot be an element of a path.
func checkElement(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if device := deviceName(name); device != "" {
		return fmt.Errorf("element %q means the device %s", name, device)
	}
	return nil
}

// checkName says why a name cannot be that of a file, share or host.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("empty element")
	case name == "." || name == "..":
		return fmt.Errorf("element %q is not allowed", name)
	case strings.HasSuffix(name, ".") || strings.HasSuffix(name, " "):
		// Windows would drop them, so two spellings would name one file.
		return fmt.Errorf("element %q ends in a dot or blank", name)
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c < 0x20:
			return fmt.Errorf("control character in element %q", name)
		case c == ':':
			return fmt.Errorf("colon in element %q: streams are not allowed", name)
		case strings.IndexByte(forbidden, c) >= 0:
			return fmt.Errorf("character %q in element %q", c, name)
		}
	}
	if err := checkUnicode(name); err != nil {
		return err
	}
	if n := units(name); n > maxElement {
		return fmt.Errorf("element of %d UTF-16 units exceeds %d", n, maxElement)
	}
	return nil
}

func checkLength(p Path) error {
	if n := units(p.Extended()); n > maxPath {
		return fmt.Errorf("path of %d UTF-16 units exceeds %d", n, maxPath)
	}
	return nil
}

// deviceName is the DOS device for which older parts of Windows take a name,
// whatever follows its first dot, with blanks before that
// (CVE-2023-45284); "" for none.
func deviceName(name string) string {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return stem
	}
	for _, port := range []string{"COM", "LPT"} {
		number, ok := strings.CutPrefix(stem, port)
		if !ok {
			continue
		}
		switch number {
		case "1", "2", "3", "4", "5", "6", "7", "8", "9", "\u00b9", "\u00b2", "\u00b3":
			return stem
		}
	}
	return ""
}

// Fold maps s to the case-insensitive form in which NTFS compares names: each
// character of the basic plane that is the lower half of a pair becomes the
// upper one. Dotless i, long s and everything outside of the plane stay.
func Fold(s string) string { return mapRunes(s, upper) }

// mapRunes changes characters and leaves the bytes of a surrogate.
func mapRunes(s string, change func(rune) rune) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if c := change(r); c != r {
			b.WriteRune(c)
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

func upper(r rune) rune {
	u := unicode.ToUpper(r)
	if r > 0xFFFF || u > 0xFFFF || unicode.ToLower(u) != r {
		return r
	}
	return u
}

// units is the length of s in UTF-16 units.
func units(s string) int { return len(abi.EncodeUTF16(s)) / 2 }

// checkUnicode says whether s is what Windows would hand back for it. So bytes
// that are not WTF-8 are refused, and a pair of surrogates that is not written
// as the one character that it is.
func checkUnicode(s string) error {
	if abi.DecodeUTF16(abi.EncodeUTF16(s)) != s {
		return errors.New("not valid Unicode")
	}
	return nil
}
