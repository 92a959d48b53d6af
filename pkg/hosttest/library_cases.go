// SPDX-License-Identifier: Apache-2.0

package hosttest

import (
	"errors"
	"reflect"
	"strings"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

func libraryCases() []Case {
	return []Case{
		{IDs: []string{"LIB-1", "LIB-8", "L01"}, Shows: "constructors ask nothing", Needs: []Ability{Model}, Test: func(h *Host) {
			h.Node.Calls().Reset()
			h.Groups = h.Restarted()
			if n := h.Node.Calls().Total(); n != 0 {
				h.Errorf("%d calls", n)
			}
		}},
		{IDs: []string{"LIB-5"}, Shows: "what is missing is ErrNotFound, in every group", Needs: []Ability{Model}, Test: func(h *Host) {
			_, size := h.Disk.GetDiskStats(h.Context(), &disk.GetDiskStatsRequest{DiskNumber: 99})
			_, stats := h.statsOf(deadID)
			_, link := h.isSymlink(h.at("none"))
			_, service := h.System.GetService(h.Context(), &system.GetServiceRequest{Name: "none"})
			for _, err := range []error{size, stats, link, service, h.format(deadID), h.rmdir(h.at("none"), false), h.mount(deadID, h.Folder)} {
				if !errors.Is(err, errdefs.ErrNotFound) {
					h.Errorf("not ErrNotFound: %v", err)
				}
			}
		}},
		{IDs: []string{"LIB-5"}, Shows: "no error loses Windows' code, nor that of the link of a share", Needs: []Ability{InProcess, Model}, Spec: withServers, Test: func(h *Host) {
			h.directories("dir")
			h.answers(win.ERROR_ACCESS_DENIED, func(c simhost.Call) bool { return strings.HasPrefix(c.Method, "Files.") })
			_, at := h.volumeAt(h.at("dir"))
			_, closest := h.closest(h.at("dir"))
			for _, err := range []error{at, closest, h.mkdir(h.at("new")), h.ask(h.Context(), request(dataShare, h.at("link"), bob))} {
				if native, ok := errdefs.NativeOf(err); !ok || native.Code != 5 || !errors.Is(err, errdefs.ErrPermissionDenied) {
					h.Errorf("got %v of code %v", err, native)
				}
			}
		}},
		{IDs: []string{"LIB-6"}, Shows: "a nil request is an error with an empty response, of every method", Test: func(h *Host) {
			for _, m := range h.methods() {
				resp, err := m.call(reflect.Zero(m.request))
				h.wantError(err, errdefs.InvalidArgument, m.name)
				if resp.IsNil() {
					h.Errorf("%s: nil response", m.name)
				}
			}
		}},
		{IDs: []string{"LIB-6", "GEN-6"}, Shows: "an empty request is no panic, and changes nothing", Needs: []Ability{Model}, Test: func(h *Host) {
			before := h.Node.Snapshot()
			for _, m := range h.methods() {
				if resp, err := m.call(reflect.New(m.request.Elem())); resp.IsNil() {
					h.Errorf("%s: nil response beside %v", m.name, err)
				}
			}
			h.wantUnchanged(before)
		}},
		{IDs: []string{"L03", "L04", "L05", "L20"}, Shows: "what is asked again and again takes no WMI", Needs: []Ability{Model}, Test: func(h *Host) {
			path := h.newMount(dataID, "mount")
			h.must(h.link(path, h.at("link")))
			h.Node.Calls().Reset()
			for range 3 {
				_, stats := h.statsOf(dataID)
				_, formatted := h.formatted(dataID)
				_, at := h.volumeAt(h.at("link"))
				_, isLink := h.isSymlink(h.at("link"))
				ids, list := h.Disk.ListDiskIDs(h.Context(), &disk.ListDiskIDsRequest{})
				_, locations := h.Disk.ListDiskLocations(h.Context(), &disk.ListDiskLocationsRequest{})
				h.must(errors.Join(stats, formatted, at, isLink, list, locations, h.mount(dataID, path), h.flush(dataID)))
				if len(ids.DiskIDs) != 5 {
					h.Errorf("%d disks", len(ids.DiskIDs))
				}
			}
			h.must(errors.Join(h.rmdir(h.at("link"), true), h.unmount(dataID, path), h.rmdir(path, true)))
			h.wantNoWMI()
		}},
		{IDs: []string{"L06"}, Shows: "the volume of a link that leads to itself or to nothing", Needs: []Ability{InProcess, Links}, Test: func(h *Host) {
			h.must(h.linkToMissing(h.at("self"), h.at("self")))
			h.must(h.linkToMissing(h.at("b"), h.at("a")))
			h.must(h.linkToMissing(h.at("a"), h.at("b")))
			h.must(h.linkToMissing(h.at("none"), h.at("dangling")))
			for _, name := range []string{"self", "a"} {
				if id, err := h.volumeAt(h.at(name)); !errors.Is(err, errdefs.ErrLinkLoop) || id != "" {
					h.Errorf("%s: got %q, %v", name, id, err)
				}
			}
			if id, err := h.volumeAt(h.at("dangling")); !errors.Is(err, errdefs.ErrNotMounted) || id != "" {
				h.Errorf("dangling: got %q, %v", id, err)
			}
		}},
		{
			IDs: []string{"L07", "L08", "L13", "L14"}, Shows: "WMI serves many at once on its own threads, which connect once (in the lab by proxies that encrypt, with pointers checked)",
			Needs: []Ability{Model}, Spec: withTargets, AtOnce: true,
			Test: func(h *Host) {
				ask := func() {
					portals, err := h.portals()
					if err != nil || len(portals) != 1 {
						h.Errorf("got %v, %v", portals, err)
					}
				}
				var all sync.WaitGroup
				for range 64 {
					all.Go(ask)
				}
				all.Wait()
				for range 100 {
					ask()
				}
				if n := h.Node.Calls().ByMethod()["WMI.Connect"]; n == 0 || n > 4 {
					h.Errorf("%d connections for 164 questions", n)
				}
				if wrong := h.Node.Violations(); len(wrong) > 0 {
					h.Errorf("rules of COM are broken: %q", wrong)
				}
			},
		},
		{IDs: []string{"L09"}, Shows: "a WMI call that fails leaves nothing open", Needs: []Ability{Model}, Spec: withTargets, Test: func(h *Host) {
			for failing := 1; ; failing++ {
				made := 0
				h.Node.OnCall(func(_ simhost.Call, do func() error) error {
					if made++; made == failing {
						return win.WBEM_E_FAILED
					}
					return do()
				})
				_, err := h.portals() // harnesses count what it leaves open
				h.Node.OnCall(nil)
				if made < failing {
					h.must(err)
					return
				}
				if err == nil {
					h.Errorf("the failure of call %d is not told", failing)
				}
			}
		}},
		{IDs: []string{"L22"}, Shows: "where WMI does not find a mapping by its key, a query does", Needs: []Ability{Model}, Spec: func(spec *simhost.NodeSpec) {
			withServers(spec)
			spec.Switches.SMBMappingNotByPath = true
		}, Test: func(h *Host) {
			for range 2 {
				h.must(h.ask(h.Context(), request(dataShare, "", bob)))
				if n := len(h.Node.SMBMappings()); n != 1 {
					h.Errorf("%d mappings", n)
				}
			}
			h.must(h.unmap(dataShare))
			if n := len(h.Node.SMBMappings()); n != 0 {
				h.Errorf("%d mappings are left", n)
			}
		}},
	}
}

// groupMethod is a method of a group.
type groupMethod struct {
	name    string
	request reflect.Type
	call    func(request reflect.Value) (response reflect.Value, err error)
}

// methods are those of all six Interfaces.
func (h *Host) methods() []groupMethod {
	var all []groupMethod
	add := func(face reflect.Type, group any) {
		for i := range face.NumMethod() {
			name := face.Method(i).Name
			f := reflect.ValueOf(group).MethodByName(name)
			all = append(all, groupMethod{name, f.Type().In(1), func(request reflect.Value) (reflect.Value, error) {
				out := f.Call([]reflect.Value{reflect.ValueOf(h.Context()), request})
				err, _ := out[1].Interface().(error)
				return out[0], err
			}})
		}
	}
	add(reflect.TypeFor[disk.Interface](), h.Disk)
	add(reflect.TypeFor[volume.Interface](), h.Volume)
	add(reflect.TypeFor[filesystem.Interface](), h.Filesystem)
	add(reflect.TypeFor[smb.Interface](), h.SMB)
	add(reflect.TypeFor[iscsi.Interface](), h.ISCSI)
	add(reflect.TypeFor[system.Interface](), h.System)
	return all
}

func (h *Host) portals() ([]*iscsi.TargetPortal, error) {
	resp, err := h.ISCSI.ListTargetPortals(h.Context(), &iscsi.ListTargetPortalsRequest{})
	return resp.TargetPortals, err
}

// wantNoWMI wants none asked since the calls were reset. Needs Model.
func (h *Host) wantNoWMI() {
	h.Helper()
	for _, c := range h.Node.Calls().Calls() {
		if strings.HasPrefix(c.Method, "WMI.") || strings.HasPrefix(c.Method, "Session.") {
			h.Errorf("asked WMI: %s %s", c.Method, c.Subject)
		}
	}
}
