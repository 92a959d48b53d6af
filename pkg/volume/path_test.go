// SPDX-License-Identifier: Apache-2.0

package volume_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// ebsNotMounted is how the AWS EBS driver tells "not mounted" from a failure
// (consumers.md 2.2).
var ebsNotMounted = regexp.MustCompile(`(Get-Item -Path \S+).Target, output: , error: <nil>|because it does not exist`)

// paths is a site with the data volume at staging and links all around it.
func paths(t *testing.T) *site {
	t.Helper()
	s := newSite(t, nil)
	s.setPoint(staging, dataID)
	s.directory(staging + `\foo`)
	s.directory(staging + `\foo\bar`)
	s.directory(kubelet + `\plain`)
	s.must(s.node.AddFile(kubelet+`\file`, 1))
	for link, target := range map[string]string{
		`toMount`:     staging,
		`toMountIn`:   staging + `\foo`,
		`toLink`:      kubelet + `\toMount`,
		`relative`:    `plugins\staging`,
		`toVolume`:    dataID,
		`toPlain`:     kubelet + `\plain`,
		`toDrive`:     `C:\`,
		`toNothing`:   kubelet + `\nothing`,
		`toDead`:      deadID,
		`toShare`:     `\\server\share\dir`,
		`toItself`:    kubelet + `\toItself`,
		`toOne`:       kubelet + `\toOther`,
		`toOther`:     kubelet + `\toOne`,
		`long0`:       kubelet + `\plugins\staging`,
		`throughMany`: kubelet + `\long299`,
		`throughSome`: kubelet + `\long60`,
	} {
		s.link(kubelet+`\`+link, target)
	}
	for i := 1; i < 300; i++ {
		s.link(fmt.Sprintf(`%s\long%d`, kubelet, i), fmt.Sprintf(`%s\long%d`, kubelet, i-1))
	}
	s.directory(kubelet + `\dangling`)
	s.dangling(kubelet + `\dangling`)
	return s
}

// VOL-32, VOL-35, VOL-37, FLOW-4, FLOW-9.
func TestGetVolumeIDFromTargetPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := paths(t)
		for name, path := range map[string]string{
			"mount folder":           staging,
			"trailing backslash":     staging + `\`,
			"lower-case drive":       strings.ToLower(staging),
			"other case":             strings.ToUpper(staging),
			"kubelet's own spelling": `\var\lib\kubelet\plugins\staging`,
			"slashes":                `/var/lib/kubelet/plugins/staging`,
			"extended":               `\\?\` + staging,
			"link":                   kubelet + `\toMount`,
			"link, slash":            kubelet + `\toMount\`,
			"link to a link":         kubelet + `\toLink`,
			"relative link":          kubelet + `\relative`,
			"link to the volume":     kubelet + `\toVolume`,
			"61 links":               kubelet + `\throughSome`,
		} {
			if got, err := s.volumeAt(path); err != nil || got != dataID {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		}
	})
}

// VOL-33, VOL-34, VOL-36, field-reports.md V20: what is not mounted says so in
// the words that EBS searches for, and gives no id.
func TestGetVolumeIDFromTargetPath_V20NotMounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := paths(t)
		for name, path := range map[string]string{
			"plain directory":         kubelet + `\plain`,
			"directory in the volume": staging + `\foo`,
			"missing":                 kubelet + `\nothing`,
			"missing parent":          kubelet + `\nothing\at\all`,
			"file":                    kubelet + `\file`,
			"below a file":            kubelet + `\file\x`,
			"link to a directory":     kubelet + `\toPlain`,
			"link into a volume":      kubelet + `\toMountIn`,
			"link to a drive":         kubelet + `\toDrive`,
			"dangling link":           kubelet + `\toNothing`,
			"link to a dead volume":   kubelet + `\toDead`,
			"link to a share":         kubelet + `\toShare`,
			"dangling mount point":    kubelet + `\dangling`,
			"drive":                   `c:\`,
			"drive without volume":    `X:\dir`,
			"volume":                  dataID,
		} {
			got, err := s.volumeAt(path)
			if got != "" {
				t.Errorf("%s: %q", name, got)
			}
			s.fails(err, errdefs.ErrNotMounted, errdefs.ErrNotFound)
			s.hasKind(err, errdefs.NotFound)
			if err != nil && !ebsNotMounted.MatchString(err.Error()) {
				t.Errorf("%s: EBS takes it for a failure: %v", name, err)
			}
		}
	})
}

// Everything else is an error that says nothing about mounts, and circles end
// (VOL-38, field-reports.md L06).
func TestGetVolumeIDFromTargetPath_CannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := paths(t)
		opens := func(c simhost.Call) bool { return c.Method == "Files.Open" }
		device := func(c simhost.Call) bool { return c.Method == "Devices.Open" }
		for _, tt := range []struct {
			name, path string
			code       error
			chosen     func(simhost.Call) bool
			want       error
		}{
			{"link to itself", kubelet + `\toItself`, nil, nil, errdefs.ErrLinkLoop},
			{"two links in a circle", kubelet + `\toOne`, nil, nil, errdefs.ErrLinkLoop},
			{"300 links", kubelet + `\throughMany`, nil, nil, errdefs.ErrLinkLoop},
			{"denied", staging, win.ERROR_ACCESS_DENIED, opens, errdefs.ErrPermissionDenied},
			{"disk error", staging, win.ERROR_CRC, opens, errdefs.ErrUnavailable},
			{"volume denied", staging, win.ERROR_ACCESS_DENIED, device, errdefs.ErrPermissionDenied},
			{"volume not ready", staging, win.ERROR_NOT_READY, device, errdefs.ErrUnavailable},
		} {
			if s.node.OnCall(nil); tt.chosen != nil {
				s.answers(tt.code, tt.chosen)
			}
			got, err := s.volumeAt(tt.path)
			if got != "" {
				t.Errorf("%s: %q", tt.name, got)
			}
			s.fails(err, tt.want)
			if tt.code != nil {
				s.fails(err, tt.code)
			}
			if err != nil && ebsNotMounted.MatchString(err.Error()) {
				t.Errorf("%s: EBS takes it for not mounted: %v", tt.name, err)
			}
		}
	})
}

// A mount point whose volume is gone never gives an id, whatever codes Windows
// answers there (docs/architecture.md).
func TestGetVolumeIDFromTargetPath_NeverDead(t *testing.T) {
	for _, sw := range simhost.AllSwitches() {
		t.Run(sw.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, func(spec *simhost.NodeSpec) { spec.Switches = sw.Switches })
				s.dangling(staging)
				s.link(kubelet+`\link`, staging)
				for _, path := range []string{staging, kubelet + `\link`} {
					got, err := s.volumeAt(path)
					if got != "" {
						t.Errorf("%s: %s", path, got)
					}
					s.fails(err, errdefs.ErrNotMounted)
				}
				_, err := s.closest(staging)
				s.hasKind(err, errdefs.NotFound)
			})
		})
	}
}

// A link may lead to a file server that hangs: it is not asked.
func TestGetVolumeIDFromTargetPath_AsksNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := paths(t)
		s.node.OnCall(func(c simhost.Call, do func() error) error {
			if strings.Contains(c.Subject, "server") {
				t.Errorf("asked: %+v", c)
			}
			return do()
		})
		for _, ask := range []func(string) (string, error){s.volumeAt, s.closest} {
			if _, err := ask(kubelet + `\toShare`); err == nil {
				t.Error("a share has a volume")
			}
		}
		s.must(s.unmount(dataID, kubelet+`\toShare`))
		s.hasKind(s.mount(dataID, kubelet+`\toShare`), errdefs.FailedPrecondition)
	})
}

// VOL-40 to VOL-42, VOL-43, VOL-44 (BUG 34), VOL-45: links and mount folders, each
// resolved in its own way, and not for ever.
func TestGetClosestVolumeIDFromTargetPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := paths(t)
		for name, tt := range map[string]struct{ path, want string }{
			"folder on C:":             {kubelet + `\plain`, bootID},
			"kubelet's own spelling":   {`\var\lib\kubelet`, bootID},
			"file on C:":               {kubelet + `\file`, bootID},
			"drive":                    {`c:\`, bootID},
			"volume":                   {dataID, dataID},
			"in a volume":              {dataID + `foo`, dataID},
			"mount folder":             {staging, dataID},
			"mount folder, slash":      {staging + `\`, dataID},
			"nested in a mount folder": {staging + `\foo\bar`, dataID},
			"link to the mount folder": {kubelet + `\toMount`, dataID},
			"link into the volume":     {kubelet + `\toMountIn`, dataID},
			"below a link":             {kubelet + `\toMount\foo\bar`, dataID},
			"link to a link":           {kubelet + `\toLink`, dataID},
			"link to the volume":       {kubelet + `\toVolume`, dataID},
			"link to a folder":         {kubelet + `\toPlain`, bootID},
			"link to a drive":          {kubelet + `\toDrive`, bootID},
		} {
			if got, err := s.closest(tt.path); err != nil || got != tt.want {
				t.Errorf("%s: %q, %v; want %s", name, got, err, tt.want)
			}
		}
		for name, tt := range map[string]struct {
			path string
			want errdefs.Kind
		}{
			"missing":               {kubelet + `\nothing`, errdefs.NotFound},
			"dangling link":         {kubelet + `\toNothing`, errdefs.NotFound},
			"dangling mount point":  {kubelet + `\dangling`, errdefs.NotFound},
			"link to a dead volume": {kubelet + `\toDead`, errdefs.NotFound},
			"drive without volume":  {`X:\dir`, errdefs.NotFound},
			"circle":                {kubelet + `\toOne`, errdefs.FailedPrecondition},
			"300 links":             {kubelet + `\throughMany`, errdefs.FailedPrecondition},
			"link to a share":       {kubelet + `\toShare`, errdefs.FailedPrecondition},
			"relative":              {`var\lib`, errdefs.InvalidArgument},
			"drive-relative":        {`C:var`, errdefs.InvalidArgument},
			"share":                 {`\\server\share\dir`, errdefs.InvalidArgument},
		} {
			got, err := s.closest(tt.path)
			if got != "" {
				t.Errorf("%s: %q", name, got)
			}
			s.hasKind(err, tt.want)
		}
	})
}
