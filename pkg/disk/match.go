// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Matcher tells the disk that a driver looks for from all others, by one
// platform's rule (windows-api.md 2.5). The zero value matches nothing. It is
// safe for concurrent use.
type Matcher struct {
	rule    string // for people: page 83 "6000c29…"
	want    string // what is looked for; "": nothing
	matches func(Description) bool
}

// String says what is looked for.
func (m Matcher) String() string { return m.rule }

// matching is a Matcher by a rule and what is left of the value to look for.
func matching(rule, want string, matches func(Description) bool) Matcher {
	return Matcher{rule: fmt.Sprintf("%s %q", rule, want), want: want, matches: matches}
}

// MatchSerial matches the serial number exactly, but for blanks around it.
func MatchSerial(serial string) Matcher {
	want := strings.TrimSpace(serial)
	return matching("serial number", want, func(d Description) bool {
		return d.Serial() == want
	})
}

// MatchEBS matches an Amazon EBS volume by its id, with or without the dash.
// The serial number is the id without the dash, on Windows usually followed by
// "_00000001."; an id of the old, shorter form has blanks in between.
func MatchEBS(volumeID string) Matcher {
	want := strings.ReplaceAll(strings.TrimSpace(volumeID), "-", "")
	return matching("EBS volume", want, func(d Description) bool {
		serial, _, _ := strings.Cut(d.SerialNumber, "_")
		return strings.TrimSpace(serial) == want
	})
}

// MatchPage83 matches any page 83 identifier of the device itself: a binary one
// as hexadecimal digits, without regard to case and dashes, another exactly but
// for blanks around it. vSphere names a disk so: by its UUID.
func MatchPage83(id string) Matcher {
	want, digits := strings.TrimSpace(id), hexDigits(id)
	if digits == "" { // dashes alone
		want = ""
	}
	return matching("page 83", want, func(d Description) bool {
		for _, i := range d.Identifiers {
			if i.Association != abi.AssociationDevice {
				continue
			}
			text := strings.TrimSpace(i.Text())
			if text == want || i.CodeSet == abi.CodeSetBinary && text == digits {
				return true
			}
		}
		return false
	})
}

// MatchGooglePage83 matches a Google persistent disk on SCSI by its device
// name, the last word of its page 83 identifier: "Google  persistent-disk-0".
func MatchGooglePage83(deviceName string) Matcher {
	want := strings.TrimSpace(deviceName)
	return matching("Google device name", want, func(d Description) bool {
		words := strings.Fields(abi.Page83(d.Identifiers))
		return len(words) == 2 && words[0] == "Google" && words[1] == want
	})
}

// MatchEUI64 matches the IEEE identifier of an NVMe namespace, 16 hexadecimal
// digits, with or without "eui." before them.
func MatchEUI64(id string) Matcher {
	digits := hexDigits(strings.TrimPrefix(id, "eui."))
	return matching("EUI-64", digits, func(d Description) bool {
		return d.NVMe != nil && d.NVMe.EUI64 != [8]byte{} && hex.EncodeToString(d.NVMe.EUI64[:]) == digits
	})
}

// MatchNGUID matches the globally unique identifier of an NVMe namespace, 32
// hexadecimal digits, with or without "eui." before them.
func MatchNGUID(id string) Matcher {
	digits := hexDigits(strings.TrimPrefix(id, "eui."))
	return matching("NGUID", digits, func(d Description) bool {
		return d.NVMe != nil && d.NVMe.NGUID != [16]byte{} && hex.EncodeToString(d.NVMe.NGUID[:]) == digits
	})
}

// hexDigits brings hexadecimal digits into one form.
func hexDigits(id string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(id), "-", ""))
}
