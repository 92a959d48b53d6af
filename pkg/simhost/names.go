// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Limits of names, in UTF-16 units.
const (
	maxNameUnits = 255   // of one element on NTFS
	maxPathUnits = 32767 // of a whole path, what a UNICODE_STRING can hold
)

// unitCount is the length of s in UTF-16 units.
func unitCount(s string) int { return len(abi.EncodeUTF16(s)) / 2 }

// foldedName is a name without its case: big-endian UTF-16 units in upper
// case, so that comparing strings orders names as an NTFS directory does.
type foldedName string

func foldName(name string) foldedName {
	b := abi.EncodeUTF16(name)
	for i := 0; i < len(b); i += 2 {
		c := upcase(uint16(b[i]) | uint16(b[i+1])<<8)
		b[i], b[i+1] = byte(c>>8), byte(c)
	}
	return foldedName(b)
}

// upcase approximates a volume's $UpCase table: a unit maps to its upper case
// where the two are a pair, and to itself otherwise. So dotless i, long s and
// the micro sign stay what they are, and nothing outside the basic plane folds.
func upcase(c uint16) uint16 {
	r := rune(c)
	u := unicode.ToUpper(r)
	if utf16.IsSurrogate(r) || u > 0xFFFF || unicode.ToLower(u) != r {
		return c
	}
	return uint16(u)
}

// checkName tells whether NTFS takes name as one element of a path. The
// extended form strips nothing, so "a." and "a " are names of their own.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || unitCount(name) > maxNameUnits {
		return win.ERROR_INVALID_NAME
	}
	for i := range len(name) {
		// A colon would name a stream, which this model does not have.
		if c := name[i]; c < 0x20 || strings.IndexByte(`"*/:<>?\|`, c) >= 0 {
			return win.ERROR_INVALID_NAME
		}
	}
	return nil
}
