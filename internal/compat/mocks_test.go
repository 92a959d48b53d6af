// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// Mocks with exactly upstream's methods, as drivers' tests have them, are
// Interfaces: these have not grown.
var (
	_ disk.Interface   = diskMock{}
	_ fs.Interface     = fsMock{}
	_ volume.Interface = volumeMock{}
	_ iscsi.Interface  = iscsiMock{}
	_ smb.Interface    = smbMock{}
	_ system.Interface = systemMock{}
)

type diskMock struct{}

func (diskMock) GetDiskState(context.Context, *disk.GetDiskStateRequest) (*disk.GetDiskStateResponse, error) {
	return nil, nil
}

func (diskMock) GetDiskStats(context.Context, *disk.GetDiskStatsRequest) (*disk.GetDiskStatsResponse, error) {
	return nil, nil
}

func (diskMock) ListDiskIDs(context.Context, *disk.ListDiskIDsRequest) (*disk.ListDiskIDsResponse, error) {
	return nil, nil
}

func (diskMock) ListDiskLocations(context.Context, *disk.ListDiskLocationsRequest) (*disk.ListDiskLocationsResponse, error) {
	return nil, nil
}

func (diskMock) PartitionDisk(context.Context, *disk.PartitionDiskRequest) (*disk.PartitionDiskResponse, error) {
	return nil, nil
}

func (diskMock) Rescan(context.Context, *disk.RescanRequest) (*disk.RescanResponse, error) {
	return nil, nil
}

func (diskMock) SetDiskState(context.Context, *disk.SetDiskStateRequest) (*disk.SetDiskStateResponse, error) {
	return nil, nil
}

type fsMock struct{}

func (fsMock) CreateSymlink(context.Context, *fs.CreateSymlinkRequest) (*fs.CreateSymlinkResponse, error) {
	return nil, nil
}

func (fsMock) IsSymlink(context.Context, *fs.IsSymlinkRequest) (*fs.IsSymlinkResponse, error) {
	return nil, nil
}

func (fsMock) Mkdir(context.Context, *fs.MkdirRequest) (*fs.MkdirResponse, error) {
	return nil, nil
}

func (fsMock) PathExists(context.Context, *fs.PathExistsRequest) (*fs.PathExistsResponse, error) {
	return nil, nil
}

func (fsMock) PathValid(context.Context, *fs.PathValidRequest) (*fs.PathValidResponse, error) {
	return nil, nil
}

func (fsMock) Rmdir(context.Context, *fs.RmdirRequest) (*fs.RmdirResponse, error) {
	return nil, nil
}

func (fsMock) RmdirContents(context.Context, *fs.RmdirContentsRequest) (*fs.RmdirContentsResponse, error) {
	return nil, nil
}

type volumeMock struct{}

func (volumeMock) FormatVolume(context.Context, *volume.FormatVolumeRequest) (*volume.FormatVolumeResponse, error) {
	return nil, nil
}

func (volumeMock) GetClosestVolumeIDFromTargetPath(context.Context, *volume.GetClosestVolumeIDFromTargetPathRequest) (*volume.GetClosestVolumeIDFromTargetPathResponse, error) {
	return nil, nil
}

func (volumeMock) GetDiskNumberFromVolumeID(context.Context, *volume.GetDiskNumberFromVolumeIDRequest) (*volume.GetDiskNumberFromVolumeIDResponse, error) {
	return nil, nil
}

func (volumeMock) GetVolumeIDFromTargetPath(context.Context, *volume.GetVolumeIDFromTargetPathRequest) (*volume.GetVolumeIDFromTargetPathResponse, error) {
	return nil, nil
}

func (volumeMock) GetVolumeStats(context.Context, *volume.GetVolumeStatsRequest) (*volume.GetVolumeStatsResponse, error) {
	return nil, nil
}

func (volumeMock) IsVolumeFormatted(context.Context, *volume.IsVolumeFormattedRequest) (*volume.IsVolumeFormattedResponse, error) {
	return nil, nil
}

func (volumeMock) ListVolumesOnDisk(context.Context, *volume.ListVolumesOnDiskRequest) (*volume.ListVolumesOnDiskResponse, error) {
	return nil, nil
}

func (volumeMock) MountVolume(context.Context, *volume.MountVolumeRequest) (*volume.MountVolumeResponse, error) {
	return nil, nil
}

func (volumeMock) ResizeVolume(context.Context, *volume.ResizeVolumeRequest) (*volume.ResizeVolumeResponse, error) {
	return nil, nil
}

func (volumeMock) UnmountVolume(context.Context, *volume.UnmountVolumeRequest) (*volume.UnmountVolumeResponse, error) {
	return nil, nil
}

func (volumeMock) WriteVolumeCache(context.Context, *volume.WriteVolumeCacheRequest) (*volume.WriteVolumeCacheResponse, error) {
	return nil, nil
}

type systemMock struct{}

func (systemMock) GetBIOSSerialNumber(context.Context, *system.GetBIOSSerialNumberRequest) (*system.GetBIOSSerialNumberResponse, error) {
	return nil, nil
}

func (systemMock) GetService(context.Context, *system.GetServiceRequest) (*system.GetServiceResponse, error) {
	return nil, nil
}

func (systemMock) StartService(context.Context, *system.StartServiceRequest) (*system.StartServiceResponse, error) {
	return nil, nil
}

func (systemMock) StopService(context.Context, *system.StopServiceRequest) (*system.StopServiceResponse, error) {
	return nil, nil
}

type smbMock struct{}

func (smbMock) NewSMBGlobalMapping(context.Context, *smb.NewSMBGlobalMappingRequest) (*smb.NewSMBGlobalMappingResponse, error) {
	return nil, nil
}

func (smbMock) RemoveSMBGlobalMapping(context.Context, *smb.RemoveSMBGlobalMappingRequest) (*smb.RemoveSMBGlobalMappingResponse, error) {
	return nil, nil
}

type iscsiMock struct{}

func (iscsiMock) AddTargetPortal(context.Context, *iscsi.AddTargetPortalRequest) (*iscsi.AddTargetPortalResponse, error) {
	return nil, nil
}

func (iscsiMock) ConnectTarget(context.Context, *iscsi.ConnectTargetRequest) (*iscsi.ConnectTargetResponse, error) {
	return nil, nil
}

func (iscsiMock) DisconnectTarget(context.Context, *iscsi.DisconnectTargetRequest) (*iscsi.DisconnectTargetResponse, error) {
	return nil, nil
}

func (iscsiMock) DiscoverTargetPortal(context.Context, *iscsi.DiscoverTargetPortalRequest) (*iscsi.DiscoverTargetPortalResponse, error) {
	return nil, nil
}

func (iscsiMock) GetTargetDisks(context.Context, *iscsi.GetTargetDisksRequest) (*iscsi.GetTargetDisksResponse, error) {
	return nil, nil
}

func (iscsiMock) ListTargetPortals(context.Context, *iscsi.ListTargetPortalsRequest) (*iscsi.ListTargetPortalsResponse, error) {
	return nil, nil
}

func (iscsiMock) RemoveTargetPortal(context.Context, *iscsi.RemoveTargetPortalRequest) (*iscsi.RemoveTargetPortalResponse, error) {
	return nil, nil
}

func (iscsiMock) SetMutualChapSecret(context.Context, *iscsi.SetMutualChapSecretRequest) (*iscsi.SetMutualChapSecretResponse, error) {
	return nil, nil
}
