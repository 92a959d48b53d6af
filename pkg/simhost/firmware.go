// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// BIOSSpec is what the firmware says of the machine.
type BIOSSpec struct {
	Manufacturer string `json:"manufacturer,omitempty"`
	Product      string `json:"product,omitempty"`
	// Serial is the machine's serial number with its blanks; "" means that the
	// firmware has none.
	Serial string `json:"serial,omitempty"`
}

// defaultBIOS is that of a virtual machine of Hyper-V.
var defaultBIOS = BIOSSpec{
	Manufacturer: "Microsoft Corporation", Product: "Virtual Machine", Serial: "0000-0004-8173-2290-5672-1135-24",
}

func (b BIOSSpec) check() error {
	if strings.ContainsRune(b.Manufacturer+b.Product+b.Serial, 0) {
		return errors.New("bios: a text holds a NUL")
	}
	return nil
}

// system is the structure of type 1 (windows-api.md 12).
func (b BIOSSpec) system() abi.SMBIOSStructure {
	s := abi.SMBIOSStructure{Type: abi.SMBIOSTypeSystem, Handle: 1, Fields: make([]byte, 23)}
	for i, text := range []string{b.Manufacturer, b.Product, "", b.Serial} {
		if text != "" {
			s.Strings = append(s.Strings, text)
			s.Fields[i] = byte(len(s.Strings))
		}
	}
	return s
}

// table is the firmware's SMBIOS table.
func (b BIOSSpec) table() []byte {
	firmware := abi.SMBIOSStructure{Fields: make([]byte, 20)} // type 0
	end := abi.SMBIOSStructure{Type: abi.SMBIOSTypeEndOfTable, Handle: 2}
	raw := abi.SMBIOS{Major: 3}
	for _, s := range []abi.SMBIOSStructure{firmware, b.system(), end} {
		raw.Table = append(raw.Table, s.Encode()...)
	}
	return raw.Encode()
}

func (s system) FirmwareTable(provider, id uint32) ([]byte, error) {
	if provider != win.FirmwareRSMB || id != 0 {
		return nil, win.ERROR_INVALID_FUNCTION
	}
	return s.node.bios.table(), nil
}
