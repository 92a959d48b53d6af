// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/storage"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// provider is the WMI of a node with other rows and results.
type provider struct {
	win.WMI
	class   string                                 // whose rows are others; "" is MSFT_Disk
	rows    func(win.Row) []win.Row                // nil: as they are
	results func(method string) (skip bool, c int) // nil: as they are

	mu      sync.Mutex
	started []string // "Class.Method Param=Value …"
}

func (p *provider) Connect(namespace string) (win.Session, error) {
	s, err := p.WMI.Connect(namespace)
	return &providerSession{s, p}, err
}

type providerSession struct {
	win.Session
	provider *provider
}

func (s *providerSession) Query(wql string) (win.Rows, error) {
	rows, err := s.Session.Query(wql)
	if err != nil || s.provider.rows == nil || !strings.Contains(wql, " FROM "+cmp.Or(s.provider.class, "MSFT_Disk")+" ") {
		return rows, err
	}
	defer rows.Close()
	var all []win.Row
	for {
		row, err := rows.Next(time.Second)
		if err != nil {
			return &otherRows{rows: all}, nil
		}
		all = append(all, s.provider.rows(row)...)
	}
}

type otherRows struct{ rows []win.Row }

func (r *otherRows) Next(time.Duration) (win.Row, error) {
	if len(r.rows) == 0 {
		return nil, win.WBEM_S_FALSE
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	return row, nil
}

func (r *otherRows) Close() {}

func (s *providerSession) Start(class, path, method string, in []win.Param) (win.Call, error) {
	text := class + "." + method
	for _, param := range in {
		text += fmt.Sprintf(" %s=%v", param.Name, param.Value)
	}
	s.provider.mu.Lock()
	s.provider.started = append(s.provider.started, text)
	s.provider.mu.Unlock()
	if s.provider.results == nil {
		return s.Session.Start(class, path, method, in)
	}
	skip, code := s.provider.results(method)
	if skip {
		return otherResult(code), nil
	}
	call, err := s.Session.Start(class, path, method, in)
	if err != nil || code < 0 {
		return call, err
	}
	_, err = call.Result(time.Second)
	call.Close()
	return otherResult(code), err
}

// otherResult is a method's return value.
type otherResult int

func (r otherResult) Result(time.Duration) (win.Row, error) {
	return win.Row{"ReturnValue": int32(r)}, nil
}

func (otherResult) Close() {}

// count is how often a method was started.
func (p *provider) count(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, text := range p.started {
		if name, _, _ := strings.Cut(text, " "); name == method {
			n++
		}
	}
	return n
}

// as leaves a method's call as it is.
const as = -1

// blankDisk is a node with a blank disk 1, its storage with another provider,
// and the disk's identity.
func blankDisk(t *testing.T, p *provider, change ...func(*simhost.DiskSpec)) (*simhost.Node, *storage.Storage, storage.DiskIdentity) {
	t.Helper()
	data := simhost.DiskSpec{Name: "data", Size: 10 * simhost.GiB, Bus: "sas", Serial: "data-1", Address: &simhost.AddressSpec{Port: 1}}
	for _, c := range change {
		c(&data)
	}
	node, err := simhost.New(simhost.NodeSpec{Version: simhost.SpecVersion, Disks: []simhost.DiskSpec{simhost.BootDisk(), data}})
	if err != nil {
		t.Fatal(err)
	}
	h := node.Host()
	p.WMI = h.WMI
	host := &win.Host{Devices: h.Devices, Mounts: h.Mounts, Files: h.Files, System: h.System, WMI: p}
	t.Cleanup(func() { wmi.On(host).Close() })
	s := storage.On(host)
	found, err := s.InspectDisk(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	return node, s, found.Identity
}

// A row acts only if it is proven to be of the disk that is held open.
func TestInitializeDisk_ProvesTheRow(t *testing.T) {
	with := func(name string, value any) func(win.Row) []win.Row {
		return func(row win.Row) []win.Row {
			row[name] = value
			return []win.Row{row}
		}
	}
	bootPath := func(t *testing.T) string {
		_, s, _ := blankDisk(t, &provider{})
		disks, err := s.ListDisks(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return disks[0].Path
	}(t)
	looks := 0
	loses := func(name string) func(win.Row) []win.Row { // with the refreshed row
		return func(row win.Row) []win.Row {
			if looks++; looks%2 == 0 {
				delete(row, name)
			}
			return []win.Row{row}
		}
	}
	for name, c := range map[string]struct {
		rows func(win.Row) []win.Row
		want error
	}{
		"as it is":          {func(row win.Row) []win.Row { return []win.Row{row} }, nil},
		"missing":           {func(win.Row) []win.Row { return nil }, errdefs.ErrUnavailable},
		"twice":             {func(row win.Row) []win.Row { return []win.Row{row, row} }, errdefs.ErrUnavailable},
		"of a smaller disk": {with("Size", "1073741824"), errdefs.ErrUnavailable},
		"of a larger disk":  {with("Size", "21474836480"), errdefs.ErrUnavailable},
		"without size":      {with("Size", nil), wmi.ErrNull},
		"of another disk":   {with("Path", bootPath), errdefs.ErrOtherDisk},
		"of a gone disk":    {with("Path", `\\?\scsi#disk&gone`), win.ERROR_FILE_NOT_FOUND},
		"without path":      {with("Path", nil), wmi.ErrNull},
		"boot":              {with("IsBoot", true), errdefs.ErrCriticalDisk},
		"system":            {with("IsSystem", true), errdefs.ErrCriticalDisk},
		"clustered":         {with("IsClustered", true), errdefs.ErrCriticalDisk},
		"flags without say": {with("IsBoot", nil), nil},
		"flag of no kind":   {with("IsBoot", "no"), errdefs.ErrInternal},
		"without object":    {with("__PATH", nil), wmi.ErrNull},
		"loses its object":  {loses("__PATH"), wmi.ErrNull},
	} {
		for _, step := range []string{"Initialize", "CreatePartition"} {
			t.Run(name+" "+step, func(t *testing.T) {
				p := &provider{rows: c.rows}
				node, s, id := blankDisk(t, p, func(d *simhost.DiskSpec) {
					if step == "CreatePartition" {
						d.Style = "gpt"
					}
				})
				before := node.Snapshot()
				var err error
				if step == "Initialize" {
					err = s.InitializeDisk(t.Context(), id)
				} else {
					err = s.CreatePartition(t.Context(), id, storage.ProviderGPT)
				}
				if c.want == nil {
					if err != nil || p.count("MSFT_Disk."+step) != 1 {
						t.Errorf("got %v after %q", err, p.started)
					}
					return
				}
				if !errors.Is(err, c.want) {
					t.Errorf("got %v", err)
				}
				if diff := simhost.Diff(before, node.Snapshot()); diff != "" || p.count("MSFT_Disk."+step) != 0 {
					t.Errorf("started %q, changed:\n%s", p.started, diff)
				}
			})
		}
	}
}

// A cache that is out of date is renewed once, then the row is looked for once
// more.
func TestInitializeDisk_RenewsTheCacheOnce(t *testing.T) {
	for name, c := range map[string]struct {
		refusals int
		started  int
		err      error
	}{
		"40003 once":     {1, 2, nil},
		"40003 for ever": {9, 2, win.ReturnCacheOutOfDate},
	} {
		t.Run(name, func(t *testing.T) {
			refusals := c.refusals
			p := &provider{results: func(method string) (bool, int) {
				if method != "Initialize" || refusals == 0 {
					return false, as
				}
				refusals--
				return true, int(win.ReturnCacheOutOfDate)
			}}
			_, s, id := blankDisk(t, p)
			err := s.InitializeDisk(t.Context(), id)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("got %v", err)
			}
			if p.count("MSFT_Disk.Initialize") != c.started || p.count("MSFT_StorageSetting.UpdateHostStorageCache") != 1 {
				t.Errorf("started %q", p.started)
			}
		})
	}
}

// What a method says is checked against the disk: 41001 and 42002 are no errors
// where the thing is there, and 0 is one where it is not (DISK-11).
func TestProviderResults(t *testing.T) {
	initialize := func(t *testing.T, s *storage.Storage, id storage.DiskIdentity) error {
		return s.InitializeDisk(t.Context(), id)
	}
	create := func(t *testing.T, s *storage.Storage, id storage.DiskIdentity) error {
		return s.CreatePartition(t.Context(), id, storage.ProviderGPT)
	}
	for name, c := range map[string]struct {
		style  string
		run    func(*testing.T, *storage.Storage, storage.DiskIdentity) error
		method string
		skip   bool
		code   int
		want   error
	}{
		"Initialize did it and says 41001":      {"raw", initialize, "Initialize", false, 41001, nil},
		"Initialize did nothing and says 41001": {"raw", initialize, "Initialize", true, 41001, errdefs.ErrUnavailable},
		"Initialize did nothing and says 0":     {"raw", initialize, "Initialize", true, 0, errdefs.ErrUnavailable},
		"Initialize on GPT":                     {"gpt", initialize, "Initialize", false, as, nil},
		"Initialize on MBR":                     {"mbr", initialize, "Initialize", false, as, errdefs.ErrUnavailable},
		"Initialize: read-only, D15":            {"raw", initialize, "Initialize", true, 41002, errdefs.ErrReadOnly},
		"Initialize: offline":                   {"raw", initialize, "Initialize", true, 41003, errdefs.ErrDiskOffline},
		"Initialize: critical":                  {"raw", initialize, "Initialize", true, 41009, errdefs.ErrCriticalDisk},
		"Initialize: clustered":                 {"raw", initialize, "Initialize", true, 41018, errdefs.ErrCriticalDisk},
		"Initialize: too small":                 {"raw", initialize, "Initialize", true, 41014, errdefs.ErrOutOfRange},
		"Initialize: unspecified":               {"raw", initialize, "Initialize", true, 2, win.ReturnUnspecified},
		"Initialize: job started":               {"raw", initialize, "Initialize", true, 4096, win.ReturnJobStarted},
		"DISK-11: CreatePartition says 42002":   {"gpt", create, "CreatePartition", false, 42002, nil},
		"CreatePartition: no space":             {"gpt", create, "CreatePartition", true, 40000, errdefs.ErrOutOfRange},
		"CreatePartition: access denied":        {"gpt", create, "CreatePartition", true, 40001, errdefs.ErrPermissionDenied},
		"CreatePartition: critical partition":   {"gpt", create, "CreatePartition", true, 42010, errdefs.ErrCriticalDisk},
		"Refresh says 41000":                    {"raw", initialize, "Refresh", true, 41000, nil},
		"Refresh says 41003":                    {"raw", initialize, "Refresh", true, 41003, nil},
		"Refresh says 5":                        {"raw", initialize, "Refresh", true, 5, win.ReturnInvalidParameter},
	} {
		t.Run(name, func(t *testing.T) {
			p := &provider{}
			node, s, id := blankDisk(t, p, func(d *simhost.DiskSpec) { d.Style = c.style })
			p.results = func(method string) (bool, int) {
				if method == c.method {
					return c.skip, c.code
				}
				return false, as
			}
			before := node.Snapshot()
			err := c.run(t, s, id)
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("got %v", err)
			}
			if err != nil {
				if diff := simhost.Diff(before, node.Snapshot()); diff != "" {
					t.Errorf("changed:\n%s", diff)
				}
			}
		})
	}
}

// volumeDisk is a node with a volume of a file system on the only partition of
// disk 1, its storage with another provider, and the volume where it lies.
func volumeDisk(t *testing.T, p *provider, fileSystem string) (*simhost.Node, *storage.Storage, storage.VolumeID, []abi.DiskExtent) {
	t.Helper()
	node, s, _ := blankDisk(t, p, func(d *simhost.DiskSpec) {
		d.Style = "gpt"
		d.Partitions = []simhost.PartitionSpec{{Size: simhost.GiB, Volume: &simhost.VolumeSpec{FileSystem: fileSystem}}}
	})
	volumes, err := s.VolumesOfDisk(t.Context(), 1)
	if err != nil || len(volumes) != 1 {
		t.Fatalf("%d volumes, %v", len(volumes), err)
	}
	on, err := s.VolumeExtents(t.Context(), volumes[0].Volume)
	if err != nil {
		t.Fatal(err)
	}
	return node, s, volumes[0].Volume, on
}

// The provider grows a partition only by a row that is proven to be of it
// (docs/architecture.md, "Native first").
func TestGrowVolume_ProvesThePartitionsRow(t *testing.T) {
	with := func(name string, value any) func(win.Row) []win.Row {
		return func(row win.Row) []win.Row {
			row[name] = value
			return []win.Row{row}
		}
	}
	for name, c := range map[string]struct {
		rows func(win.Row) []win.Row
		want error
	}{
		"as it is":       {func(row win.Row) []win.Row { return []win.Row{row} }, nil},
		"missing":        {func(win.Row) []win.Row { return nil }, errdefs.ErrUnavailable},
		"without offset": {with("Offset", nil), wmi.ErrNull},
		"of another":     {with("Offset", "2097152"), errdefs.ErrUnavailable},
		"without object": {with("__PATH", nil), wmi.ErrNull},
	} {
		t.Run(name, func(t *testing.T) {
			p := &provider{class: "MSFT_Partition", rows: c.rows}
			node, s, id, on := volumeDisk(t, p, "NTFS")
			node.OnCall(func(call simhost.Call, do func() error) error {
				if call.Code == abi.IOCTL_DISK_GROW_PARTITION {
					return win.ERROR_NOT_SUPPORTED
				}
				return do()
			})
			before := node.Snapshot()
			grown, err := s.GrowVolume(t.Context(), id, on, func(storage.Growth) (int64, error) { return 2 << 30, nil })
			if c.want == nil {
				if err != nil || grown.After.Partition != 2<<30 || p.count("MSFT_Partition.Resize") != 1 {
					t.Errorf("got %+v, %v after %q", grown, err, p.started)
				}
				return
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			if diff := simhost.Diff(before, node.Snapshot()); diff != "" || p.count("MSFT_Partition.Resize") != 0 {
				t.Errorf("started %q, changed:\n%s", p.started, diff)
			}
		})
	}
}

// A volume is formatted only by a row that names an object, and is formatted
// when it reads as that.
func TestFormatVolume_Provider(t *testing.T) {
	for name, c := range map[string]struct {
		rows    func(win.Row) []win.Row
		skip    bool
		started int
		want    error
	}{
		"as it is":       {nil, false, 1, nil},
		"without object": {func(row win.Row) []win.Row { delete(row, "__PATH"); return []win.Row{row} }, false, 0, wmi.ErrNull},
		"did nothing":    {nil, true, 1, errdefs.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			p := &provider{class: "MSFT_Volume", rows: c.rows}
			_, s, id, on := volumeDisk(t, p, "")
			p.results = func(method string) (bool, int) {
				if c.skip && method == "Format" {
					return true, 0
				}
				return false, as
			}
			err := s.FormatVolume(t.Context(), id, on, storage.Format{FileSystem: "NTFS"})
			if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || p.count("MSFT_Volume.Format") != c.started {
				t.Errorf("got %v after %q", err, p.started)
			}
			want := map[bool]string{true: "NTFS"}[err == nil]
			if got, err := s.FileSystem(t.Context(), id); err != nil || got != want {
				t.Errorf("file system %q, %v", got, err)
			}
		})
	}
}

// A policy that is not told is none of the policies.
func TestSANPolicy_NotTold(t *testing.T) {
	_, s, _ := blankDisk(t, &provider{results: func(string) (bool, int) { return true, 0 }})
	if got, err := s.SANPolicy(t.Context()); got != storage.SANPolicyUnknown || !errors.Is(err, wmi.ErrNull) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Parameters go by name, and none is sent that the disk's style does not take
// (windows-api.md 5.4). No drive letter is asked for.
func TestCreatePartition_Parameters(t *testing.T) {
	for style, want := range map[string]string{
		"gpt": "MSFT_Disk.CreatePartition UseMaximumSize=true GptType={ebd0a0a2-b9e5-4433-87c0-68b6b72699c7}",
		"mbr": "MSFT_Disk.CreatePartition UseMaximumSize=true MbrType=7",
	} {
		t.Run(style, func(t *testing.T) {
			p := &provider{}
			_, s, id := blankDisk(t, p, func(d *simhost.DiskSpec) { d.Style = style })
			by := map[string]storage.ProviderStyle{"gpt": storage.ProviderGPT, "mbr": storage.ProviderMBR}[style]
			if got, err := s.ProviderStyle(t.Context(), id); err != nil || got != by {
				t.Errorf("style %v, %v", got, err)
			}
			if err := s.CreatePartition(t.Context(), id, by); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(p.started, want) {
				t.Errorf("started %q, not %q", p.started, want)
			}
		})
	}
}

// The last look before a change is on the handle that is kept: a disk that has
// got a partition meanwhile is not initialised, nor given a second one.
func TestProviderChanges_LastLook(t *testing.T) {
	_, s, id := blankDisk(t, &provider{})
	if err := s.InitializeDisk(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := s.CreatePartition(t.Context(), id, storage.ProviderGPT); err != nil {
		t.Fatal(err)
	}
	if err := s.InitializeDisk(t.Context(), id); !errors.Is(err, errdefs.ErrFailedPrecondition) {
		t.Errorf("initialize: %v", err)
	}
	if err := s.CreatePartition(t.Context(), id, storage.ProviderGPT); !errors.Is(err, errdefs.ErrFailedPrecondition) {
		t.Errorf("create: %v", err)
	}
}

// A number that has moved is noticed before the provider is asked for anything.
func TestProviderChanges_NumberHasMoved(t *testing.T) {
	p := &provider{}
	node, s, id := blankDisk(t, p)
	replaceDisk(t, node)
	for name, err := range map[string]error{
		"initialize": s.InitializeDisk(t.Context(), id),
		"create":     s.CreatePartition(t.Context(), id, storage.ProviderGPT),
	} {
		if !errors.Is(err, errdefs.ErrOtherDisk) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(p.started) > 0 {
		t.Errorf("started %q", p.started)
	}
}

// A number that moves while the provider works makes its success an error.
func TestProviderChanges_NumberMovesMeanwhile(t *testing.T) {
	p := &provider{}
	node, s, id := blankDisk(t, p, func(d *simhost.DiskSpec) { d.Style = "gpt" })
	p.results = func(method string) (bool, int) {
		if method != "CreatePartition" {
			return false, as
		}
		replaceDisk(t, node)
		return true, 0
	}
	if err := s.CreatePartition(t.Context(), id, storage.ProviderGPT); errdefs.KindOf(err) != errdefs.NotFound {
		t.Errorf("got %v", err) // the handle is stale
	}
}

// replaceDisk gives disk 1's number to another disk.
func replaceDisk(t *testing.T, node *simhost.Node) {
	t.Helper()
	other := simhost.DiskSpec{Name: "other", Size: 10 * simhost.GiB, Bus: "sas", Serial: "data-2", Address: &simhost.AddressSpec{Port: 2}}
	if err := errors.Join(node.AddDisk(other), node.DetachDisk("data")); err != nil {
		t.Error(err)
	}
	if number, err := node.AttachDisk("other"); err != nil || number != 1 {
		t.Errorf("attached as %d, %v", number, err)
	}
}
