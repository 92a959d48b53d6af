// SPDX-License-Identifier: Apache-2.0

package disk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// A Disk and a Volume from separate constructors exclude each other on one disk,
// also where the change of one hangs and its caller has left (docs/architecture.md).
func TestDiskAndVolumeExcludeEachOther(t *testing.T) {
	for name, abandoned := range map[string]bool{"running": false, "abandoned": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { formatHangs(t, abandoned) })
		})
	}
}

func formatHangs(t *testing.T, abandoned bool) {
	node := nodeWith(t, blank(), lettered("other", ""))
	if err := partition(t.Context(), node, 1); err != nil {
		t.Fatal(err)
	}
	formatting, release := make(chan struct{}), make(chan struct{})
	node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_Volume.Format") {
			close(formatting)
			<-release
		}
		return do()
	})

	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	formatted := make(chan error, 1)
	go func() { formatted <- format(ctx, node, volumeOf(t, node, "data")) }()
	<-formatting
	if abandoned {
		leave()
		if err := <-formatted; errdefs.KindOf(err) != errdefs.Canceled {
			t.Errorf("got %v", err)
		}
	}

	before := node.Snapshot()
	for call, run := range diskWide {
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		err := run(brief, group(node), 1)
		cancel()
		if errdefs.KindOf(err) != errdefs.DeadlineExceeded {
			t.Errorf("%s: %v", call, err)
		}
	}
	wantUnchanged(t, node, before)
	if err := diskWide["SetDiskState offline"](t.Context(), group(node), 2); err != nil {
		t.Errorf("the other disk: %v", err)
	}
	if _, err := group(node).GetDiskState(t.Context(), &disk.GetDiskStateRequest{DiskNumber: 1}); err != nil {
		t.Errorf("a question: %v", err)
	}

	close(release)
	if !abandoned {
		if err := <-formatted; err != nil {
			t.Error(err)
		}
	}
	if err := diskWide["SetDiskState offline"](t.Context(), group(node), 1); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if got := state(t, node); got != "offline" {
		t.Errorf("disk 1 is %s", got)
	}
	if lines := facts(node, `volume \\?\Volume`); !strings.Contains(strings.Join(lines, "\n"), `file system: NTFS ""`) {
		t.Errorf("not formatted:\n%s", strings.Join(lines, "\n"))
	}
	if err := blocking.On(node.Host()).Clean(); err != nil {
		t.Error(err)
	}
}

// Who wants the opposite of what is being done waits for its end and does not
// join it.
func TestOppositeChanges(t *testing.T) {
	for _, c := range []struct{ before, first, then, want string }{
		{"online", "SetDiskState offline", "SetDiskState online", "online"},
		{"offline", "SetDiskState online", "SetDiskState offline", "offline"},
		{"online", "SetReadOnly", "SetReadOnly writable", "online"},
		{"online, read-only", "SetReadOnly writable", "SetReadOnly", "online, read-only"},
	} {
		t.Run(c.first, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := nodeWith(t, blankWith(func(d *simhost.DiskSpec) {
					d.Offline, d.ReadOnly = c.before == "offline", strings.HasSuffix(c.before, "read-only")
				}))
				held, release := make(chan struct{}, 2), make(chan struct{})
				node.OnCall(func(call simhost.Call, do func() error) error {
					if call.Code == abi.IOCTL_DISK_SET_DISK_ATTRIBUTES {
						held <- struct{}{}
						<-release
					}
					return do()
				})
				ended := make(chan error, 2)
				go func() { ended <- diskWide[c.first](t.Context(), group(node), 1) }()
				<-held
				go func() { ended <- diskWide[c.then](t.Context(), group(node), 1) }()
				synctest.Wait()
				close(release)
				if err := errors.Join(<-ended, <-ended); err != nil {
					t.Error(err)
				}
				if got := state(t, node); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		})
	}
}

func format(ctx context.Context, node *simhost.Node, id string) error {
	v, _ := volume.New(node.Volume())
	_, err := v.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
	return err
}
