// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// 10,000 operations by several callers, of which each boundary call may fail,
// leave no handle, COM reference, string or thread behind.
func TestEndurance(t *testing.T) {
	const callers, warming, operations = 4, 400, 10_000
	s := through(t, named(t, simhost.Names()[0]))
	id := dataVolume(t, s)
	run := func(n int) {
		var group sync.WaitGroup
		for caller := range callers {
			group.Go(func() {
				random := rand.New(rand.NewPCG(uint64(n), uint64(caller)))
				for range n / callers {
					s.operate(t, random, id)
				}
			})
		}
		group.Wait()
		s.calls.Reset()
	}
	s.node.OnCall(faults())
	run(warming)
	before := resources(t)
	run(operations)
	s.node.OnCall(nil)
	until(t, "all handles are closed", func() bool {
		return s.lab.Settle() == nil && s.node.OpenHandles() == 0 && s.lab.Files() == 0
	})
	after := resources(t)
	t.Logf("before %+v, after %+v", before, after)

	if after.files != before.files {
		t.Errorf("%d handles of files and devices, %d before", after.files, before.files)
	}
	const ofThread = 4 // handles of events and timers that Go makes for a thread when it first needs them
	if after.handles > before.handles+ofThread*after.threads {
		t.Errorf("%d handles, %d before", after.handles, before.handles)
	}
	const workers = 8 // callers, each with what answers it
	if after.threads > before.threads+workers {
		t.Errorf("%d threads, %d before", after.threads, before.threads)
	}
}

// dataVolume attaches a disk and makes a formatted volume of it.
func dataVolume(t *testing.T, s *session) string {
	t.Helper()
	number, err := s.node.AttachDisk(attachable(t, s))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.disk.PartitionDisk(t.Context(), &disk.PartitionDiskRequest{DiskNumber: number}); err != nil {
		t.Fatal(err)
	}
	volumes, err := s.volume.ListVolumesOnDisk(t.Context(), &volume.ListVolumesOnDiskRequest{DiskNumber: number})
	if err != nil {
		t.Fatal(err)
	}
	id := volumes.VolumeIDs[0]
	if _, err := s.volume.FormatVolume(t.Context(), &volume.FormatVolumeRequest{VolumeID: id}); err != nil {
		t.Fatal(err)
	}
	return id
}

// faults fails one boundary call in thirty, WMI with codes of its own.
func faults() func(c simhost.Call, do func() error) error {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	codes := []error{win.ERROR_ACCESS_DENIED, win.ERROR_NOT_READY, win.ERROR_CRC, win.ERROR_IO_DEVICE, win.ERROR_INVALID_PARAMETER, win.ERROR_NO_SYSTEM_RESOURCES}
	ofWMI := []error{win.WBEM_E_FAILED, win.WBEM_E_ACCESS_DENIED, win.WBEM_E_PROVIDER_FAILURE}
	return func(c simhost.Call, do func() error) error {
		mu.Lock()
		fail, which := random.IntN(30) == 0, random.Int()
		mu.Unlock()
		switch {
		case !fail || c.Method == "WMI.Enter" || c.Method == "Devices.Interfaces":
			return do()
		case strings.HasPrefix(c.Method, "Session.") || strings.HasPrefix(c.Method, "Rows.") || strings.HasPrefix(c.Method, "Call.") || strings.HasPrefix(c.Method, "WMI."):
			return ofWMI[which%len(ofWMI)]
		}
		return codes[which%len(codes)]
	}
}

// operate does something. That it fails is part of the game; that it panics is
// not.
func (s *session) operate(t *testing.T, random *rand.Rand, id string) {
	t.Helper()
	ctx := t.Context()
	base := `C:\var\lib\kubelet\pods\`
	path := fmt.Sprintf(`%sp%d`, base, random.IntN(8))
	var err error
	switch random.IntN(16) {
	case 0:
		_, err = s.filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
	case 1:
		_, err = s.filesystem.LinkState(ctx, &filesystem.LinkStateRequest{Path: path})
	case 2:
		_, err = s.filesystem.Mkdir(ctx, &filesystem.MkdirRequest{Path: path + `\a\b`})
	case 3:
		_, err = s.filesystem.Rmdir(ctx, &filesystem.RmdirRequest{Path: path, Force: true})
	case 4:
		_, err = s.filesystem.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: base, TargetPath: path})
	case 5:
		_, err = s.filesystem.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: path})
	case 6:
		_, err = s.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
	case 7:
		_, err = s.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	case 8:
		_, err = s.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: path})
	case 9:
		_, err = s.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: path})
	case 10:
		_, err = s.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: path})
	case 11:
		_, err = s.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id})
	case 12:
		_, err = s.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 1})
	case 13:
		_, err = s.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: 1})
	case 14:
		_, err = s.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	case 15:
		_, err = s.disk.Rescan(ctx, &disk.RescanRequest{})
	}
	if err != nil && strings.Contains(err.Error(), "panic") {
		t.Error(err)
	}
}

// usage is what the process has of the system.
type usage struct {
	handles, files, threads int
	heap                    string
}

func resources(t *testing.T) usage {
	t.Helper()
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	u := usage{threads: threads(t), heap: fmt.Sprintf("%d KiB in use, %d KiB of the system", memory.HeapAlloc>>10, memory.Sys>>10)}
	u.handles, u.files = handles(t)
	return u
}

// handles counts those of this process in the system's list, and those of files
// and devices among them: Wine's GetProcessHandleCount says 0.
func handles(t *testing.T) (all, files int) {
	t.Helper()
	type entry struct { // SYSTEM_HANDLE_TABLE_ENTRY_INFO
		process, _ uint16
		kind, _    uint8
		handle     uint16
		_          uintptr
		_          uint32
	}
	null := open(t, `NUL`, 0, 0)
	defer func() { _ = windows.CloseHandle(null) }()
	list := make([]byte, 1<<20)
	if err := windows.NtQuerySystemInformation(windows.SystemHandleInformation, unsafe.Pointer(&list[0]), uint32(len(list)), nil); err != nil {
		t.Fatal(err)
	}
	count := *(*uint32)(unsafe.Pointer(&list[0]))
	kinds := map[uint8]int{}
	var file uint8
	for _, e := range unsafe.Slice((*entry)(unsafe.Pointer(&list[8])), count) {
		if int(e.process) != os.Getpid() {
			continue
		}
		all++
		kinds[e.kind]++
		if windows.Handle(e.handle) == null {
			file = e.kind
		}
	}
	if file == 0 {
		t.Fatal("the system's list has no handle of this process")
	}
	return all - 1, kinds[file] - 1
}

func threads(t *testing.T) int {
	t.Helper()
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	n := 0
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID == uint32(os.Getpid()) {
			n++
		}
	}
	return n
}
