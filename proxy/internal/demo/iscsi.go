// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

const iscsiIntro = `A disk of an iSCSI target on a simulated Windows node, staged and recovered after a reboot. Below
each step stand what changed on the node (+ new, - gone, ~ changed) and the step's calls at the
boundary of Windows.
`

// ISCSI shows the disk of an iSCSI target, through a reboot of the node while the
// target's portal does not answer.
func ISCSI(ctx context.Context, out io.Writer) error {
	if _, err := io.WriteString(out, iscsiIntro+"\n"); err != nil {
		return err
	}
	l, err := newLogin()
	if err != nil {
		return err
	}
	defer func() { l.node.Close() }()
	for i, s := range iscsiSteps {
		before := l.node.Snapshot()
		l.node.Calls().Reset()
		said, err := s.run(l, ctx)
		if err != nil {
			return fmt.Errorf("step %s: %w", s.name, err)
		}
		report := stepReport(i+1, s.name, said, simhost.Diff(before, l.node.Snapshot()), countCalls(l.node.Calls()))
		if _, err := io.WriteString(out, report); err != nil {
			return err
		}
	}
	return nil
}

// login is the node, and the driver that logs in from it.
type login struct {
	node   *simhost.Node
	system *system.System
	iscsi  *iscsi.ISCSI
	disk   *disk.Disk
	volume *volume.Volume
	files  *filesystem.Filesystem

	number   uint32 // of the disk
	volumeID string
}

const (
	sanPortal = "10.0.0.10:3260"
	sanTarget = "iqn.2020-01.example.san:data"
	sanSecret = "averylongsecret"
)

func newLogin() (*login, error) {
	node, err := simhost.New(simhost.NodeSpec{
		Version: simhost.SpecVersion, Name: "iscsi", Directories: []string{plugins}, SANPolicy: simhost.OfflineShared,
		ISCSI: &simhost.ISCSISpec{
			Portals: []simhost.ISCSIPortalSpec{{Address: "10.0.0.10"}},
			Targets: []simhost.ISCSITargetSpec{{
				Name: sanTarget, User: "node1", Secret: sanSecret, Arrival: simhost.Duration(300 * time.Millisecond),
				LUNs: []simhost.DiskSpec{{Name: "data", Size: 10 * simhost.GiB, Vendor: "SAN     ", Product: "Virtual LUN     ", Serial: "6000c290"}},
			}},
		},
	})
	if err != nil {
		return nil, err
	}
	l := &login{node: node}
	return l, l.start()
}

// start makes the driver's groups.
func (l *login) start() error {
	var errs [5]error
	l.system, errs[0] = system.New(l.node.System())
	l.iscsi, errs[1] = iscsi.New(l.node.ISCSI())
	l.disk, errs[2] = disk.New(l.node.Disk())
	l.volume, errs[3] = volume.New(l.node.Volume())
	l.files, errs[4] = filesystem.New(l.node.Filesystem())
	return errors.Join(errs[:]...)
}

func (l *login) portal() *iscsi.TargetPortal {
	return &iscsi.TargetPortal{TargetAddress: "10.0.0.10", TargetPort: 3260}
}

func (l *login) service(ctx context.Context) error {
	_, err := l.system.StartService(ctx, &system.StartServiceRequest{Name: "MSiSCSI"})
	return err
}

func (l *login) add(ctx context.Context) error {
	_, err := l.iscsi.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: l.portal()})
	return err
}

func (l *login) connect(ctx context.Context, secret string) error {
	_, err := l.iscsi.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
		TargetPortal: l.portal(), IQN: sanTarget, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: "node1", ChapSecret: secret,
	})
	return err
}

func (l *login) disconnect(ctx context.Context) error {
	_, err := l.iscsi.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: l.portal(), IQN: sanTarget})
	return err
}

// find waits for the disk.
func (l *login) find(ctx context.Context) error {
	resp, err := l.iscsi.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: l.portal(), IQN: sanTarget})
	if err != nil {
		return err
	}
	if len(resp.DiskIDs) != 1 {
		return fmt.Errorf("%d disks: %s", len(resp.DiskIDs), strings.Join(resp.DiskIDs, ", "))
	}
	number, err := strconv.ParseUint(resp.DiskIDs[0], 10, 32)
	l.number = uint32(number)
	return err
}

