// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/golden"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// widest is the longest line in columns.
func widest(text string) (columns int) {
	for line := range strings.Lines(text) {
		columns = max(columns, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")))
	}
	return columns
}

// The tree of each node fits 100 columns, and what tells a disk from its likes is
// whole.
func TestTree_Width(t *testing.T) {
	for _, name := range nodeNames() {
		t.Run(name, func(t *testing.T) {
			r := runAlone("tree", "--host", "sim:"+name)
			if r.code != 0 || r.err != "" || widest(r.out) > 100 {
				t.Errorf("%d columns\n%s", widest(r.out), r.transcript(nil))
			}
			ids := runAlone("disk", "list", "--host", "sim:"+name, "-o", "json")
			var disks struct{ Items []diskObject }
			if err := json.Unmarshal([]byte(ids.out), &disks); err != nil {
				t.Fatal(err)
			}
			for _, d := range disks.Items {
				if !strings.Contains(r.out, serialWord(d)) {
					t.Errorf("disk %d: %q is cut\n%s", d.Number, serialWord(d), r.out)
				}
			}
		})
	}
}

// A driver's mount path may not fit; -o wide cuts nothing.
func TestTree_Wide(t *testing.T) {
	const folder = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\disk.csi.example.com\3d2c1a0f-c0ffee\globalmount-of-a-claim`
	s := newSite(t)
	s.prepare([][]string{{"fs", "mkdir", folder}, {"volume", "mount", volD, folder}})
	if r := s.run("tree"); widest(r.out) != 100 || !strings.Contains(r.out, folder[:80]) {
		t.Errorf("%s", r.transcript(nil))
	}
	if r := s.run("tree", "-o", "wide"); !strings.Contains(r.out, folder+"\n") {
		t.Errorf("%s", r.transcript(nil))
	}
}

// The tree reads at a glance.
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

// A disk that does not answer is marked, and asked no more than once.
func TestTree_SilentDisks(t *testing.T) {
	const (
		deviceNumber = 0x2D1080 // IOCTL_STORAGE_GET_DEVICE_NUMBER
		property     = 0x2D1400 // IOCTL_STORAGE_QUERY_PROPERTY
		blank        = "#5&6e6f1dc1&0&000203#"
	)
	t.Run("no number", func(t *testing.T) {
		s := newSite(t)
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if c.Code == deviceNumber && strings.Contains(c.Subject, blank) {
				return errors.New("torn cable")
			}
			return do()
		})
		r := s.run("tree")
		if r.code != 0 || strings.Contains(r.out, "disk 1 ") || !strings.Contains(r.out, "└─ disk ?  ") || !strings.Contains(r.out, "! does not answer: torn cable\n") {
			t.Errorf("%s", r.transcript(nil))
		}
	})
	t.Run("hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t)
			repaired := make(chan struct{})
			s.node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Code == property && strings.Contains(c.Subject, blank) {
					<-repaired
				}
				return do()
			})
			start := time.Now()
			r := s.run("tree")
			took := time.Since(start)
			close(repaired)
			if r.code != 0 || took > 10*time.Second || !strings.Contains(r.out, "disk 1\n│     ! state unknown\n│     ! does not answer: description of\n") || !strings.Contains(r.out, "│       running: context deadline exceeded") || widest(r.out) > 100 || !strings.Contains(r.out, "disk 4 ") {
				t.Errorf("after %s\n%s", took, r.transcript(nil))
			}
		})
	})
}

// A mount folder that was formatted away is still the mount manager's.
func TestTree_StaleMount(t *testing.T) {
	s := newSite(t)
	s.prepare([][]string{{"fs", "mkdir", `D:\mnt`}, {"volume", "mount", volGrowable, `D:\mnt`}, {"volume", "format", volD}})
	if r := s.run("tree"); r.code != 0 || !strings.Contains(r.out, "D:\\mnt\n│              ! stale: the volume is not mounted there any more\n") {
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
			drawn := &table{tree: &branch{below: []*branch{test.branch}}}
			for line := range strings.Lines(drawn.text(false, false)) {
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
