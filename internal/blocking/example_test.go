// SPDX-License-Identifier: Apache-2.0

package blocking_test

import (
	"context"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// A change of a disk: callers share it, its lock lives as long as it does, its
// questions may be left behind, and the step that writes is not cut off.
func ExampleJoin() {
	host := &win.Host{}
	calls, locks := blocking.On(host), keylock.On(host)

	grow := func(ctx context.Context) (size int64, err error) {
		unlock, err := locks.Lock(ctx, keylock.Disk("3"))
		if err != nil {
			return 0, err
		}
		defer unlock()

		size, err = blocking.Do(ctx, calls, blocking.Call{Kind: "size", Object: "disk 3", Group: "disk 3"},
			func() (int64, error) { return 10 << 30, nil })
		if err != nil {
			return 0, err
		}
		return blocking.Finish(ctx, calls, blocking.Call{Kind: "grow", Object: "disk 3", Group: "disk 3"},
			func() (int64, error) { return size, nil })
	}

	ctx, cancel := blocking.WithBudget(context.Background(), blocking.LongBudget)
	defer cancel()
	size, err := blocking.Join(ctx, calls, "growing disk 3", grow)
	fmt.Println(size, err)
	// Output: 10737418240 <nil>
}
