// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// Whatever touches the node's state holds the node's lock. Two goroutines that
// touch the same run one after the other here, and nothing but that lock comes
// between them: time passes without either waiting for the other. So the race
// detector sees a lock that is missing, and not only where it is lucky.
//
// It knows but the last few that have touched a place, and soon forgets a
// goroutine that has ended. So each pair has a node of its own, and is there from
// the start to the end.
func TestNode_LocksItsState(t *testing.T) {
	for i, p := range newBench(t).pairs() {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newBench(t).pairs()[i]
				var running sync.WaitGroup
				for i, do := range []func(){p.first, p.second} {
					running.Go(func() {
						time.Sleep(time.Duration(1+i) * time.Second)
						do()
						time.Sleep(time.Minute)
					})
				}
				running.Wait()
			})
		})
	}
}

// A new method gets a pair, or a reason why it needs none.
func TestNode_LocksItsState_Everywhere(t *testing.T) {
	known := []string{
		"Calls",                                                           // has a lock of its own
		"Close", "Disk", "Filesystem", "ISCSI", "SMB", "System", "Volume", // work on what is attached to Host
		"System.BuildNumber", "System.FirmwareTable", "System.RegistryValue", // stay as New made them
	}
	for _, p := range newBench(t).pairs() {
		known = append(known, p.name)
	}
	for _, name := range methods() {
		if !slices.Contains(known, name) {
			t.Errorf("%s has no pair", name)
		}
	}
}

// methods are those of the node and, as "Devices.Open", of its boundary and of
// all that can be opened there.
func methods() []string {
	var names []string
	host := reflect.TypeFor[win.Host]()
	var add func(of reflect.Type, prefix string)
	add = func(of reflect.Type, prefix string) {
		for i := range of.NumMethod() {
			method := of.Method(i)
			names = append(names, prefix+method.Name)
			if method.Type.NumOut() == 0 {
				continue
			}
			if opened := method.Type.Out(0); opened.Kind() == reflect.Interface && opened.PkgPath() == host.PkgPath() {
				add(opened, opened.Name()+".")
			}
		}
	}
	add(reflect.TypeFor[*Node](), "")
	for _, field := range reflect.VisibleFields(host) {
		if field.IsExported() {
			add(field.Type, field.Name+".")
		}
	}
	return names
}

// pair is two that touch the same state, where at least one changes it. The
// first does in its last call what name says: if it let go of the node's lock
// once more after that, the second would be ordered behind it.
type pair struct {
	name          string
	first, second func()
}

// twice is a change that meets itself.
func twice(name string, change func()) pair { return pair{name, change, change} }

// bench is a node with directories on C:, a disk that comes and goes with its
// volume E:, a mapping and an iSCSI session.
type bench struct {
	*testing.T
	*Node
	host *win.Host
	e    string // the volume's name
}

const portal = "10.0.0.10:3260"

