// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Disk is the node as disk.New takes it.
func (n *Node) Disk() diskapi.HostAPI { return diskapi.On(n.Host()) }

// Volume is the node as volume.New takes it.
func (n *Node) Volume() volumeapi.HostAPI { return volumeapi.On(n.Host()) }
