// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// What Windows needs changes rarely; it is read again after this time.
const criticalFor = 60 * time.Second

// criticalArea is a stretch of a disk that Windows needs, or may need.
type criticalArea struct {
	abi.DiskExtent
	reason string
	unsure error // why that could not be told, or nil
}

func (a criticalArea) err() error {
	if a.unsure != nil {
		return fmt.Errorf("cannot tell whether disk %d holds %s: %w", a.Disk, a.reason, a.unsure)
	}
	return fmt.Errorf("%w: disk %d holds %s", errdefs.ErrCriticalDisk, a.Disk, a.reason)
}

// criticalSet is what Windows needs on this host. It is read-only once made.
type criticalSet struct {
	areas    []criticalArea
	complete bool // nothing was left open that another look may tell
	read     time.Time
}

type criticalCache struct {
	mu  sync.Mutex
	set *criticalSet
}

// CheckNotCritical fails with ErrCriticalDisk where a part of the disk belongs
// to the boot or system volume, holds a page file, or is clustered; and where
// what Windows needs cannot be told.
func (s *Storage) CheckNotCritical(ctx context.Context, number uint32) error {
	return s.checkNotCritical(ctx, func(a criticalArea) bool { return a.Disk == number })
}

// CheckVolumeNotCritical is CheckNotCritical for the extents of one volume: a
// data partition beside Windows passes.
func (s *Storage) CheckVolumeNotCritical(ctx context.Context, extents []abi.DiskExtent) error {
	return s.checkNotCritical(ctx, func(a criticalArea) bool {
		for _, e := range extents {
			if a.Disk == e.Disk && a.Offset < e.Offset+e.Length && e.Offset < a.Offset+a.Length {
				return true
			}
		}
		return false
	})
}

func (s *Storage) checkNotCritical(ctx context.Context, needed func(criticalArea) bool) error {
	set, err := s.criticalSet(ctx)
	if err != nil {
		return fmt.Errorf("cannot tell what Windows needs, so nothing is changed: %w", err)
	}
	for _, area := range set.areas {
		if needed(area) {
			return area.err()
		}
	}
	return nil
}

func (s *Storage) criticalSet(ctx context.Context) (*criticalSet, error) {
	if set := s.critical.fresh(); set != nil {
		return set, nil
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	return blocking.Join(ctx, s.calls, "reading of what Windows needs", s.renewCritical)
}

// renewCritical reads what Windows needs, if nobody has done so meanwhile.
func (s *Storage) renewCritical(ctx context.Context) (*criticalSet, error) {
	if set := s.critical.fresh(); set != nil {
		return set, nil
	}
	set, err := s.readCritical(ctx)
	if err != nil || !set.complete {
		return set, err
	}
	s.critical.mu.Lock()
	defer s.critical.mu.Unlock()
	s.critical.set = set
	return set, nil
}

func (c *criticalCache) fresh() *criticalSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil || time.Since(c.set.read) >= criticalFor {
		return nil
	}
	return c.set
}

// readCritical reads what Windows needs. Its own volumes must all be told; a
// data disk that hangs must not keep the others from changing.
func (s *Storage) readCritical(ctx context.Context) (*criticalSet, error) {
	set := &criticalSet{read: time.Now()}
	var err error
	if set.areas, err = ask(ctx, s, "critical disks", "disks", s.readOwn); err != nil {
		return nil, err
	}
	clustered, complete, err := s.readClustered(ctx)
	set.areas, set.complete = append(set.areas, clustered...), complete
	return set, err
}

// readOwn reads the boot volume, the system partition and the page files.
func (s *Storage) readOwn() ([]criticalArea, error) {
	var all []criticalArea
	for _, read := range []func() ([]criticalArea, error){s.readBoot, s.readSystem, s.readPageFiles} {
		areas, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, areas...)
	}
	return all, nil
}

func (s *Storage) readBoot() ([]criticalArea, error) {
	directory, err := s.host.System.WindowsDirectory()
	if err != nil {
		return nil, fmt.Errorf("windows directory: %w", err)
	}
	return s.areasAt(directory, "the boot volume")
}