// prepare brings the disk online and finds its volume, which it makes where
// there is none.
func (l *login) prepare(ctx context.Context) error {
	if _, err := l.disk.EnsureOnlineWritable(ctx, &disk.EnsureOnlineWritableRequest{DiskNumber: l.number}); err != nil {
		return err
	}
	if _, err := l.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: l.number}); err != nil {
		return err
	}
	resp, err := l.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: l.number})
	if err != nil {
		return err
	}
	l.volumeID = resp.VolumeIDs[0]
	formatted, err := l.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: l.volumeID})
	if err != nil || formatted.Formatted {
		return err
	}
	_, err = l.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: l.volumeID})
	return err
}

const sanMount = plugins + `\san`

func (l *login) mount(ctx context.Context) error {
	if _, err := l.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: sanMount}); err != nil {
		return err
	}
	_, err := l.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: l.volumeID, TargetPath: sanMount})
	return err
}

// stage does all of it, as for every volume that kubelet wants.
func (l *login) stage(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		l.service, l.add, func(ctx context.Context) error { return l.connect(ctx, sanSecret) }, l.find, l.prepare, l.mount,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *login) unstage(ctx context.Context) error {
	if _, err := l.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: l.volumeID, TargetPath: sanMount}); err != nil {
		return err
	}
	if _, err := l.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: sanMount}); err != nil {
		return err
	}
	if _, err := l.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: l.number}); err != nil {
		return err
	}
	return l.disconnect(ctx)
}

var iscsiSteps = []struct {
	name string
	run  func(*login, context.Context) (string, error)
}{
	{"stopped", func(l *login, ctx context.Context) (string, error) {
		return failing("a new Windows Server does not run the initiator: ", errdefs.ErrISCSIStopped, l.add(ctx))
	}},
	{"service", func(l *login, ctx context.Context) (string, error) {
		return "its service is started", l.service(ctx)
	}},
	{"portal", func(l *login, ctx context.Context) (string, error) {
		return "the portal is registered and asked for its targets", l.add(ctx)
	}},
	{"mistake", func(l *login, ctx context.Context) (string, error) {
		return failing("the target does not take another secret: ", errdefs.ErrPermissionDenied, l.connect(ctx, "anothersecret"))
	}},
	{"connect", func(l *login, ctx context.Context) (string, error) {
		return "it takes the right one; the disk is on its way", l.connect(ctx, sanSecret)
	}},
	{"disk", func(l *login, ctx context.Context) (string, error) {
		err := l.find(ctx)
		return fmt.Sprintf("the target's disk arrives: it is disk %d", l.number), err
	}},
	{"prepare", func(l *login, ctx context.Context) (string, error) {
		return "the SAN policy left it offline: online, partitioned, formatted", l.prepare(ctx)
	}},
	{"mount", func(l *login, ctx context.Context) (string, error) { return "and mounted", l.mount(ctx) }},
	{"again", func(l *login, ctx context.Context) (string, error) {
		return "staged again, nothing is done", l.stage(ctx)
	}},
	{"in use", func(l *login, ctx context.Context) (string, error) {
		return failing("a logout while the volume is mounted is refused: ", errdefs.ErrISCSIInUse, l.disconnect(ctx))
	}},
	{"reboot", func(l *login, ctx context.Context) (string, error) {
		if err := l.node.SetISCSIPortal(sanPortal, false); err != nil {
			return "", err
		}
		l.node.Reboot()
		if err := l.start(); err != nil {
			return "", err
		}
		return failing("the node reboots while the portal does not answer. The session is gone, the mount point dangles: ", errdefs.ErrUnavailable, l.stage(ctx))
	}},
	{"recover", func(l *login, ctx context.Context) (string, error) {
		if err := l.node.SetISCSIPortal(sanPortal, true); err != nil {
			return "", err
		}
		return "the portal answers: the same calls end where they ended before, and nothing is formatted", l.stage(ctx)
	}},
	{"unstage", func(l *login, ctx context.Context) (string, error) {
		return "unmounted, the disk taken offline, logged out", l.unstage(ctx)
	}},
}

// failing is what is said of an error that must come.
func failing(said string, want, err error) (string, error) {
	if !errors.Is(err, want) {
		return "", fmt.Errorf("not %w: %w", want, errors.Join(err, errdefs.ErrInternal))
	}
	return said + err.Error(), nil
}
