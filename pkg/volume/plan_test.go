// SPDX-License-Identifier: Apache-2.0

package volume

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

const mib = 1 << 20

// VOL-23, VOL-25 to VOL-27, field-reports.md V02.
func TestPlanGrowth(t *testing.T) {
	now := hostapi.Growth{Partition: 100 * mib, Largest: 200 * mib, Sector: 4096}
	full := hostapi.Growth{Partition: 200 * mib, Largest: 200*mib + mib - 1, Sector: 512}
	for _, tt := range []struct {
		name   string
		now    hostapi.Growth
		wanted int64
		want   int64
		err    error
	}{
		{"0 is all", now, 0, 200 * mib, nil},
		{"0 with nothing to gain", full, 0, 200 * mib, nil},
		{"smaller", now, 1, 100 * mib, nil},
		{"the same", now, 100 * mib, 100 * mib, nil},
		{"less than 1 MiB more", now, 101*mib - 1, 100 * mib, nil},
		{"1 MiB more", now, 101 * mib, 101 * mib, nil},
		{"64 MiB more", now, 164 * mib, 164 * mib, nil},
		{"rounded up to a sector", now, 150*mib + 1, 150*mib + 4096, nil},
		{"all", now, 200 * mib, 200 * mib, nil},
		{"beyond", now, 200*mib + 1, 0, errdefs.ErrOutOfRange},
		{"far beyond", now, math.MaxInt64, 0, errdefs.ErrOutOfRange},
		{"beyond by less than 1 MiB", full, full.Partition + mib - 1, full.Partition, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := planGrowth(tt.now, tt.wanted)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("got %d, %v; want %d, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// A plan never shrinks, never exceeds what the disk allows, is whole sectors,
// and reaches what was asked for but for less than 1 MiB.
func TestPlanGrowth_Rules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sector := rapid.SampledFrom([]int64{512, 4096}).Draw(t, "sector")
		partition := rapid.Int64Range(1, 1<<40).Draw(t, "partition") * sector
		now := hostapi.Growth{
			Partition: partition,
			Largest:   partition + rapid.Int64Range(0, 1<<30).Draw(t, "free")*sector,
			Sector:    sector,
		}
		wanted := rapid.OneOf(
			rapid.Int64Range(0, math.MaxInt64),
			rapid.Int64Range(now.Partition, now.Largest+2*mib),
		).Draw(t, "wanted")
		got, err := planGrowth(now, wanted)
		if err != nil {
			if !errors.Is(err, errdefs.ErrOutOfRange) || wanted <= now.Largest {
				t.Fatal(err)
			}
			return
		}
		reached := wanted
		if wanted == 0 {
			reached = now.Largest
		}
		if got < now.Partition || got > now.Largest || got%sector != 0 || reached-got >= mib {
			t.Fatalf("got %d for %d of %+v", got, wanted, now)
		}
	})
}
