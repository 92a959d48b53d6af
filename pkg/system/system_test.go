// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// SYS-1 on the shipped nodes: the forms of windows-api.md 12.
func TestGetBIOSSerialNumber_SYS1_Clouds(t *testing.T) {
	for node, want := range map[string]string{
		"aws-nitro":      "ec2e1916-9099-7caf-fd21-0a1b2c3d4e5f",
		"azure-scsi":     "0000-0014-8173-2290-5672-1135-24",
		"gce-scsi":       "GoogleCloud-0A1B2C3D4E5F60718293A4B5C6D7E8F9",
		"vsphere-pvscsi": "VMware-56 4d 1a 2b 3c 4d 5e 6f-70 81 92 a3 b4 c5 d6 e7",
	} {
		t.Run(node, func(t *testing.T) {
			spec, err := simhost.Named(node)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t, spec)
			resp, err := s.GetBIOSSerialNumber(t.Context(), &system.GetBIOSSerialNumberRequest{})
			if err != nil || resp.SerialNumber != want {
				t.Errorf("got %q, %v; want %q", resp.SerialNumber, err, want)
			}
			if n := s.node.Calls().Total(); n != 1 {
				t.Errorf("%d boundary calls, design allows 1", n)
			}
		})
	}
}

// SYS-1, field-reports.md S03: what WMI passes through comes through.
func TestGetBIOSSerialNumber_SYS1(t *testing.T) {
	for name, tt := range map[string]struct{ serial, want string }{
		"placeholder":             {"None", "None"},
		"another placeholder":     {"To be filled by O.E.M.", "To be filled by O.E.M."},
		"zero":                    {"0", "0"},
		"blanks at the end":       {"VMware-56 4d  ", "VMware-56 4d"},
		"blanks at the beginning": {"  A1", "  A1"},
		"blanks alone":            {"   ", ""},
		"not UTF-8":               {"A\xff1", "A\uFFFD1"},
		"not ASCII":               {"Zoë", "Zoë"},
		"longer than MIF allows":  {strings.Repeat("9", 200), strings.Repeat("9", 200)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, simhost.NodeSpec{BIOS: &simhost.BIOSSpec{Product: "p", Serial: tt.serial}})
			resp, err := s.GetBIOSSerialNumber(t.Context(), &system.GetBIOSSerialNumberRequest{})
			if err != nil || resp.SerialNumber != tt.want {
				t.Errorf("got %q, %v; want %q", resp.SerialNumber, err, tt.want)
			}
		})
	}
}

// firmware is a host that has nothing but a firmware table.
type firmware struct {
	win.System
	table []byte
	err   error
}

func (f firmware) FirmwareTable(provider, id uint32) ([]byte, error) {
	if provider != 0x52534D42 || id != 0 {
		return nil, errors.New("another table was asked for")
	}
	return f.table, f.err
}

// A table without a serial number is told as such, and one that cannot be read
// is never one without.
func TestGetBIOSSerialNumber_SYS1_Tables(t *testing.T) {
	table := func(structures ...abi.SMBIOSStructure) []byte {
		var raw abi.SMBIOS
		for _, s := range structures {
			raw.Table = append(raw.Table, s.Encode()...)
		}
		return raw.Encode()
	}
	numbered := func(n byte) abi.SMBIOSStructure {
		return abi.SMBIOSStructure{Type: 1, Fields: []byte{0, 0, 0, n}, Strings: []string{"S1"}}
	}
	for name, tt := range map[string]struct {
		host firmware
		want string
		kind errdefs.Kind
	}{
		"first system counts":      {firmware{table: table(numbered(1), numbered(0))}, "S1", errdefs.None},
		"no system":                {firmware{table: table(abi.SMBIOSStructure{Type: 2})}, "", errdefs.NotFound},
		"empty table":              {firmware{table: table()}, "", errdefs.NotFound},
		"serial not given":         {firmware{table: table(numbered(0))}, "", errdefs.NotFound},
		"serial string missing":    {firmware{table: table(numbered(2))}, "", errdefs.NotFound},
		"structure of SMBIOS 2.0":  {firmware{table: table(abi.SMBIOSStructure{Type: 1, Fields: make([]byte, 3)})}, "", errdefs.NotFound},
		"serial behind end of all": {firmware{table: table(abi.SMBIOSStructure{Type: 127}, numbered(1))}, "", errdefs.NotFound},
		"no bytes":                 {firmware{}, "", errdefs.Internal},
		"cut":                      {firmware{table: table(numbered(1))[:14]}, "", errdefs.Internal},
		"provider unknown":         {firmware{err: win.ERROR_INVALID_FUNCTION}, "", errdefs.Unsupported},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := system.New(hostapi.On(&win.Host{System: tt.host}))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.GetBIOSSerialNumber(t.Context(), &system.GetBIOSSerialNumberRequest{})
			if resp.SerialNumber != tt.want || errdefs.KindOf(err) != tt.kind {
				t.Errorf("got %q, %v; want %q, %s", resp.SerialNumber, err, tt.want, tt.kind)
			}
		})
	}
}

