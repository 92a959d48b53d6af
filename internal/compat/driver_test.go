// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	fsapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// mounter has the shape of the drivers' own (consumers.md 1, 3a): fields of the
// interface types, one constructor, requests in line or in a variable. It uses
// only what upstream has, and all of it: TestDriverUsesEverything.
type mounter struct {
	Fs     fs.Interface
	Disk   disk.Interface
	Volume volume.Interface
	ISCSI  iscsi.Interface
	SMB    smb.Interface
	System system.Interface
}

// newMounter is the constructor of every driver, word for word.
func newMounter() (*mounter, error) {
	fsClient, err := fs.New(fsapi.New())
	if err != nil {
		return nil, err
	}
	diskClient, err := disk.New(diskapi.New())
	if err != nil {
		return nil, err
	}
	volumeClient, err := volume.New(volumeapi.New())
	if err != nil {
		return nil, err
	}
	smbClient, err := smb.New(smbapi.New(), fsClient)
	if err != nil {
		return nil, err
	}
	iscsiClient, err := iscsi.New(iscsiapi.New())
	if err != nil {
		return nil, err
	}
	systemClient, err := system.New(systemapi.New())
	if err != nil {
		return nil, err
	}
	return &mounter{Fs: fsClient, Disk: diskClient, Volume: volumeClient, ISCSI: iscsiClient, SMB: smbClient, System: systemClient}, nil
}

// The concrete types, as drivers' own wrappers hold them.
var (
	_ func(*disk.Disk) disk.Interface       = func(d *disk.Disk) disk.Interface { return d }
	_ func(*fs.Filesystem) fs.Interface     = func(f *fs.Filesystem) fs.Interface { return f }
	_ func(*volume.Volume) volume.Interface = func(v *volume.Volume) volume.Interface { return v }
	_ func(*smb.SMB) smb.Interface          = func(s *smb.SMB) smb.Interface { return s }
	_ func(*iscsi.ISCSI) iscsi.Interface    = func(i *iscsi.ISCSI) iscsi.Interface { return i }
	_ func(*system.System) system.Interface = func(s *system.System) system.Interface { return s }
)

// findDisk looks for a disk by its serial number or page 83 identifier.
func (m *mounter) findDisk(ctx context.Context, id string) (uint32, error) {
	var rescanned *disk.RescanResponse
	rescanned, err := m.Disk.Rescan(ctx, &disk.RescanRequest{})
	if err != nil {
		return 0, fmt.Errorf("rescan %v: %w", rescanned, err)
	}
	listRequest := &disk.ListDiskIDsRequest{}
	var listed *disk.ListDiskIDsResponse
	listed, err = m.Disk.ListDiskIDs(ctx, listRequest)
	if err != nil {
		return 0, err
	}
	var ids map[uint32]*disk.DiskIDs = listed.DiskIDs
	for number, disk := range ids {
		if strings.Contains(disk.SerialNumber, id) || disk.Page83 == id {
			return number, nil
		}
	}
	return 0, fmt.Errorf("no disk %s among %d", id, len(ids))
}

// findByLUN looks for a disk by where it sits.
func (m *mounter) findByLUN(ctx context.Context, lun string) (number uint32, place *disk.DiskLocation, err error) {
	var resp *disk.ListDiskLocationsResponse
	resp, err = m.Disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	if err != nil {
		return 0, nil, err
	}
	for number, place := range resp.DiskLocations {
		if place.LUNID == lun && place.Adapter != "" && place.Bus+place.Target != "?" {
			return number, place, nil
		}
	}
	return 0, nil, fmt.Errorf("no disk with LUN %s", lun)
}

// size is the size of a disk.
func (m *mounter) size(ctx context.Context, number uint32) (int64, error) {
	var resp *disk.GetDiskStatsResponse
	resp, err := m.Disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: number})
	return resp.TotalBytes, err // vSphere reads the response beside an error
}

func (m *mounter) online(ctx context.Context, number uint32) (bool, error) {
	var resp *disk.GetDiskStateResponse
	resp, err := m.Disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: number})
	return resp.IsOnline, err
}

