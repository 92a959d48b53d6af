// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Disk is what disk.New takes. All host APIs of a node share its locks and WMI
// workers, as those of a Windows process do.
func (n *Node) Disk() diskapi.HostAPI { return diskapi.On(n.host) }

// Volume is what volume.New takes.
func (n *Node) Volume() volumeapi.HostAPI { return volumeapi.On(n.host) }

// Filesystem is what filesystem.New takes.
func (n *Node) Filesystem() filesystemapi.HostAPI { return filesystemapi.On(n.host) }
