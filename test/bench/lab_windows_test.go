// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
)

// BenchmarkLab measures the groups on internal/win/native, whose system and COM
// calls the Wine lab answers from a simulated node. Services and firmware are
// not among what it answers; only disk and volume are asked for many disks.
func BenchmarkLab(b *testing.B) {
	files := os.Getenv("LAB_FILES")
	if files == "" {
		b.Skip("needs the lab: make bench")
	}
	for _, disks := range []int{1, 16, 64} {
		b.Run(fmt.Sprint(disks), func(b *testing.B) {
			s := labSite(b, files, disks)
			for _, g := range groups {
				if g.name == "system" || disks > 1 && g.name != "disk" && g.name != "volume" {
					continue
				}
				for _, o := range g.operations {
					if o.lists && disks > 16 {
						continue // seconds each, and nothing new
					}
					b.Run(g.name+"/"+o.name, func(b *testing.B) { benchmark(b, s, o) })
				}
			}
		})
	}
}

// labSite has the groups in the lab, and a node of some disks behind it.
func labSite(b *testing.B, files string, disks int) *site {
	b.Helper()
	node := newNode(b, disks)
	l, err := lab.Start(node, files)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		for l.References() > 0 { // until the WMI workers have let go
			time.Sleep(5 * time.Millisecond)
		}
		if err := l.Close(); err != nil {
			b.Error(err)
		}
		node.Close()
	})
	if err := l.Hook(); err != nil {
		b.Fatal(err)
	}
	calls := &intercept.Counter{}
	s := newSite(b, calls.Host(l.Host()), calls)
	s.live(node, disks)
	return s
}

// onWine are the operations that Wine's own C: and services can do: it has
// neither disks nor links nor mount folders (wine.md 3).
var onWine = []string{
	"GetVolumeStats", "IsVolumeFormatted",
	"PathExists", "PathExists, missing", "PathValid", "Mkdir", "Mkdir, as it is", "Rmdir", "Rmdir, 16 below", "RmdirContents, 16 below",
	"GetBIOSSerialNumber", "GetService", "StartService, as it is",
}

// BenchmarkWine measures the groups on internal/win/native and Wine's own files,
// volumes, services and firmware.
func BenchmarkWine(b *testing.B) {
	const c = `\\?\Volume{00000000-0000-0000-0000-000000000043}\`
	if volume, err := native.Host().Mounts.VolumeAt(`C:\`); err != nil || !strings.EqualFold(volume, c) {
		b.Skipf("needs Wine: C: is %q, %v", volume, err)
	}
	calls := &intercept.Counter{}
	s := newSite(b, calls.Host(native.Host()), calls)
	s.id, s.service = c, "PlugPlay"
	s.must(second(s.files.Mkdir(b.Context(), &filesystem.MkdirRequest{Path: folder})))
	for _, g := range groups {
		for _, o := range g.operations {
			if slices.Contains(onWine, o.name) {
				b.Run("1/"+g.name+"/"+o.name, func(b *testing.B) { benchmark(b, s, o) })
			}
		}
	}
}
