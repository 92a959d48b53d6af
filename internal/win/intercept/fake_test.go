// SPDX-License-Identifier: Apache-2.0

package intercept

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// fake answers every call with a value and err, and knows what is open.
type fake struct {
	err       error
	made      int
	open      int
	directory win.File // of the last Files.Open
}

func (f *fake) host() *win.Host {
	return &win.Host{Devices: fakeDevices{f}, Mounts: fakeMounts{f}, Files: fakeFiles{f}, Services: fakeServices{f}, System: fakeSystem{f}, WMI: fakeWMI{f}, Logons: fakeLogons{f}, Arrivals: fakeArrivals{f}}
}

func (f *fake) answer() error {
	f.made++
	return f.err
}

func (f *fake) answerOpen() error {
	if f.err == nil {
		f.open++
	}
	return f.answer()
}

type (
	fakeDevices  struct{ *fake }
	fakeMounts   struct{ *fake }
	fakeFiles    struct{ *fake }
	fakeServices struct{ *fake }
	fakeSystem   struct{ *fake }
	fakeWMI      struct{ *fake }
	fakeObject   struct{ *fake } // a device, file, service, session, rows or call
)

func (f fakeDevices) Interfaces(abi.GUID) ([]string, error) { return []string{"disk"}, f.answer() }
func (f fakeDevices) Open(string, win.Access) (win.Device, error) {
	return fakeFile{fakeObject(f)}, f.answerOpen()
}

func (f fakeMounts) Volumes() ([]string, error)      { return []string{"volume"}, f.answer() }
func (f fakeMounts) Paths(string) ([]string, error)  { return []string{"path"}, f.answer() }
func (f fakeMounts) VolumeAt(string) (string, error) { return "volume", f.answer() }
func (f fakeMounts) SetPoint(string, string) error   { return f.answer() }
func (f fakeMounts) DeletePoint(string) error        { return f.answer() }
func (f fakeMounts) FreeSpace(string) (win.FreeSpace, error) {
	return win.FreeSpace{Total: 1}, f.answer()
}

func (f fakeMounts) Information(string) (win.VolumeInformation, error) {
	return win.VolumeInformation{FileSystem: "NTFS"}, f.answer()
}

func (f fakeFiles) SymbolicLink(string, string, uint32) error { return f.answer() }
func (f fakeFiles) Open(directory win.File, _ string, _ win.OpenFile) (win.File, error) {
	f.directory = directory
	return fakeFile{fakeObject(f)}, f.answerOpen()
}

func (f fakeSystem) WindowsDirectory() (string, error) { return "windows", f.answer() }
func (f fakeSystem) BuildNumber() (uint32, error)      { return 20348, f.answer() }
func (f fakeSystem) RegistryValue(string, string) (win.RegistryValue, error) {
	return win.RegistryValue{Type: 1}, f.answer()
}

func (f fakeSystem) FirmwareTable(uint32, uint32) ([]byte, error) { return []byte{1}, f.answer() }

func (f fakeServices) Open(string, win.Access) (win.Service, error) {
	return fakeService{fakeObject(f)}, f.answerOpen()
}

type fakeService struct{ fakeObject }

func (f fakeService) Config() (win.ServiceConfig, error) {
	return win.ServiceConfig{StartType: 3}, f.answer()
}
func (f fakeService) DelayedStart() (bool, error) { return true, f.answer() }
func (f fakeService) Status() (win.ServiceStatus, error) {
	return win.ServiceStatus{State: 4}, f.answer()
}

func (f fakeService) Dependents(uint32) ([]win.DependentService, error) {
	return []win.DependentService{{Name: "service"}}, f.answer()
}
func (f fakeService) Start() error { return f.answer() }
func (f fakeService) Control(uint32) (win.ServiceStatus, error) {
	return win.ServiceStatus{State: 3}, f.answer()
}
func (f fakeService) Close() error { f.open--; return f.err }

type fakeArrivals struct{ *fake }

func (f fakeArrivals) Watch(abi.GUID, func()) error { return f.answer() }

type fakeLogons struct{ *fake }

func (f fakeLogons) Logon(string, string, string) (win.Logon, error) {
	return fakeLogon{fakeObject(f)}, f.answerOpen()
}

type fakeLogon struct{ fakeObject }

func (f fakeLogon) Open(string) error { return f.answer() }
func (f fakeLogon) Close() error      { f.open--; return f.err }

func (f fakeWMI) Enter() error { return f.answerOpen() }
func (f fakeWMI) Leave()       { f.open-- }
func (f fakeWMI) Connect(string) (win.Session, error) {
	return fakeSession{fakeObject(f)}, f.answerOpen()
}

// A fakeFile is a device too.
type fakeFile struct{ fakeObject }

func (f fakeFile) Control(uint32, []byte, []byte) (int, error) { return 1, f.answer() }
func (f fakeFile) ReadAt([]byte, int64) (int, error)           { return 1, f.answer() }
func (f fakeFile) Flush() error                                { return f.answer() }
func (f fakeFile) Information(uint32, []byte) (int, error)     { return 1, f.answer() }
func (f fakeFile) SetInformation(uint32, []byte) error         { return f.answer() }
func (f fakeFile) List([]byte, bool) (int, error)              { return 1, f.answer() }
func (f fakeFile) FinalPath(uint32) (string, error)            { return "path", f.answer() }
func (f fakeFile) Close() error                                { f.open--; return f.err }

type fakeSession struct{ fakeObject }

func (f fakeSession) Query(string) (win.Rows, error) { return fakeRows(f), f.answerOpen() }
func (f fakeSession) Get(string) (win.Row, error)    { return win.Row{}, f.answer() }
func (f fakeSession) Start(string, string, string, []win.Param) (win.Call, error) {
	return fakeCall(f), f.answerOpen()
}
func (f fakeSession) Close() { f.open-- }

type fakeRows struct{ fakeObject }

func (f fakeRows) Next(time.Duration) (win.Row, error) { return win.Row{}, f.answer() }
func (f fakeRows) Close()                              { f.open-- }

type fakeCall struct{ fakeObject }

func (f fakeCall) Result(time.Duration) (win.Row, error) { return win.Row{}, f.answer() }
func (f fakeCall) Close()                                { f.open-- }