// areasAt are the areas of the volume of a path: C:\pagefile.sys, or without a
// drive letter Volume{guid}\pagefile.sys.
func (s *Storage) areasAt(path, reason string) ([]criticalArea, error) {
	root, _, _ := strings.Cut(path, `\`)
	if strings.HasPrefix(root, "Volume{") {
		return s.areasOf(`\\?\`+root, reason)
	}
	if len(root) != 2 || root[1] != ':' {
		return nil, fmt.Errorf("%w: %s: %q names no drive", errdefs.ErrUnknownContent, reason, path)
	}
	volume, err := s.host.Mounts.VolumeAt(root + `\`)
	if err != nil {
		return nil, fmt.Errorf("%s: volume of %s: %w", reason, root, err)
	}
	return s.areasOf(strings.TrimSuffix(volume, `\`), reason)
}

// areasOf are the areas of a volume's device.
func (s *Storage) areasOf(device, reason string) (areas []criticalArea, err error) {
	d, err := s.host.Devices.Open(device, win.NoAccess)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reason, err)
	}
	defer closing(d, &err)
	return areasBehind(d, reason)
}

// areasBehind needs at least one extent: a volume on no disk tells nothing.
func areasBehind(d win.Device, reason string) ([]criticalArea, error) {
	on, err := extents(d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reason, err)
	}
	if len(on) == 0 {
		return nil, fmt.Errorf("%w: %s is on no disk", errdefs.ErrUnknownContent, reason)
	}
	areas := make([]criticalArea, len(on))
	for i, e := range on {
		areas[i] = criticalArea{DiskExtent: e, reason: reason}
	}
	return areas, nil
}

// readSystem reads the partition that the machine starts from, as a device
// name: \Device\HarddiskVolume1.
func (s *Storage) readSystem() ([]criticalArea, error) {
	const reason = "the system partition"
	value, err := s.host.System.RegistryValue(`SYSTEM\Setup`, "SystemPartition")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reason, err)
	}
	devices := registryStrings(value)
	if len(devices) != 1 {
		return nil, fmt.Errorf("%w: %s: the registry names %q", errdefs.ErrUnknownContent, reason, devices)
	}
	return s.areasOf(`\\?\GLOBALROOT`+devices[0], reason)
}

// readPageFiles reads paths like \??\C:\pagefile.sys. A host may have none.
func (s *Storage) readPageFiles() ([]criticalArea, error) {
	const reason = "a page file"
	value, err := s.host.System.RegistryValue(`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`, "ExistingPageFiles")
	if errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reason, err)
	}
	var all []criticalArea
	for _, path := range registryStrings(value) {
		areas, err := s.areasAt(strings.TrimPrefix(path, `\??\`), reason)
		if err != nil {
			return nil, err
		}
		all = append(all, areas...)
	}
	return all, nil
}

// registryStrings are the strings of a REG_SZ or REG_MULTI_SZ value.
func registryStrings(value win.RegistryValue) []string {
	return strings.FieldsFunc(abi.DecodeUTF16(value.Data), func(r rune) bool { return r == 0 })
}

// clusterBudget is how long one volume may take to say whether it is clustered.
const clusterBudget = 5 * time.Second

// readClustered asks every volume of the host. It is complete if all of them
// have answered.
func (s *Storage) readClustered(ctx context.Context) (areas []criticalArea, complete bool, err error) {
	volumes, err := ask(ctx, s, "list", "volumes", s.host.Mounts.Volumes)
	if err != nil {
		return nil, false, fmt.Errorf("clustered volumes: %w", err)
	}
	complete = true
	for _, answer := range each(volumes, func(volume string) clusterAnswer { return s.askClustered(ctx, volume) }) {
		areas = append(areas, answer.areas...)
		complete = complete && answer.told
	}
	return areas, complete, ctx.Err()
}

// clusterAnswer is what one volume has told. One that cannot even say where it
// is has no areas: the storage provider refuses clustered disks itself.
type clusterAnswer struct {
	areas []criticalArea
	told  bool
}

func (s *Storage) askClustered(ctx context.Context, volume string) clusterAnswer {
	ctx, cancel := context.WithTimeout(ctx, clusterBudget)
	defer cancel()
	areas, err := ask(ctx, s, "cluster state", volume, func() (areas []criticalArea, err error) {
		d, err := s.host.Devices.Open(strings.TrimSuffix(volume, `\`), win.NoAccess)
		if err != nil {
			return nil, err
		}
		defer closing(d, &err)
		return areasIfClustered(d)
	})
	unsure := slices.ContainsFunc(areas, func(a criticalArea) bool { return a.unsure != nil })
	return clusterAnswer{areas, !unsure && (err == nil || isGone(err))}
}

// areasIfClustered are the areas of a volume that is clustered or may be. Which
// code the driver uses to say no is not documented.
func areasIfClustered(d win.Device) ([]criticalArea, error) {
	_, unsure := control(d, abi.IOCTL_VOLUME_IS_CLUSTERED, nil, 0)
	if unsupported(unsure) || errors.Is(unsure, win.ERROR_GEN_FAILURE) {
		return nil, nil
	}
	areas, err := areasBehind(d, "a clustered volume")
	for i := range areas {
		areas[i].unsure = unsure
	}
	return areas, err
}

// isGone reports whether an error says that a volume or disk is not there any
// more, or not ready, as one is that has just been removed or taken offline
// (windows-api.md 7.1).
func isGone(err error) bool {
	for _, code := range []win.Errno{
		win.ERROR_FILE_NOT_FOUND, win.ERROR_PATH_NOT_FOUND, win.ERROR_NOT_READY,
		win.ERROR_NO_SUCH_DEVICE, win.ERROR_DEVICE_NOT_CONNECTED,
	} {
		if errors.Is(err, code) {
			return true
		}
	}
	return false
}