func (m *mounter) setOnline(ctx context.Context, number uint32, online bool) error {
	var resp *disk.SetDiskStateResponse
	resp, err := m.Disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
	if err != nil {
		return fmt.Errorf("state %v: %w", resp, err)
	}
	return nil
}

// formatAndMount is the stage call of aws-ebs, vsphere and gcp-pd, in upstream's
// order: partition, online, first volume, format if need be, mount.
func (m *mounter) formatAndMount(ctx context.Context, number uint32, target string) error {
	var partitioned *disk.PartitionDiskResponse
	partitioned, err := m.Disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
	if err != nil {
		return fmt.Errorf("partition %v: %w", partitioned, err)
	}
	if err := m.setOnline(ctx, number, true); err != nil {
		return err
	}
	list := &volume.ListVolumesOnDiskRequest{DiskNumber: number, PartitionNumber: 0}
	var volumes *volume.ListVolumesOnDiskResponse
	volumes, err = m.Volume.ListVolumesOnDisk(ctx, list)
	if err != nil {
		return err
	}
	volumeID := volumes.VolumeIDs[0] // upstream's drivers do not look whether there is one
	var formatted *volume.IsVolumeFormattedResponse
	formatted, err = m.Volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: volumeID})
	if err != nil {
		return err
	}
	if !formatted.Formatted {
		var done *volume.FormatVolumeResponse
		if done, err = m.Volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: volumeID}); err != nil {
			return fmt.Errorf("format %v: %w", done, err)
		}
	}
	var mounted *volume.MountVolumeResponse
	if mounted, err = m.Volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: volumeID, TargetPath: target}); err != nil {
		return fmt.Errorf("mount %v: %w", mounted, err)
	}
	return nil
}

// deviceOf is GetDeviceNameFromMount: the volume and disk behind a path.
func (m *mounter) deviceOf(ctx context.Context, target string) (string, uint32, error) {
	var id *volume.GetVolumeIDFromTargetPathResponse
	id, err := m.Volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: target})
	if err != nil {
		return "", 0, err
	}
	var number *volume.GetDiskNumberFromVolumeIDResponse
	number, err = m.Volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id.VolumeID})
	return id.VolumeID, number.DiskNumber, err
}

// publish links a staged volume into a pod's directory.
func (m *mounter) publish(ctx context.Context, staged, target string) error {
	if err := fs.ValidatePathWindows(target); err != nil {
		return err
	}
	var valid *fs.PathValidResponse
	valid, err := m.Fs.PathValid(ctx, &fs.PathValidRequest{Path: staged})
	if err != nil || !valid.Valid {
		return fmt.Errorf("%s: %t, %w", staged, valid.Valid, err)
	}
	exists := &fs.PathExistsRequest{Path: target}
	var found *fs.PathExistsResponse
	found, err = m.Fs.PathExists(ctx, exists)
	if err != nil {
		return err
	}
	if found.Exists {
		var removed *fs.RmdirResponse
		if removed, err = m.Fs.Rmdir(ctx, &fs.RmdirRequest{Path: target, Force: true}); err != nil {
			return fmt.Errorf("rmdir %v: %w", removed, err)
		}
	}
	var linked *fs.CreateSymlinkResponse
	if linked, err = m.Fs.CreateSymlink(ctx, &fs.CreateSymlinkRequest{SourcePath: staged, TargetPath: target}); err != nil {
		return fmt.Errorf("symlink %v: %w", linked, err)
	}
	return nil
}

func (m *mounter) isMount(ctx context.Context, target string) (bool, error) {
	var resp *fs.IsSymlinkResponse
	resp, err := m.Fs.IsSymlink(ctx, &fs.IsSymlinkRequest{Path: target})
	return resp.IsSymlink, err
}

func (m *mounter) mkdir(ctx context.Context, path string) error {
	var resp *fs.MkdirResponse
	resp, err := m.Fs.Mkdir(ctx, &fs.MkdirRequest{Path: path})
	if err != nil {
		return fmt.Errorf("mkdir %v: %w", resp, err)
	}
	return nil
}

