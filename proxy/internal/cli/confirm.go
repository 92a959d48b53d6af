// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// change is what is about to be done.
type change struct {
	words string // that go on from "would" and "about to"
	about object // what it is done to

	harmless  bool // it takes away nothing that is anybody's
	mayBeGone bool // the change is right also where the volume's disk was taken away
}

// changing is a change of an object, in words.
func changing(about object, format string, args ...any) change {
	return change{words: fmt.Sprintf(format, args...), about: about}
}

// ask is asked before each change. Without an error the change is made.
type ask func(context.Context, change) error

var errNotConfirmed = errors.New("not confirmed, nothing was changed")

// confirm asks whether a change of the local host may go on.
func (a *app) confirm(ctx context.Context, c change) error {
	if a.yes || c.harmless {
		return nil
	}
	nobody := &usageError{message: fmt.Sprintf("about to %s on this machine, and nobody to ask: --yes confirms it", c.words)}
	if !a.Terminal {
		return nobody
	}
	a.note(fmt.Sprintf("About to %s on this machine. Go on? [y/N] ", c.words))
	select {
	case answer := <-a.readLine():
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		}
		if answer == "" { // not even an end of line
			a.note("\n")
			return nobody
		}
		return errNotConfirmed
	case <-ctx.Done():
		a.note("\n")
		return fmt.Errorf("%w: %w", errNotConfirmed, ctx.Err())
	}
}

// readLine reads a line, or what there is of one, without holding up its caller.
func (a *app) readLine() <-chan string {
	read := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(a.In).ReadString('\n') // the end of input ends a line too
		read <- text
	}()
	return read
}

// askBefore is a host that asks before each change, so that no verb can forget to.
func askBefore(h *host, ask ask) *host {
	asking := *h
	asking.disk = askingDisk{h.disk, ask}
	asking.volume = askingVolume{h.volume, ask}
	asking.filesystem = askingFilesystem{h.filesystem, ask}
	asking.smb = askingSMB{h.smb, ask}
	asking.iscsi = askingISCSI{h.iscsi, ask}
	asking.system = askingSystem{h.system, ask}
	return &asking
}

type askingDisk struct {
	diskGroup
	ask ask
}

func (d askingDisk) PartitionDisk(ctx context.Context, req *disk.PartitionDiskRequest) (*disk.PartitionDiskResponse, error) {
	if err := d.ask(ctx, changing(diskObject{Number: req.DiskNumber}, "partition disk %d%s", req.DiskNumber, overwriting(req.Overwrite))); err != nil {
		return &disk.PartitionDiskResponse{}, err
	}
	return d.diskGroup.PartitionDisk(ctx, req)
}

func (d askingDisk) SetDiskState(ctx context.Context, req *disk.SetDiskStateRequest) (*disk.SetDiskStateResponse, error) {
	if err := d.ask(ctx, changing(diskObject{Number: req.DiskNumber}, "take disk %d %s", req.DiskNumber, stateName(req.IsOnline))); err != nil {
		return &disk.SetDiskStateResponse{}, err
	}
	return d.diskGroup.SetDiskState(ctx, req)
}

func (d askingDisk) SetReadOnly(ctx context.Context, req *disk.SetReadOnlyRequest) (*disk.SetReadOnlyResponse, error) {
	if err := d.ask(ctx, changing(diskObject{Number: req.DiskNumber}, "make disk %d %s", req.DiskNumber, accessName(req.IsReadOnly))); err != nil {
		return &disk.SetReadOnlyResponse{}, err
	}
	return d.diskGroup.SetReadOnly(ctx, req)
}

func (d askingDisk) EnsureOnlineWritable(ctx context.Context, req *disk.EnsureOnlineWritableRequest) (*disk.EnsureOnlineWritableResponse, error) {
	if err := d.ask(ctx, changing(diskObject{Number: req.DiskNumber}, "make disk %d online and writable", req.DiskNumber)); err != nil {
		return &disk.EnsureOnlineWritableResponse{}, err
	}
	return d.diskGroup.EnsureOnlineWritable(ctx, req)
}

func (d askingDisk) Rescan(ctx context.Context, req *disk.RescanRequest) (*disk.RescanResponse, error) {
	if err := d.ask(ctx, change{words: "look for new and grown disks", about: machineObject{}, harmless: true}); err != nil {
		return &disk.RescanResponse{}, err
	}
	return d.diskGroup.Rescan(ctx, req)
}

type askingVolume struct {
	volumeGroup
	ask ask
}

func (v askingVolume) FormatVolume(ctx context.Context, req *volume.FormatVolumeRequest) (*volume.FormatVolumeResponse, error) {
	if err := v.ask(ctx, changing(volumeObject{ID: req.VolumeID}, "format volume %s%s%s", req.VolumeID, formatting(req), overwriting(req.Overwrite))); err != nil {
		return &volume.FormatVolumeResponse{}, err
	}
	return v.volumeGroup.FormatVolume(ctx, req)
}

