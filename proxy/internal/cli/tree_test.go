// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// The tree reads at a glance, in 100 columns.
func TestTree(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows words its errors itself, in its language")
	}
	s := newSite(t)
	s.prepare([][]string{{"volume", "mount", volD, `C:\mnt`}})
	var out strings.Builder
	for _, r := range []struct {
		args []string
		result
	}{
		{[]string{"tree", "--host", "sim:azure-scsi"}, runAlone("tree", "--host", "sim:azure-scsi")},
		{[]string{"tree"}, s.run("tree")},
	} {
		if r.code != 0 || r.err != "" {
			t.Errorf("%s", r.transcript(r.args))
		}
		for line := range strings.Lines(r.out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		out.WriteString(r.transcript(r.args))
	}
	golden.Compare(t, "tree.golden", out.String())
}

// What cannot be read of one disk hides no other.
func TestTree_VolumesUnknown(t *testing.T) {
	const queryPoints = 0x6D0008 // IOCTL_MOUNTMGR_QUERY_POINTS
	s := newSite(t)
	s.node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Code == queryPoints {
			return errors.New("no mount manager")
		}
		return do()
	})
	r := s.run("tree")
	if r.code != 0 || strings.Count(r.out, "no mount manager") != 2 || !strings.Contains(r.out, "disk 4") || !strings.Contains(r.out, "partition 5") {
		t.Errorf("%s", r.transcript(nil))
	}
}

// What is wrong is marked, each on a line of its own.
func TestTree_Marks(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		branch *branch
		want   string
	}{
		"offline by policy": {diskBranch(diskObject{State: "offline", OfflineReason: "SAN policy", ReadOnly: &yes}), "! offline: SAN policy\n! read-only\n"},
		"offline by hand":   {diskBranch(diskObject{State: "offline", OfflineReason: "none"}), "! offline\n"},
		"state unknown":     {diskBranch(diskObject{}), "! state unknown\n"},
		"well":              {diskBranch(diskObject{State: "online", ReadOnly: &no}), ""},
		"RAW":               {volumeBranch(volumeObject{Formatted: &no, Content: contentEmpty}), "! RAW: not formatted\n"},
		"foreign":           {volumeBranch(volumeObject{Formatted: &no, Content: contentForeign, Problems: []string{"found ext4"}}), "! RAW\n! found ext4\n"},
		"dirty":             {volumeBranch(volumeObject{Formatted: &yes, Dirty: &yes, ReadOnly: &yes}), "! read-only\n! dirty: Windows wants to check it\n"},
		"stale": {
			volumeBranch(volumeObject{Formatted: &yes, Mounts: []mountObject{{`C:\a`, true}, {`C:\b`, false}}}),
			"! stale: the volume is not mounted there any more\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for line := range strings.Lines((&branch{below: []*branch{test.branch}}).draw("")) {
				if _, mark, ok := strings.Cut(line, "! "); ok {
					got.WriteString("! " + mark)
				}
			}
			if got.String() != test.want {
				t.Errorf("got\n%swant\n%s", got.String(), test.want)
			}
		})
	}
}
