// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
)

var filesystemOperations = []operation{
	{name: "PathExists", run: func(s *site) error {
		return second(s.files.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: folder}))
	}},
	{name: "PathExists, missing", run: func(s *site) error {
		return second(s.files.PathExists(s.Context(), &filesystem.PathExistsRequest{Path: folder + `\missing`}))
	}},
	{name: "PathValid", run: func(s *site) error {
		return second(s.files.PathValid(s.Context(), &filesystem.PathValidRequest{Path: folder}))
	}},
	{name: "Mkdir", before: removeDirectory, run: makeDirectory},
	{name: "Mkdir, as it is", before: makeDirectory, run: makeDirectory},
	{name: "Rmdir", before: makeDirectory, run: func(s *site) error {
		return second(s.files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: directory}))
	}},
	{name: "Rmdir, 16 below", before: makeBelow, run: removeDirectory},
	{name: "Rmdir, a mount folder", before: makeMountFolder, run: func(s *site) error {
		return second(s.files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: s.path, Force: true}))
	}},
	{name: "RmdirContents, 16 below", before: makeBelow, run: func(s *site) error {
		return second(s.files.RmdirContents(s.Context(), &filesystem.RmdirContentsRequest{Path: directory}))
	}},
	{name: "CreateSymlink", before: removeLink, run: makeLink},
	{name: "CreateSymlink, as it is", before: makeLink, run: makeLink},
	{name: "IsSymlink", before: makeLink, run: func(s *site) error {
		return second(s.files.IsSymlink(s.Context(), &filesystem.IsSymlinkRequest{Path: link}))
	}},
	{name: "LinkState", before: makeLink, run: func(s *site) error {
		return second(s.files.LinkState(s.Context(), &filesystem.LinkStateRequest{Path: link}))
	}},
}

const (
	directory = folder + `\directory`
	link      = folder + `\link`
)

func makeDirectory(s *site) error {
	return second(s.files.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: directory}))
}

// makeMountFolder mounts the volume where the folder may have gone.
func makeMountFolder(s *site) error {
	if err := second(s.files.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: s.path})); err != nil {
		return err
	}
	return mount(s)
}

func removeDirectory(s *site) error {
	return second(s.files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: directory, Force: true}))
}

func makeBelow(s *site) error {
	for i := range 16 {
		if err := second(s.files.Mkdir(s.Context(), &filesystem.MkdirRequest{Path: fmt.Sprint(directory, `\`, i)})); err != nil {
			return err
		}
	}
	return nil
}

func makeLink(s *site) error {
	return second(s.files.CreateSymlink(s.Context(), &filesystem.CreateSymlinkRequest{SourcePath: pods, TargetPath: link}))
}

func removeLink(s *site) error {
	return second(s.files.Rmdir(s.Context(), &filesystem.RmdirRequest{Path: link, Force: true}))
}

var systemOperations = []operation{
	{name: "GetBIOSSerialNumber", run: func(s *site) error {
		return second(s.system.GetBIOSSerialNumber(s.Context(), &system.GetBIOSSerialNumberRequest{}))
	}},
	{name: "GetService", run: func(s *site) error {
		return second(s.system.GetService(s.Context(), &system.GetServiceRequest{Name: s.service}))
	}},
	{name: "StartService", before: stopService, run: startService},
	{name: "StartService, as it is", run: startService},
	{name: "StopService", before: startService, run: stopService},
}

func startService(s *site) error {
	return second(s.system.StartService(s.Context(), &system.StartServiceRequest{Name: s.service}))
}

func stopService(s *site) error {
	return second(s.system.StopService(s.Context(), &system.StopServiceRequest{Name: s.service, Force: true}))
}
