// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Disk is what disk.New takes. All host APIs of a node share its locks and WMI
// workers, as those of a Windows process do.
func (n *Node) Disk() diskapi.HostAPI { return diskapi.On(n.Host()) }

// Volume is what volume.New takes.
func (n *Node) Volume() volumeapi.HostAPI { return volumeapi.On(n.Host()) }

// Filesystem is what filesystem.New takes.
func (n *Node) Filesystem() filesystemapi.HostAPI { return filesystemapi.On(n.Host()) }

// System is what system.New takes.
func (n *Node) System() systemapi.HostAPI { return systemapi.On(n.Host()) }

// SMB is what smb.New takes, beside a filesystem.
func (n *Node) SMB() smbapi.HostAPI { return smbapi.On(n.Host()) }

// ISCSI is what iscsi.New takes.
func (n *Node) ISCSI() iscsiapi.HostAPI { return iscsiapi.On(n.Host()) }

// Close ends what the host APIs have started for the node: the threads of their
// WMI workers. Later calls that need WMI are Unavailable. A test under
// testing/synctest must close its nodes; else the threads end with the process.
func (n *Node) Close() { wmi.On(n.Host()).Close() }
