// SPDX-License-Identifier: Apache-2.0

package native

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func newHost() *win.Host {
	return &win.Host{
		Devices:  devices{setup: newSetupAPI()},
		Mounts:   mounts{},
		Files:    files{},
		Services: services{},
		System:   system{firmwareTable: windows.NewLazySystemDLL("kernel32.dll").NewProc("GetSystemFirmwareTable")},
		WMI:      wmi{com: newCOM()},
		Logons:   newLogons(),
		Arrivals: newArrivals(),
	}
}

// find resolves exports that x/sys does not wrap. Only then may they be
// called: a LazyProc that is missing panics.
func find(exports ...*windows.LazyProc) error {
	for _, export := range exports {
		if err := export.Find(); err != nil {
			return bare(err)
		}
	}
	return nil
}

// bare is the Win32 code within an error of x/sys.
func bare(err error) error {
	if code := win.Errno(0); errors.As(err, &code) {
		return code
	}
	return err
}

// failure is the code of a call that said FALSE: never zero, also where Windows
// left no code, for which x/sys has EINVAL.
func failure(last error) error {
	if code := win.Errno(0); errors.As(last, &code) && code != 0 {
		return code
	}
	return syscall.EINVAL
}
