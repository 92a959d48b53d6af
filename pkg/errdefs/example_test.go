// SPDX-License-Identifier: Apache-2.0

package errdefs_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// openFails is an error of the library: that of a disk that cannot be opened.
func openFails() error {
	node, err := simhost.New(simhost.NodeSpec{Version: simhost.SpecVersion, Disks: []simhost.DiskSpec{simhost.BootDisk()}})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	disks, err := disk.New(node.Disk())
	if err != nil {
		log.Fatal(err)
	}
	denied := errdefs.Native{Facility: errdefs.Win32, Code: 5}.Err()
	node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "Devices.Open" {
			return denied
		}
		return do()
	})
	_, err = disks.GetDiskStats(context.Background(), &disk.GetDiskStatsRequest{DiskNumber: 0})
	return err
}

// An error tells its kind, whatever layers are around it, and keeps the code
// that Windows gave.
func Example() {
	err := fmt.Errorf("stage volume: %w", openFails())
	fmt.Println(errors.Is(err, errdefs.ErrPermissionDenied), errdefs.KindOf(err))

	native, ok := errdefs.NativeOf(err)
	fmt.Println(native, ok)

	var e *errdefs.Error
	if errors.As(err, &e) {
		fmt.Printf("%s of %s\n", e.Op, e.Subject)
	}
	// Output:
	// true PermissionDenied
	// win32 5 true
	// disk.GetDiskStats of disk 0
}

// A reason is of a kind, and errors.Is finds both.
func ExampleKindOf() {
	err := errdefs.ErrDiskOffline
	fmt.Println(errdefs.KindOf(err), errors.Is(err, errdefs.ErrFailedPrecondition))
	fmt.Println(errdefs.KindOf(context.DeadlineExceeded))
	fmt.Println(errdefs.KindOf(errors.New("another library's error")))
	fmt.Println(errdefs.KindOf(nil))
	// Output:
	// FailedPrecondition true
	// DeadlineExceeded
	// Internal
	// None
}
