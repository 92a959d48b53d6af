// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// CheckService asks the service control manager, because it is not known what
// WMI answers while the service does not run (windows-api.md 10.1).
func (h *host) CheckService(ctx context.Context) error {
	state, err := h.serviceState(ctx, "MSiSCSI")
	switch {
	case err != nil:
		return err
	case state != win.SERVICE_RUNNING:
		return fmt.Errorf("%w, it is %s: StartService(MSiSCSI) comes first", errdefs.ErrISCSIStopped, stateNames[state])
	}
	return nil
}

var stateNames = map[uint32]string{
	win.SERVICE_STOPPED: "stopped", win.SERVICE_START_PENDING: "starting", win.SERVICE_STOP_PENDING: "stopping",
	win.SERVICE_CONTINUE_PENDING: "continuing", win.SERVICE_PAUSE_PENDING: "pausing", win.SERVICE_PAUSED: "paused",
}

func (h *host) serviceState(ctx context.Context, name string) (uint32, error) {
	return ask(ctx, h, "status", "service "+strings.ToLower(name), func() (state uint32, err error) {
		s, err := h.Services.Open(name, win.ServiceQueryStatus)
		if err != nil {
			return 0, err
		}
		defer func() {
			if closeErr := s.Close(); err == nil {
				err = closeErr
			}
		}()
		status, err := s.Status()
		return status.State, err
	})
}

// Where the Microsoft DSM keeps which devices it claims, and how it writes all
// devices of the bus iSCSI (windows-api.md 10.6).
const (
	msdsmKey   = `SYSTEM\CurrentControlSet\Services\msdsm\Parameters`
	msdsmValue = "DsmSupportedDeviceList"
	iscsiBus   = "MSFT2005iSCSIBusType_0x9"
)

func (h *host) Multipath(ctx context.Context) (bool, error) {
	devices, err := ask(ctx, h, "devices", "MPIO", func() ([]string, error) {
		value, err := h.System.RegistryValue(msdsmKey, msdsmValue)
		return strings.FieldsFunc(abi.DecodeUTF16(value.Data), func(r rune) bool { return r == 0 }), err
	})
	switch {
	case absent(err):
		return false, nil
	case err != nil:
		return false, err
	case !slices.ContainsFunc(devices, func(d string) bool { return strings.EqualFold(strings.TrimSpace(d), iscsiBus) }):
		return false, nil
	}
	state, err := h.serviceState(ctx, "msdsm")
	if absent(err) {
		return false, nil
	}
	return state == win.SERVICE_RUNNING, err
}

// absent reports whether there is no such value or service.
func absent(err error) bool {
	return errors.Is(err, win.ERROR_FILE_NOT_FOUND) || errors.Is(err, win.ERROR_PATH_NOT_FOUND) || errors.Is(err, win.ERROR_SERVICE_DOES_NOT_EXIST)
}
