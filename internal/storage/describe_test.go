// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// What a disk's kind does not have is no error, what it fails to tell is.
func TestDiskDetails_TellMore(t *testing.T) {
	alignment := abi.AlignmentDescriptor{PhysicalSector: 4096}.Encode()
	controller := abi.NVMeIdentify{CNS: abi.CNSController}.Reply(abi.IdentifyController{Model: "model"}.Encode())
	for name, c := range map[string]struct {
		property answer
		sector   uint32
		model    string
		want     error
	}{
		"both":        {properties(map[abi.PropertyID][]byte{abi.PropertyAccessAlignment: alignment, abi.PropertyAdapterProtocol: controller}), 4096, "model", nil},
		"unsupported": {refuses(win.ERROR_NOT_SUPPORTED), 0, "", nil},
		"unknown":     {refuses(win.ERROR_INVALID_FUNCTION), 0, "", nil},
		"failing":     {refuses(win.ERROR_IO_DEVICE), 0, "", win.ERROR_IO_DEVICE},
		"empty":       {always(nil), 0, "", abi.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			d := &fakeDevice{answer: map[uint32]answer{
				abi.IOCTL_STORAGE_QUERY_PROPERTY:   c.property,
				abi.IOCTL_DISK_GET_DRIVE_LAYOUT_EX: always(gptOf().Encode()),
			}}
			details := DiskDetails{DiskDescription: DiskDescription{BusType: abi.BusTypeNVMe}}
			details.tellMore(d)
			model := ""
			if details.Controller != nil {
				model = strings.TrimSpace(details.Controller.Model)
			}
			if details.PhysicalSectorSize != c.sector || model != c.model || details.Layout == nil {
				t.Errorf("got %+v", details)
			}
			if !errors.Is(details.Err, c.want) || (details.Err == nil) != (c.want == nil) {
				t.Errorf("got %v", details.Err)
			}
		})
	}
}

// What the provider does not know is NULL and left out; what is of another kind
// than the schema says is believed in nothing.
func TestDecodeProviderDisk(t *testing.T) {
	whole := wmi.Row{"Path": `\\?\scsi#disk`, "Location": "PCI Slot 3", "UniqueId": "6000", "OfflineReason": int32(4)}
	for name, c := range map[string]struct {
		property string
		value    any
		want     ProviderDisk
		err      error
	}{
		"whole":             {"", nil, ProviderDisk{`\\?\scsi#disk`, "PCI Slot 3", "6000", OfflineCollision}, nil},
		"no location":       {"Location", nil, ProviderDisk{`\\?\scsi#disk`, "", "6000", OfflineCollision}, nil},
		"no reason":         {"OfflineReason", nil, ProviderDisk{`\\?\scsi#disk`, "PCI Slot 3", "6000", NoOfflineReason}, nil},
		"path of no kind":   {"Path", int32(3), ProviderDisk{}, errdefs.ErrInternal},
		"id of no kind":     {"UniqueId", true, ProviderDisk{}, errdefs.ErrInternal},
		"reason of no kind": {"OfflineReason", "4", ProviderDisk{}, errdefs.ErrInternal},
	} {
		t.Run(name, func(t *testing.T) {
			row := wmi.Row{c.property: c.value}
			for property, value := range whole {
				if property != c.property {
					row[property] = value
				}
			}
			got, err := decodeProviderDisk(row)
			if !errors.Is(err, c.err) || (got == nil) != (c.err != nil) || got != nil && *got != c.want {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
