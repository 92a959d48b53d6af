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

var errNotConfirmed = errors.New("not confirmed, nothing was changed")

// confirm asks whether a change of the local host may go on.
func (a *app) confirm(ctx context.Context, _ subject, format string, args ...any) error {
	if a.yes {
		return nil
	}
	change := fmt.Sprintf(format, args...)
	nobody := &usageError{message: fmt.Sprintf("about to %s on this machine, and nobody to ask: --yes confirms it", change)}
	if !a.Terminal {
		return nobody
	}
	a.note(fmt.Sprintf("About to %s on this machine. Go on? [y/N] ", change))
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
		return ctx.Err()
	}
}

// errPlanned ends a change that was only to be told.
var errPlanned = errors.New("planned")

// plan is confirm for those who only want to know: what would be done, and what
// it is done to.
func (a *app) plan(h *host) ask {
	return func(ctx context.Context, about subject, format string, args ...any) error {
		drawn, err := draw(ctx, h, about)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.Out, "would "+format+"\n%s", append(args, drawn)...); err != nil {
			return err
		}
		return errPlanned
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

// ask is confirm, or plan, for the hosts below.
type ask func(ctx context.Context, about subject, format string, args ...any) error

// subject is the disk or volume that a change is about; of others there is
// nothing to draw.
type subject struct {
	disk      *uint32
	volume    string
	mayBeGone bool // the volume, whose disk was taken away
}

func aboutDisk(number uint32) subject { return subject{disk: &number} }

func aboutVolume(id string) subject { return subject{volume: id} }

// askBefore is a host that asks before each change, so that no verb can forget
// to. Rescan and flush change nothing that is anybody's, and are not asked about.
func askBefore(h *host, confirm ask) *host {
	asking := *h
	asking.disk = askingDisk{h.disk, confirm}
	asking.volume = askingVolume{h.volume, confirm}
	asking.filesystem = askingFilesystem{h.filesystem, confirm}
	asking.smb = askingSMB{h.smb, confirm}
	asking.iscsi = askingISCSI{h.iscsi, confirm}
	asking.system = askingSystem{h.system, confirm}
	return &asking
}

type askingDisk struct {
	diskGroup
	confirm ask
}

func (d askingDisk) PartitionDisk(ctx context.Context, req *disk.PartitionDiskRequest) (*disk.PartitionDiskResponse, error) {
	if err := d.confirm(ctx, aboutDisk(req.DiskNumber), "partition disk %d%s", req.DiskNumber, overwriting(req.Overwrite)); err != nil {
		return &disk.PartitionDiskResponse{}, err
	}
	return d.diskGroup.PartitionDisk(ctx, req)
}

func (d askingDisk) SetDiskState(ctx context.Context, req *disk.SetDiskStateRequest) (*disk.SetDiskStateResponse, error) {
	if err := d.confirm(ctx, aboutDisk(req.DiskNumber), "take disk %d %s", req.DiskNumber, stateName(req.IsOnline)); err != nil {
		return &disk.SetDiskStateResponse{}, err
	}
	return d.diskGroup.SetDiskState(ctx, req)
}

type askingVolume struct {
	volumeGroup
	confirm ask
}

func (v askingVolume) FormatVolume(ctx context.Context, req *volume.FormatVolumeRequest) (*volume.FormatVolumeResponse, error) {
	if err := v.confirm(ctx, aboutVolume(req.VolumeID), "format volume %s%s%s", req.VolumeID, formatting(req), overwriting(req.Overwrite)); err != nil {
		return &volume.FormatVolumeResponse{}, err
	}
	return v.volumeGroup.FormatVolume(ctx, req)
}

func (v askingVolume) MountVolume(ctx context.Context, req *volume.MountVolumeRequest) (*volume.MountVolumeResponse, error) {
	if err := v.confirm(ctx, aboutVolume(req.VolumeID), "mount volume %s at %s", req.VolumeID, req.TargetPath); err != nil {
		return &volume.MountVolumeResponse{}, err
	}
	return v.volumeGroup.MountVolume(ctx, req)
}

func (v askingVolume) UnmountVolume(ctx context.Context, req *volume.UnmountVolumeRequest) (*volume.UnmountVolumeResponse, error) {
	if err := v.confirm(ctx, subject{volume: req.VolumeID, mayBeGone: true}, "unmount volume %s from %s", req.VolumeID, req.TargetPath); err != nil {
		return &volume.UnmountVolumeResponse{}, err
	}
	return v.volumeGroup.UnmountVolume(ctx, req)
}

func (v askingVolume) ResizeVolume(ctx context.Context, req *volume.ResizeVolumeRequest) (*volume.ResizeVolumeResponse, error) {
	if err := v.confirm(ctx, aboutVolume(req.VolumeID), "resize volume %s%s", req.VolumeID, resizing(req.SizeBytes)); err != nil {
		return &volume.ResizeVolumeResponse{}, err
	}
	return v.volumeGroup.ResizeVolume(ctx, req)
}

type askingFilesystem struct {
	filesystem.Interface
	confirm ask
}

func (f askingFilesystem) Mkdir(ctx context.Context, req *filesystem.MkdirRequest) (*filesystem.MkdirResponse, error) {
	if err := f.confirm(ctx, subject{}, "make directory %s", req.Path); err != nil {
		return &filesystem.MkdirResponse{}, err
	}
	return f.Interface.Mkdir(ctx, req)
}

func (f askingFilesystem) Rmdir(ctx context.Context, req *filesystem.RmdirRequest) (*filesystem.RmdirResponse, error) {
	below := ""
	if req.Force {
		below = " and all below it"
	}
	if err := f.confirm(ctx, subject{}, "remove %s%s", req.Path, below); err != nil {
		return &filesystem.RmdirResponse{}, err
	}
	return f.Interface.Rmdir(ctx, req)
}

func (f askingFilesystem) RmdirContents(ctx context.Context, req *filesystem.RmdirContentsRequest) (*filesystem.RmdirContentsResponse, error) {
	if err := f.confirm(ctx, subject{}, "remove all below %s", req.Path); err != nil {
		return &filesystem.RmdirContentsResponse{}, err
	}
	return f.Interface.RmdirContents(ctx, req)
}

func (f askingFilesystem) CreateSymlink(ctx context.Context, req *filesystem.CreateSymlinkRequest) (*filesystem.CreateSymlinkResponse, error) {
	if err := f.confirm(ctx, subject{}, "make %s a link to %s", req.TargetPath, req.SourcePath); err != nil {
		return &filesystem.CreateSymlinkResponse{}, err
	}
	return f.Interface.CreateSymlink(ctx, req)
}

type askingSMB struct {
	smbGroup
	confirm ask
}

func (s askingSMB) NewSMBGlobalMapping(ctx context.Context, req *smb.NewSMBGlobalMappingRequest) (*smb.NewSMBGlobalMappingResponse, error) {
	link := ""
	if req.LocalPath != "" {
		link = " and make " + req.LocalPath + " a link to it"
	}
	if err := s.confirm(ctx, subject{}, "map %s%s", req.RemotePath, link); err != nil {
		return &smb.NewSMBGlobalMappingResponse{}, err
	}
	return s.smbGroup.NewSMBGlobalMapping(ctx, req)
}

func (s askingSMB) RemoveSMBGlobalMapping(ctx context.Context, req *smb.RemoveSMBGlobalMappingRequest) (*smb.RemoveSMBGlobalMappingResponse, error) {
	if err := s.confirm(ctx, subject{}, "unmap %s for all who use it", req.RemotePath); err != nil {
		return &smb.RemoveSMBGlobalMappingResponse{}, err
	}
	return s.smbGroup.RemoveSMBGlobalMapping(ctx, req)
}

type askingISCSI struct {
	iscsi.Interface
	confirm ask
}

func (i askingISCSI) AddTargetPortal(ctx context.Context, req *iscsi.AddTargetPortalRequest) (*iscsi.AddTargetPortalResponse, error) {
	if err := i.confirm(ctx, subject{}, "register iSCSI portal %s", req.TargetPortal); err != nil {
		return &iscsi.AddTargetPortalResponse{}, err
	}
	return i.Interface.AddTargetPortal(ctx, req)
}

func (i askingISCSI) RemoveTargetPortal(ctx context.Context, req *iscsi.RemoveTargetPortalRequest) (*iscsi.RemoveTargetPortalResponse, error) {
	if err := i.confirm(ctx, subject{}, "forget iSCSI portal %s", req.TargetPortal); err != nil {
		return &iscsi.RemoveTargetPortalResponse{}, err
	}
	return i.Interface.RemoveTargetPortal(ctx, req)
}

func (i askingISCSI) ConnectTarget(ctx context.Context, req *iscsi.ConnectTargetRequest) (*iscsi.ConnectTargetResponse, error) {
	if err := i.confirm(ctx, subject{}, "log in to iSCSI target %s", req.IQN); err != nil {
		return &iscsi.ConnectTargetResponse{}, err
	}
	return i.Interface.ConnectTarget(ctx, req)
}

func (i askingISCSI) DisconnectTarget(ctx context.Context, req *iscsi.DisconnectTargetRequest) (*iscsi.DisconnectTargetResponse, error) {
	if err := i.confirm(ctx, subject{}, "log out of iSCSI target %s", req.IQN); err != nil {
		return &iscsi.DisconnectTargetResponse{}, err
	}
	return i.Interface.DisconnectTarget(ctx, req)
}

func (i askingISCSI) SetMutualChapSecret(ctx context.Context, req *iscsi.SetMutualChapSecretRequest) (*iscsi.SetMutualChapSecretResponse, error) {
	if err := i.confirm(ctx, subject{}, "set the iSCSI secret of this machine"); err != nil {
		return &iscsi.SetMutualChapSecretResponse{}, err
	}
	return i.Interface.SetMutualChapSecret(ctx, req)
}

type askingSystem struct {
	system.Interface
	confirm ask
}

func (s askingSystem) StartService(ctx context.Context, req *system.StartServiceRequest) (*system.StartServiceResponse, error) {
	if err := s.confirm(ctx, subject{}, "start service %s", req.Name); err != nil {
		return &system.StartServiceResponse{}, err
	}
	return s.Interface.StartService(ctx, req)
}

func (s askingSystem) StopService(ctx context.Context, req *system.StopServiceRequest) (*system.StopServiceResponse, error) {
	dependents := ""
	if req.Force {
		dependents = " and all that depend on it"
	}
	if err := s.confirm(ctx, subject{}, "stop service %s%s", req.Name, dependents); err != nil {
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