func (v askingVolume) MountVolume(ctx context.Context, req *volume.MountVolumeRequest) (*volume.MountVolumeResponse, error) {
	if err := v.ask(ctx, changing(volumeObject{ID: req.VolumeID}, "mount volume %s at %s", req.VolumeID, req.TargetPath)); err != nil {
		return &volume.MountVolumeResponse{}, err
	}
	return v.volumeGroup.MountVolume(ctx, req)
}

func (v askingVolume) UnmountVolume(ctx context.Context, req *volume.UnmountVolumeRequest) (*volume.UnmountVolumeResponse, error) {
	c := changing(volumeObject{ID: req.VolumeID}, "unmount volume %s from %s", req.VolumeID, req.TargetPath)
	c.mayBeGone = true
	if err := v.ask(ctx, c); err != nil {
		return &volume.UnmountVolumeResponse{}, err
	}
	return v.volumeGroup.UnmountVolume(ctx, req)
}

func (v askingVolume) ResizeVolume(ctx context.Context, req *volume.ResizeVolumeRequest) (*volume.ResizeVolumeResponse, error) {
	if err := v.ask(ctx, changing(volumeObject{ID: req.VolumeID}, "resize volume %s%s", req.VolumeID, resizing(req.SizeBytes))); err != nil {
		return &volume.ResizeVolumeResponse{}, err
	}
	return v.volumeGroup.ResizeVolume(ctx, req)
}

func (v askingVolume) WriteVolumeCache(ctx context.Context, req *volume.WriteVolumeCacheRequest) (*volume.WriteVolumeCacheResponse, error) {
	if err := v.ask(ctx, change{words: "flush volume " + req.VolumeID, about: volumeObject{ID: req.VolumeID}, harmless: true}); err != nil {
		return &volume.WriteVolumeCacheResponse{}, err
	}
	return v.volumeGroup.WriteVolumeCache(ctx, req)
}

type askingFilesystem struct {
	filesystemGroup
	ask ask
}

func (f askingFilesystem) Mkdir(ctx context.Context, req *filesystem.MkdirRequest) (*filesystem.MkdirResponse, error) {
	if err := f.ask(ctx, changing(pathObject{Path: req.Path}, "make directory %s", req.Path)); err != nil {
		return &filesystem.MkdirResponse{}, err
	}
	return f.filesystemGroup.Mkdir(ctx, req)
}

func (f askingFilesystem) Rmdir(ctx context.Context, req *filesystem.RmdirRequest) (*filesystem.RmdirResponse, error) {
	below := ""
	if req.Force {
		below = " and all below it"
	}
	if err := f.ask(ctx, changing(pathObject{Path: req.Path}, "remove %s%s", req.Path, below)); err != nil {
		return &filesystem.RmdirResponse{}, err
	}
	return f.filesystemGroup.Rmdir(ctx, req)
}

func (f askingFilesystem) RmdirContents(ctx context.Context, req *filesystem.RmdirContentsRequest) (*filesystem.RmdirContentsResponse, error) {
	if err := f.ask(ctx, changing(pathObject{Path: req.Path}, "remove all below %s", req.Path)); err != nil {
		return &filesystem.RmdirContentsResponse{}, err
	}
	return f.filesystemGroup.RmdirContents(ctx, req)
}

func (f askingFilesystem) CreateSymlink(ctx context.Context, req *filesystem.CreateSymlinkRequest) (*filesystem.CreateSymlinkResponse, error) {
	if err := f.ask(ctx, changing(pathObject{Path: req.TargetPath}, "make %s a link to %s", req.TargetPath, req.SourcePath)); err != nil {
		return &filesystem.CreateSymlinkResponse{}, err
	}
	return f.filesystemGroup.CreateSymlink(ctx, req)
}

type askingSMB struct {
	smbGroup
	ask ask
}

func (s askingSMB) NewSMBGlobalMapping(ctx context.Context, req *smb.NewSMBGlobalMappingRequest) (*smb.NewSMBGlobalMappingResponse, error) {
	link := ""
	if req.LocalPath != "" {
		link = " and make " + req.LocalPath + " a link to it"
	}
	if err := s.ask(ctx, changing(mappingObject{Share: req.RemotePath}, "map %s%s", req.RemotePath, link)); err != nil {
		return &smb.NewSMBGlobalMappingResponse{}, err
	}
	return s.smbGroup.NewSMBGlobalMapping(ctx, req)
}

