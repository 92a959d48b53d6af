// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
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

// criticalArea is a stretch of a disk that Windows needs.
type criticalArea struct {
	abi.DiskExtent
	reason string
}

// criticalSet is what Windows needs on this host. It is read-only once made.
type criticalSet struct {
	areas []criticalArea
	read  time.Time
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
			return fmt.Errorf("%w: disk %d holds %s", errdefs.ErrCriticalDisk, area.Disk, area.reason)
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
	return blocking.Join(ctx, s.calls, "reading of what Windows needs", func(ctx context.Context) (*criticalSet, error) {
		if set := s.critical.fresh(); set != nil {
			return set, nil
		}
		set, err := ask(ctx, s, "critical disks", "disks", s.readCritical)
		if err != nil {
			return nil, err
		}
		s.critical.mu.Lock()
		defer s.critical.mu.Unlock()
		s.critical.set = set
		return set, nil
	})
}

func (c *criticalCache) fresh() *criticalSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.set == nil || time.Since(c.set.read) >= criticalFor {
		return nil
	}
	return c.set
}

func (s *Storage) readCritical() (*criticalSet, error) {
	set := &criticalSet{read: time.Now()}
	for _, read := range []func(*criticalSet) error{s.readBoot, s.readSystem, s.readPageFiles, s.readClustered} {
		if err := read(set); err != nil {
			return nil, err
		}
	}
	return set, nil
}

func (s *Storage) readBoot(set *criticalSet) error {
	directory, err := s.host.System.WindowsDirectory()
	if err != nil {
		return fmt.Errorf("windows directory: %w", err)
	}
	return s.addDrive(set, directory, "the boot volume")
}

// addDrive adds the volume of a path's drive.
func (s *Storage) addDrive(set *criticalSet, path, reason string) error {
	if len(path) < 2 || path[1] != ':' {
		return fmt.Errorf("%w: %q names no drive", errdefs.ErrUnknownContent, path)
	}
	volume, err := s.host.Mounts.VolumeAt(path[:2] + `\`)
	if err != nil {
		return fmt.Errorf("volume of %s: %w", path[:2], err)
	}
	return s.addDevice(set, strings.TrimSuffix(volume, `\`), reason)
}

func (s *Storage) addDevice(set *criticalSet, device, reason string) (err error) {
	d, err := s.host.Devices.Open(device, win.NoAccess)
	if err != nil {
		return fmt.Errorf("%s: %w", reason, err)
	}
	defer closing(d, &err)
	return set.add(d, reason)
}

// add needs at least one extent: a volume on no disk tells nothing.
func (set *criticalSet) add(d win.Device, reason string) error {
	on, err := extents(d)
	if err != nil {
		return fmt.Errorf("%s: %w", reason, err)
	}
	if len(on) == 0 {
		return fmt.Errorf("%w: %s is on no disk", errdefs.ErrUnknownContent, reason)
	}
	for _, e := range on {
		set.areas = append(set.areas, criticalArea{e, reason})
	}
	return nil
}

// readSystem reads the partition that the machine starts from, as a device
// name: \Device\HarddiskVolume1.
func (s *Storage) readSystem(set *criticalSet) error {
	value, err := s.host.System.RegistryValue(`SYSTEM\Setup`, "SystemPartition")
	if err != nil {
		return fmt.Errorf("system partition: %w", err)
	}
	for _, device := range registryStrings(value) {
		if err := s.addDevice(set, `\\?\GLOBALROOT`+device, "the system partition"); err != nil {
			return err
		}
	}
	return nil
}

// readPageFiles reads paths like \??\C:\pagefile.sys. A host may have none.
func (s *Storage) readPageFiles(set *criticalSet) error {
	value, err := s.host.System.RegistryValue(`SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management`, "ExistingPageFiles")
	if errors.Is(err, win.ERROR_FILE_NOT_FOUND) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("page files: %w", err)
	}
	for _, path := range registryStrings(value) {
		if err := s.addDrive(set, strings.TrimPrefix(path, `\??\`), "a page file"); err != nil {
			return err
		}
	}
	return nil
}

// registryStrings are the strings of a REG_SZ or REG_MULTI_SZ value.
func registryStrings(value win.RegistryValue) []string {
	return strings.FieldsFunc(abi.DecodeUTF16(value.Data), func(r rune) bool { return r == 0 })
}

func (s *Storage) readClustered(set *criticalSet) error {
	volumes, err := s.host.Mounts.Volumes()
	if err != nil {
		return fmt.Errorf("volumes: %w", err)
	}
	for _, volume := range volumes {
		if err := s.addClustered(set, volume); err != nil && !isGone(err) {
			return fmt.Errorf("volume %s: %w", volume, err)
		}
	}
	return nil
}

func (s *Storage) addClustered(set *criticalSet, volume string) (err error) {
	d, err := s.host.Devices.Open(strings.TrimSuffix(volume, `\`), win.NoAccess)
	if err != nil {
		return err
	}
	defer closing(d, &err)
	_, err = control(d, abi.IOCTL_VOLUME_IS_CLUSTERED, nil, 0)
	switch {
	case err == nil:
		return set.add(d, "a clustered volume")
	case unsupported(err), errors.Is(err, win.ERROR_GEN_FAILURE):
		return nil // the driver says no; which code it uses is not documented
	}
	return err
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