func newBench(t *testing.T) bench {
	t.Helper()
	spec := iscsiSpec()
	spec.ISCSI.Targets = append(spec.ISCSI.Targets, ISCSITargetSpec{
		Name: "iqn.late", LUNs: []DiskSpec{{Name: "late", Size: GiB}}, Arrival: Duration(500 * time.Millisecond),
	})
	spec.SMB = smbSpec().SMB
	spare := data("spare")
	spare.Partitions[1].Volume.Letter = "E"
	spec.Disks, spec.Attachable = []DiskSpec{BootDisk(), spare}, []DiskSpec{plain("other")}
	spec.Directories = []string{`C:\dir`, `C:\held`, `C:\junction`}

	n := mustNode(t, spec)
	check(n.AddSMBMapping(SMBMapping{RemotePath: dataShare, Credential: SMBCredential{"bob", "secret"}}))
	check(n.AddISCSISession(iqnOpen, portal, true))
	return bench{t, n, n.Host(), must(n.Host().Mounts.VolumeAt(`E:\`))}
}

func (b bench) pairs() []pair {
	return slices.Concat(b.cloud(), b.devices(), b.mounts(), b.files(), b.services(), b.network(), b.wmi())
}

// must and check panic, so that a pair that does not work names its line.
func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// look reads the state: most changes show in it.
func (b bench) look() {
	b.Snapshot()
	b.OpenHandles()
}

// replug takes the spare disk away and brings it back.
func (b bench) replug() {
	check(b.DetachDisk("spare"))
	must(b.AttachDisk("spare"))
}

// reletter takes the letter E: and gives it back.
func (b bench) reletter() {
	check(b.host.Mounts.DeletePoint(`E:\`))
	check(b.host.Mounts.SetPoint(`E:\`, b.e))
}

// cloud is what comes from outside.
func (b bench) cloud() []pair {
	write := func() { check(b.WriteMedia("spare", MediaLUKS)) }
	hook := func() { b.OnCall(func(_ Call, do func() error) error { return do() }) }
	build := func() { must(b.host.System.WindowsDirectory()) } // which takes no lock behind around's
	return []pair{
		{"Disks", func() { b.Disks() }, func() { check(b.AddDisk(plain("one"))) }},
		{"AddDisk", func() { check(b.AddDisk(plain("two"))) }, b.look},
		{"DiskNumber", func() { b.DiskNumber("spare") }, b.replug},
		{"AttachDisk", func() { must(b.AttachDisk("other")) }, b.look},
		{"DetachDisk", func() { check(b.DetachDisk("spare")) }, b.look},
		{"GrowDisk", func() { check(b.GrowDisk("spare", 2*GiB)) }, b.look},
		{"SetMedia", func() { check(b.SetMedia("spare", 0, []byte("x"))) }, b.look},
		{"WriteMedia", write, b.look},
		{"ReadMedia", func() { must(b.ReadMedia("spare", 0, 512)) }, write},
		twice("SetUnreadable", func() { check(b.SetUnreadable("other")) }),
		{"Arrivals.Watch", func() { check(b.host.Arrivals.Watch(abi.GUID_DEVINTERFACE_DISK, func() {})) }, b.replug},
		{"System.WindowsDirectory", build, hook},
		{"OnCall", hook, build},
		{"Snapshot", func() { b.Snapshot() }, b.replug},
		{"Host", func() { b.Host() }, b.RestartDriver},
		{"RestartDriver", b.RestartDriver, func() { b.Host() }},
		{"Reboot", b.Reboot, b.look},
	}
}

func (b bench) devices() []pair {
	open := func() win.Device { return must(b.host.Devices.Open(`\\.\PhysicalDrive1`, readWrite)) }
	spoil := func() { check(b.SetUnreadable("spare", RangeSpec{Offset: GiB / 2, Length: MiB})) }
	return []pair{
		{"OpenHandles", func() { b.OpenHandles() }, func() { open() }},
		{"Devices.Interfaces", func() { must(b.host.Devices.Interfaces(abi.GUID_DEVINTERFACE_DISK)) }, b.replug},
		{"Devices.Open", func() { open() }, b.look},
		{"Device.Control", func() { must(open().Control(abi.IOCTL_DISK_UPDATE_PROPERTIES, nil, nil)) }, b.look},
		{"Device.ReadAt", func() { must(open().ReadAt(make([]byte, 512), 0)) }, spoil},
		{"Device.Flush", func() { check(open().Flush()) }, b.replug},
		{"Device.Close", func() { check(open().Close()) }, b.look},
	}
}

func (b bench) mounts() []pair {
	m := b.host.Mounts
	return []pair{
		{"Mounts.Volumes", func() { must(m.Volumes()) }, b.replug},
		{"Mounts.Paths", func() { must(m.Paths(b.e)) }, b.reletter},
		{"Mounts.VolumeAt", func() { must(m.VolumeAt(`E:\`)) }, b.reletter},
		{"Mounts.Information", func() { must(m.Information(`E:\`)) }, b.reletter},
		{"Mounts.FreeSpace", func() { must(m.FreeSpace(`E:\`)) }, b.reletter},
		{"Mounts.SetPoint", b.reletter, b.look},
		{"Mounts.DeletePoint", func() { check(m.DeletePoint(`E:\`)) }, func() { check(m.SetPoint(`E:\`, b.e)) }},
	}
}

func (b bench) files() []pair {
	open := func(name string, access win.Access) win.File {
		return must(b.host.Files.Open(nil, `\\?\C:\`+name, win.OpenFile{Disposition: win.OpenExisting, Access: access}))
	}
	dir := func() win.File { return open("dir", readWrite|win.Delete) }
	look := func() { must(dir().Information(abi.FileStandardInfoClass, make([]byte, 64))) }
	keep := abi.EncodeFileDispositionInfo(false)
	set := func() { check(dir().SetInformation(abi.FileDispositionInfoClass, keep)) }
	held := func() { open("held", readWrite) }
	link := func() { check(b.host.Files.SymbolicLink(`\\?\C:\link`, "dir", win.SymbolicLinkFlagDirectory)) }
	target := junction(b.T, `\??\C:\dir`)
	point := func() { must(open("junction", readWrite).Control(abi.FSCTL_SET_REPARSE_POINT, target, nil)) }
	return []pair{
		{"Files.Open", func() { dir() }, b.look},
		{"Files.SymbolicLink", link, b.look},
		{"File.Information", look, set},
		{"File.SetInformation", set, look},
		{"File.Control", point, b.look},
		{"File.List", func() { must(dir().List(make([]byte, 4096), true)) }, func() { check(b.AddFile(`C:\dir\one`, 1)) }},
		{"File.FinalPath", func() { must(dir().FinalPath(win.VolumeNameDOS)) }, b.reletter},
		{"File.Close", func() { check(dir().Close()) }, b.look},
		{"AddFile", func() { check(b.AddFile(`C:\dir\two`, 1)) }, b.look},
		{"HoldOpen", func() { must(b.HoldOpen(`C:\held`)) }, held},
		{"HoldOpen, release", func() { must(b.HoldOpen(`C:\held`))() }, held},
	}
}

func (b bench) services() []pair {
	open := func() win.Service { return must(b.host.Services.Open("kubelet", anyService)) }
	stop := func() { check(b.SetServiceState("kubelet", "stopped")) }
	return []pair{
		{"SetServiceState", stop, b.look},
		{"Services.Open", func() { open() }, b.look},
		{"Service.Config", func() { must(open().Config()) }, stop},
		{"Service.DelayedStart", func() { must(open().DelayedStart()) }, stop},
		{"Service.Status", func() { must(open().Status()) }, stop},
		{"Service.Dependents", func() { must(open().Dependents(win.SERVICE_ACTIVE)) }, stop},
		{"Service.Start", func() { stop(); check(open().Start()) }, b.look},
		{"Service.Control", func() { must(open().Control(win.SERVICE_CONTROL_STOP)) }, b.look},
		{"Service.Close", func() { check(open().Close()) }, b.look},
	}
}

// network is the file servers and the iSCSI targets.
func (b bench) network() []pair {
	mapping := SMBMapping{RemotePath: `\\files\second`, Credential: SMBCredential{"bob", "secret"}}
	server := SMBServerSpec{Name: "new", Shares: []SMBShareSpec{{Name: "share"}}}
	status := func() { check(b.SetSMBStatus(dataShare, smbOK)) }
	logon := func() win.Logon { return must(b.host.Logons.Logon("bob", "", "secret")) }
	visit := func() { check(logon().Open(`\\?\UNC\files\bobs`)) }
	shown := func() { b.ShownToSMBServer("files") }
	return []pair{
		{"AddSMBMapping", func() { check(b.AddSMBMapping(mapping)) }, b.look},
		{"SMBMappings", func() { b.SMBMappings() }, status},
		{"SetSMBStatus", status, b.look},
		{"AddSMBServer", func() { check(b.AddSMBServer(server)) }, b.look},
		{"SetSMBPassword", func() { check(b.SetSMBPassword("files", "bob", "new")) }, b.look},
		{"RemoveSMBUser", func() { check(b.RemoveSMBUser("files", "bob")) }, b.look},
		twice("SetSMBEncryption", func() { check(b.SetSMBEncryption("files", true)) }),
		{"FailSMBServer", func() { check(b.FailSMBServer("files", 0)) }, visit},
		{"DropSMBSessions", func() { check(b.DropSMBSessions("files")) }, b.look},
		{"Logons.Logon", func() { logon() }, b.look},
		{"Logon.Open", visit, shown},
		{"Logon.Close", func() { check(logon().Close()) }, b.look},
		{"ShownToSMBServer", shown, visit},
		twice("HangSMBServer", func() { must(b.HangSMBServer("nas")) }),
		{"HangSMBServer, release", func() { must(b.HangSMBServer("files"))() }, visit},
		{"Session.Start, which waits for a server", b.createLate, func() { b.SMBMappings() }},
		{"AddISCSISession", func() { check(b.AddISCSISession(iqnCHAP, portal, true)) }, b.look},
		{"AddISCSISession, late disks", func() { check(b.AddISCSISession("iqn.late", portal, true)) }, func() { b.DiskNumber("late") }},
		twice("SetISCSIPortal", func() { check(b.SetISCSIPortal(portal, false)) }),
		twice("SetISCSISecret", func() { check(b.SetISCSISecret(iqnCHAP, "averylongsecret")) }),
	}
}

// createLate makes a mapping after its server was silent, in the provider's own
// time.
func (b bench) createLate() {
	in := []win.Param{param("RemotePath", `\\files\second`), param("Credential", "bob:secret")}
	release := must(b.HangSMBServer("files"))
	must(b.connect(smbNamespace).Start(smbMappingClass, "", "Create", in))
	release()
}

// enter makes one of WMI's threads, which ends with the goroutine.
func (b bench) enter() {
	runtime.LockOSThread()
	check(b.host.WMI.Enter())
}

func (b bench) connect(namespace string) win.Session {
	b.enter()
	return must(b.host.WMI.Connect(namespace))
}

func (b bench) query() { b.rows("MSFT_Disk") }

func (b bench) rows(class string) win.Rows {
	return must(b.connect(storageNamespace).Query("SELECT * FROM " + class))
}

func (b bench) wmi() []pair {
	session := func() win.Session { return b.connect(storageNamespace) }
	start := func() win.Call { return must(session().Start("MSFT_StorageSetting", "", "Get", nil)) }
	leave := func() { runtime.LockOSThread(); b.host.WMI.Leave() } // without having entered
	late := func() { b.Latency("MSFT_Volume", 500*time.Millisecond); b.rows("MSFT_Volume") }
	violations := func() { b.Violations() }
	return []pair{
		{"MethodInput", func() { must(b.MethodInput(storageNamespace, "MSFT_Volume", "Format")) }, b.query},
		twice("WMI.Enter", b.enter),
		{"WMI.Leave", leave, violations},
		{"Violations", violations, leave},
		{"WMI.Connect", func() { session() }, b.enter},
		{"Session.Query", b.query, b.look},
		{"Session.Query, late", late, b.KillWMIHost},
		{"Session.Get", func() { must(session().Get("MSFT_Disk")) }, b.enter},
		{"Session.Start", func() { start() }, b.look},
		{"Session.Close", func() { session().Close() }, b.enter},
		{"Rows.Next", func() { must(b.rows("MSFT_Disk").Next(0)) }, b.KillWMIHost},
		{"Rows.Close", func() { b.rows("MSFT_Disk").Close() }, b.look},
		{"Call.Result", func() { must(start().Result(0)) }, b.enter},
		{"Call.Close", func() { start().Close() }, b.look},
		{"KillWMIHost", b.KillWMIHost, b.query},
		twice("Latency", func() { b.Latency("MSFT_Disk", 0) }),
		twice("LatencyEach", func() { b.LatencyEach("MSFT_Disk", 0) }),
		twice("Hang", func() { b.Hang("MSFT_Volume") }),
		twice("Hang, release", func() { b.Hang("MSFT_Volume")() }),
		twice("ReturnNext", func() { b.ReturnNext("MSFT_Disk.Initialize", 0, true) }),
		twice("SetDefragmenter", func() { b.SetDefragmenter(true) }),
	}
}