func (m *mounter) empty(ctx context.Context, path string) error {
	var resp *fs.RmdirContentsResponse
	resp, err := m.Fs.RmdirContents(ctx, &fs.RmdirContentsRequest{Path: path})
	if err != nil {
		return fmt.Errorf("empty %v: %w", resp, err)
	}
	return nil
}

// usage is the size and use of the volume that holds a path.
func (m *mounter) usage(ctx context.Context, path string) (total, used int64, err error) {
	var closest *volume.GetClosestVolumeIDFromTargetPathResponse
	closest, err = m.Volume.GetClosestVolumeIDFromTargetPath(ctx, &volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: path})
	if err != nil {
		return 0, 0, err
	}
	var stats *volume.GetVolumeStatsResponse
	stats, err = m.Volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: closest.VolumeID})
	return stats.TotalBytes, stats.UsedBytes, err
}

// expand grows a volume to what its disk allows.
func (m *mounter) expand(ctx context.Context, volumeID string) error {
	var resp *volume.ResizeVolumeResponse
	resp, err := m.Volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: volumeID, SizeBytes: 0})
	if err != nil {
		return fmt.Errorf("resize %v: %w", resp, err)
	}
	return nil
}

// unstage writes, unmounts, and takes the disk offline.
func (m *mounter) unstage(ctx context.Context, target string) error {
	volumeID, number, err := m.deviceOf(ctx, target)
	if err != nil {
		return err
	}
	var written *volume.WriteVolumeCacheResponse
	if written, err = m.Volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: volumeID}); err != nil {
		return fmt.Errorf("flush %v: %w", written, err)
	}
	var unmounted *volume.UnmountVolumeResponse
	if unmounted, err = m.Volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: volumeID, TargetPath: target}); err != nil {
		return fmt.Errorf("unmount %v: %w", unmounted, err)
	}
	if _, err = m.Fs.Rmdir(ctx, &fs.RmdirRequest{Path: target, Force: true}); err != nil {
		return err
	}
	return m.setOnline(ctx, number, false)
}

// nodeUUID is GetBIOSSerialNumber as vsphere reads a machine's id from it
// (consumers.md 1): "VMware-56 4d …" without blanks and dashes.
func (m *mounter) nodeUUID(ctx context.Context) (string, error) {
	var resp *system.GetBIOSSerialNumberResponse
	resp, err := m.System.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("VMware-", "", " ", "", "-", "").Replace(resp.SerialNumber), nil
}

// ensureService starts a service unless it runs.
func (m *mounter) ensureService(ctx context.Context, name string) error {
	var found *system.GetServiceResponse
	found, err := m.System.GetService(ctx, &system.GetServiceRequest{Name: name})
	if err != nil {
		return err
	}
	if !startable(found.StartType) {
		return fmt.Errorf("%s cannot be started", found.DisplayName)
	}
	if active(found.Status) {
		return nil
	}
	var started *system.StartServiceResponse
	if started, err = m.System.StartService(ctx, &system.StartServiceRequest{Name: name}); err != nil {
		return fmt.Errorf("start %v: %w", started, err)
	}
	return nil
}

func startable(when system.StartType) bool {
	switch when {
	case system.START_TYPE_BOOT, system.START_TYPE_SYSTEM, system.START_TYPE_AUTOMATIC, system.START_TYPE_MANUAL:
		return true
	case system.START_TYPE_DISABLED:
	}
	return false
}

func active(status system.ServiceStatus) bool {
	switch status {
	case system.SERVICE_STATUS_START_PENDING, system.SERVICE_STATUS_RUNNING, system.SERVICE_STATUS_CONTINUE_PENDING,
		system.SERVICE_STATUS_PAUSE_PENDING, system.SERVICE_STATUS_PAUSED:
		return true
	case system.SERVICE_STATUS_UNKNOWN, system.SERVICE_STATUS_STOPPED, system.SERVICE_STATUS_STOP_PENDING:
	}
	return false
}

func (m *mounter) stopService(ctx context.Context, name string) error {
	var stopped *system.StopServiceResponse
	stopped, err := m.System.StopService(ctx, &system.StopServiceRequest{Name: name, Force: true})
	if err != nil {
		return fmt.Errorf("stop %v: %w", stopped, err)
	}
	return nil
}