func (s askingSMB) RemoveSMBGlobalMapping(ctx context.Context, req *smb.RemoveSMBGlobalMappingRequest) (*smb.RemoveSMBGlobalMappingResponse, error) {
	if err := s.ask(ctx, changing(mappingObject{Share: req.RemotePath}, "unmap %s for all who use it", req.RemotePath)); err != nil {
		return &smb.RemoveSMBGlobalMappingResponse{}, err
	}
	return s.smbGroup.RemoveSMBGlobalMapping(ctx, req)
}

type askingISCSI struct {
	iscsi.Interface
	ask ask
}

func (i askingISCSI) AddTargetPortal(ctx context.Context, req *iscsi.AddTargetPortalRequest) (*iscsi.AddTargetPortalResponse, error) {
	if err := i.ask(ctx, changing(portal(req.TargetPortal), "register iSCSI portal %s", req.TargetPortal)); err != nil {
		return &iscsi.AddTargetPortalResponse{}, err
	}
	return i.Interface.AddTargetPortal(ctx, req)
}

func (i askingISCSI) RemoveTargetPortal(ctx context.Context, req *iscsi.RemoveTargetPortalRequest) (*iscsi.RemoveTargetPortalResponse, error) {
	if err := i.ask(ctx, changing(portal(req.TargetPortal), "forget iSCSI portal %s", req.TargetPortal)); err != nil {
		return &iscsi.RemoveTargetPortalResponse{}, err
	}
	return i.Interface.RemoveTargetPortal(ctx, req)
}

func (i askingISCSI) ConnectTarget(ctx context.Context, req *iscsi.ConnectTargetRequest) (*iscsi.ConnectTargetResponse, error) {
	if err := i.ask(ctx, changing(targetObject{IQN: req.IQN}, "log in to iSCSI target %s", req.IQN)); err != nil {
		return &iscsi.ConnectTargetResponse{}, err
	}
	return i.Interface.ConnectTarget(ctx, req)
}

func (i askingISCSI) DisconnectTarget(ctx context.Context, req *iscsi.DisconnectTargetRequest) (*iscsi.DisconnectTargetResponse, error) {
	if err := i.ask(ctx, changing(targetObject{IQN: req.IQN}, "log out of iSCSI target %s", req.IQN)); err != nil {
		return &iscsi.DisconnectTargetResponse{}, err
	}
	return i.Interface.DisconnectTarget(ctx, req)
}

func (i askingISCSI) SetMutualChapSecret(ctx context.Context, req *iscsi.SetMutualChapSecretRequest) (*iscsi.SetMutualChapSecretResponse, error) {
	if err := i.ask(ctx, changing(machineObject{}, "set the iSCSI secret of this machine")); err != nil {
		return &iscsi.SetMutualChapSecretResponse{}, err
	}
	return i.Interface.SetMutualChapSecret(ctx, req)
}

type askingSystem struct {
	system.Interface
	ask ask
}

func (s askingSystem) StartService(ctx context.Context, req *system.StartServiceRequest) (*system.StartServiceResponse, error) {
	if err := s.ask(ctx, changing(serviceObject{Name: req.Name}, "start service %s", req.Name)); err != nil {
		return &system.StartServiceResponse{}, err
	}
	return s.Interface.StartService(ctx, req)
}

func (s askingSystem) StopService(ctx context.Context, req *system.StopServiceRequest) (*system.StopServiceResponse, error) {
	dependents := ""
	if req.Force {
		dependents = " and all that depend on it"
	}
	if err := s.ask(ctx, changing(serviceObject{Name: req.Name}, "stop service %s%s", req.Name, dependents)); err != nil {
		return &system.StopServiceResponse{}, err
	}
	return s.Interface.StopService(ctx, req)
}

// formatting says what a volume is formatted with, as far as that is asked for.
func formatting(req *volume.FormatVolumeRequest) string {
	var with []string
	if req.FileSystem != "" {
		with = append(with, req.FileSystem)
	}
	if req.Label != "" {
		with = append(with, fmt.Sprintf("label %q", req.Label))
	}
	if req.AllocationUnitSize != 0 {
		with = append(with, fmt.Sprintf("allocation units of %d bytes", req.AllocationUnitSize))
	}
	if len(with) == 0 {
		return ""
	}
	return " with " + strings.Join(with, ", ")
}

func resizing(bytes int64) string {
	if bytes == 0 {
		return " to all that its disk has after it"
	}
	return " to " + size(bytes).exact()
}

func overwriting(overwrite bool) string {
	if overwrite {
		return " and lose what is on it"
	}
	return ""
}

// stateName is the state of a disk in one word.
func stateName(online bool) string {
	if online {
		return "online"
	}
	return "offline"
}

// accessName is a disk's read-only attribute in one word.
func accessName(readOnly bool) string {
	if readOnly {
		return "read-only"
	}
	return "writable"
}
