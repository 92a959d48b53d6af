// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Windows names are 16-bit units that need not be valid UTF-16. As in the Go
// standard library an unpaired surrogate becomes the three bytes that UTF-8
// would use for it (WTF-8), so that different names stay different strings and
// come back as they were.

const (
	surrogateMin = 0xD800
	surrogateLow = 0xDC00
	surrogateMax = 0xDFFF
)

// DecodeUTF16 returns the string of little-endian UTF-16 bytes, NULs included.
// An odd last byte is ignored.
func DecodeUTF16(b []byte) string {
	s := make([]byte, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		r := rune(le.Uint16(b[i:]))
		if i+3 < len(b) {
			if pair := utf16.DecodeRune(r, rune(le.Uint16(b[i+2:]))); pair != utf8.RuneError {
				r = pair
				i += 2
			}
		}
		s = appendWTF8(s, r)
	}
	return string(s)
}

// EncodeUTF16 returns s as little-endian UTF-16 bytes without terminator. It
// undoes [DecodeUTF16]; other bytes that are not UTF-8 become U+FFFD.
func EncodeUTF16(s string) []byte {
	b := make([]byte, 0, 2*len(s))
	for len(s) > 0 {
		r, size := decodeWTF8(s)
		s = s[size:]
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			b = le.AppendUint16(b, uint16(high))
			r = low
		}
		b = le.AppendUint16(b, uint16(r))
	}
	return b
}

func appendWTF8(s []byte, r rune) []byte {
	if r < surrogateMin || r > surrogateMax {
		return utf8.AppendRune(s, r)
	}
	return append(s, 0xE0|byte(r>>12), 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
}

func decodeWTF8(s string) (rune, int) {
	// A surrogate is ED A0..BF 80..BF.
	if len(s) >= 3 && s[0] == 0xED && s[1]&0xE0 == 0xA0 && s[2]&0xC0 == 0x80 {
		return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), 3
	}
	return utf8.DecodeRuneInString(s)
}
