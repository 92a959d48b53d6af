// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// IsVolumeFormatted says whether Windows has mounted a file system on a volume.
// Only a volume that Windows calls RAW, and whose first 2 MiB and last 1 MiB
// hold no signature, is not formatted; one that holds something else is
// ErrForeignContent or ErrDamaged, one that cannot be read ErrUnknownContent or
// what Windows says. So an error never reads as "format it".
func (v *Volume) IsVolumeFormatted(ctx context.Context, req *IsVolumeFormattedRequest) (*IsVolumeFormattedResponse, error) {
	const op = "volume.IsVolumeFormatted"
	resp := &IsVolumeFormattedResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	resp.Formatted, err = v.isFormatted(ctx, id)
	return resp, errdefs.Wrap(op, req.VolumeID, err)
}

func (v *Volume) isFormatted(ctx context.Context, id hostapi.VolumeID) (bool, error) {
	if is, err := v.isMounted(ctx, id); is || err != nil {
		return is, err
	}
	content, err := v.host.ProbeVolume(ctx, id)
	if err != nil || content.Clean() {
		return false, err
	}
	// It may have been formatted since Windows called it RAW.
	if is, err := v.isMounted(ctx, id); is || err != nil {
		return is, err
	}
	return false, content.Err()
}

// isMounted: Windows knows the volume's file system.
func (v *Volume) isMounted(ctx context.Context, id hostapi.VolumeID) (bool, error) {
	fileSystem, err := v.host.FileSystem(ctx, id)
	return fileSystem != "", err
}

// FormatVolume formats a volume as the request says; the zero values stand for
// NTFS, quickly, with the default allocation unit and no label. What Windows
// cannot format with, ext4 say, is InvalidArgument and names what it can
// (field-reports.md V14). A file system that Windows has mounted is lost: naming
// such a volume means to wipe it. Content that Windows does not recognise is
// ErrForeignContent or ErrDamaged unless Overwrite allows it to be lost; what
// cannot be read is never overwritten. The boot, system, page file and
// clustered volumes are ErrCriticalDisk.
//
// It blocks until the volume is formatted or ctx ends. Once begun, formatting
// runs to its end; calls that ask for the same meanwhile join it, and never
// format a second time.
func (v *Volume) FormatVolume(ctx context.Context, req *FormatVolumeRequest) (*FormatVolumeResponse, error) {
	const op = "volume.FormatVolume"
	resp := &FormatVolumeResponse{}
	if req == nil {
		return resp, errdefs.NilRequest(op)
	}
	id, err := parseID(op, req.VolumeID)
	if err != nil {
		return resp, err
	}
	format, err := formatOf(req)
	if err != nil {
		return resp, errdefs.Wrap(op, req.VolumeID, err)
	}
	change := fmt.Sprintf("format %+v", format)
	if req.Overwrite {
		change += " with Overwrite"
	}
	err = v.host.ChangeVolume(ctx, id, change, true, func(ctx context.Context, on []hostapi.Extent) error {
		if err := v.host.CheckVolumeNotCritical(ctx, on); err != nil {
			return err
		}
		return v.format(ctx, id, on, format, req.Overwrite)
	})
	return resp, errdefs.Wrap(op, req.VolumeID, err)
}

// format needs the locks.
func (v *Volume) format(ctx context.Context, id hostapi.VolumeID, on []hostapi.Extent, format hostapi.Format, overwrite bool) error {
	mounted, err := v.isMounted(ctx, id)
	if err != nil {
		return err
	}
	if !mounted {
		content, err := v.host.ProbeVolume(ctx, id)
		if err != nil {
			return err
		}
		if err := content.Err(); err != nil && !overwrite {
			return err
		}
	}
	format.Force = mounted
	return v.host.FormatVolume(ctx, id, on, format)
}