// smbMount maps a share and links to it, as csi-driver-smb does, with the
// tolerance of democratic-csi (consumers.md 2.2).
func (m *mounter) smbMount(ctx context.Context, remote, local, user, password string) error {
	request := &smb.NewSMBGlobalMappingRequest{RemotePath: remote, LocalPath: local, Username: user, Password: password}
	var mapped *smb.NewSMBGlobalMappingResponse
	mapped, err := m.SMB.NewSMBGlobalMapping(ctx, request)
	if err != nil && strings.Contains(err.Error(), "ResourceExists") {
		link, linkErr := m.Fs.IsSymlink(ctx, &fs.IsSymlinkRequest{Path: local})
		if linkErr == nil && link.IsSymlink {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("smb mapping failed (%v): %w", mapped, err)
	}
	return nil
}

// smbUnmount is its reverse: unmap, and remove the link.
func (m *mounter) smbUnmount(ctx context.Context, remote, local string) error {
	var unmapped *smb.RemoveSMBGlobalMappingResponse
	unmapped, err := m.SMB.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: remote})
	if err != nil && !strings.Contains(err.Error(), "No MSFT_SmbGlobalMapping objects found") {
		return fmt.Errorf("smb unmapping failed (%v): %w", unmapped, err)
	}
	_, err = m.Fs.Rmdir(ctx, &fs.RmdirRequest{Path: local, Force: true})
	return err
}

// login brings the disks of an iSCSI target, as democratic-csi and Longhorn do
// (consumers.md 1).
func (m *mounter) login(ctx context.Context, address, iqn, user, secret string) ([]string, error) {
	portal := &iscsi.TargetPortal{TargetAddress: address, TargetPort: 3260}
	var added *iscsi.AddTargetPortalResponse
	added, err := m.ISCSI.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal})
	if err != nil {
		return nil, fmt.Errorf("add %v: %w", added, err)
	}
	var offered *iscsi.DiscoverTargetPortalResponse
	if offered, err = m.ISCSI.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal}); err != nil {
		return nil, fmt.Errorf("discover %v: %w", offered.IQNs, err)
	}
	var set *iscsi.SetMutualChapSecretResponse
	if set, err = m.ISCSI.SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "made-up-pass"}); err != nil {
		return nil, fmt.Errorf("secret %v: %w", set, err)
	}
	request := &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: iqn, AuthType: authType(secret), ChapUsername: user, ChapSecret: secret}
	var connected *iscsi.ConnectTargetResponse
	if connected, err = m.ISCSI.ConnectTarget(ctx, request); err != nil {
		return nil, fmt.Errorf("connect %v: %w", connected, err)
	}
	var disks *iscsi.GetTargetDisksResponse
	disks, err = m.ISCSI.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: iqn})
	return disks.DiskIDs, err
}

// authType is a type that its name tells too, as upstream's host API wants it.
func authType(secret string) iscsi.AuthenticationType {
	for _, kind := range []iscsi.AuthenticationType{iscsi.ONE_WAY_CHAP, iscsi.MUTUAL_CHAP} {
		if name, err := iscsi.AuthTypeToString(kind); err == nil && secret != "" && name == "ONEWAYCHAP" {
			return kind
		}
	}
	return iscsi.NONE
}

func (m *mounter) logout(ctx context.Context, iqn string) error {
	var listed *iscsi.ListTargetPortalsResponse
	listed, err := m.ISCSI.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
	if err != nil {
		return err
	}
	for _, portal := range listed.TargetPortals {
		var left *iscsi.DisconnectTargetResponse
		if left, err = m.ISCSI.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: iqn}); err != nil {
			return fmt.Errorf("disconnect %v: %w", left, err)
		}
		var removed *iscsi.RemoveTargetPortalResponse
		if removed, err = m.ISCSI.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: portal}); err != nil {
			return fmt.Errorf("remove %v of %s:%d: %w", removed, portal.TargetAddress, portal.TargetPort, err)
		}
	}
	return nil
}