// SYS-2: by key name in any case, and never by display name.
func TestGetService_SYS2(t *testing.T) {
	s := newSite(t, simhost.NodeSpec{})
	want := &system.GetServiceResponse{
		DisplayName: "Microsoft iSCSI Initiator Service", StartType: system.START_TYPE_MANUAL, Status: system.SERVICE_STATUS_STOPPED,
	}
	for _, name := range []string{"MSiSCSI", "msiscsi", "MSISCSI"} {
		if diff := cmp.Diff(want, s.get(name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, name := range []string{"Microsoft iSCSI Initiator Service", "no such service", " MSiSCSI", "MSiSCSI "} {
		resp, err := s.GetService(t.Context(), &system.GetServiceRequest{Name: name})
		s.wantKind(err, errdefs.NotFound, 1060)
		if resp == nil || *resp != (system.GetServiceResponse{}) {
			t.Errorf("%q: response %+v", name, resp)
		}
	}
}

// SYS-3: a service that is a driver is no automatic one with a delay to ask for.
func TestGetService_Driver(t *testing.T) {
	s := newSite(t, services(simhost.ServiceSpec{Name: "x", Type: "driver", Start: "auto"}))
	if got := s.get("x"); got.StartType != system.START_TYPE_AUTOMATIC || got.Status != system.SERVICE_STATUS_RUNNING {
		t.Errorf("got %+v", got)
	}
	if n := s.node.Calls().ByMethod()["Service.DelayedStart"]; n != 0 {
		t.Errorf("a driver was asked %d times for its delay", n)
	}
}

// oddHost answers numbers that no Windows has.
type oddHost struct {
	hostapi.HostAPI
	odd hostapi.Service
}

func (h oddHost) Service(context.Context, string) (hostapi.Service, error) { return h.odd, nil }

// SYS-3: an unknown number never becomes 0, which has a meaning.
func TestGetService_SYS3_Unknown(t *testing.T) {
	for name, odd := range map[string]hostapi.Service{
		"start type": {StartType: 5, Status: hostapi.ServiceStatus{State: hostapi.Running}},
		"state":      {StartType: 3, Status: hostapi.ServiceStatus{State: 8}},
		"no state":   {StartType: 3},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := system.New(oddHost{odd: odd})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := s.GetService(t.Context(), &system.GetServiceRequest{Name: "x"})
			if errdefs.KindOf(err) != errdefs.Internal || resp == nil || *resp != (system.GetServiceResponse{}) {
				t.Errorf("got %+v, %v", resp, err)
			}
		})
	}
}

// SYS-4: names are literal. Nothing is selected by a pattern or by what another
// system would make of the name, and nothing is stopped.
func TestNames_SYS4_AreLiteral(t *testing.T) {
	for _, name := range []string{"*", "MSi*", "MSiSCS?", "[M]SiSCSI", "%", "_SiSCSI", "x' OR '1'='1", `MSiSCSI";`, "$(MSiSCSI)", "MSiSCSI\n"} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, simhost.NodeSpec{})
			before := s.node.Snapshot()
			_, err := s.GetService(t.Context(), &system.GetServiceRequest{Name: name})
			for _, err := range []error{err, s.start(name), s.stop(name, false), s.stop(name, true)} {
				s.wantKind(err, errdefs.NotFound, 1060)
			}
			if diff := simhost.Diff(before, s.node.Snapshot()); diff != "" {
				t.Errorf("changed:\n%s", diff)
			}
		})
	}
	t.Run("a service of that name", func(t *testing.T) {
		s := newSite(t, services(simhost.ServiceSpec{Name: "*", State: "running"}))
		s.must(s.stop("*", false))
		s.wantRequests("stop *")
	})
}

// Names that no service can have are refused before Windows is asked.
func TestNames_Refused(t *testing.T) {
	for label, name := range map[string]string{
		"empty": "", "slash": "a/b", "backslash": `a\b`, "NUL": "MSiSCSI\x00x", "not UTF-8": "MSiSCSI\xff",
		"too long": strings.Repeat("x", 257), "too long in UTF-16": strings.Repeat("\U0001F4BE", 129),
	} {
		t.Run(label, func(t *testing.T) {
			s := newSite(t, simhost.NodeSpec{})
			_, err := s.GetService(t.Context(), &system.GetServiceRequest{Name: name})
			for _, err := range []error{err, s.start(name), s.stop(name, false), s.stop(name, true)} {
				s.wantKind(err, errdefs.InvalidArgument, 0)
				if err == nil || !strings.Contains(err.Error(), "Name") {
					t.Errorf("%v does not name the field", err)
				}
			}
			if n := s.node.Calls().Total(); n != 0 {
				t.Errorf("%d boundary calls", n)
			}
		})
	}
	t.Run("as long as may be", func(t *testing.T) {
		s := newSite(t, simhost.NodeSpec{})
		s.wantKind(s.start(strings.Repeat("\U0001F4BE", 128)), errdefs.NotFound, 1060)
	})
}

func TestStrings(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"Unknown":          system.SERVICE_STATUS_UNKNOWN,
		"Stopped":          system.SERVICE_STATUS_STOPPED,
		"Start Pending":    system.SERVICE_STATUS_START_PENDING,
		"Stop Pending":     system.SERVICE_STATUS_STOP_PENDING,
		"Running":          system.SERVICE_STATUS_RUNNING,
		"Continue Pending": system.SERVICE_STATUS_CONTINUE_PENDING,
		"Pause Pending":    system.SERVICE_STATUS_PAUSE_PENDING,
		"Paused":           system.SERVICE_STATUS_PAUSED,
		"ServiceStatus(8)": system.ServiceStatus(8),
		"Boot":             system.START_TYPE_BOOT,
		"System":           system.START_TYPE_SYSTEM,
		"Automatic":        system.START_TYPE_AUTOMATIC,
		"Manual":           system.START_TYPE_MANUAL,
		"Disabled":         system.START_TYPE_DISABLED,
		"StartType(5)":     system.StartType(5),
	} {
		if got.String() != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
