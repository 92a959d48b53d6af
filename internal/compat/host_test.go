// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"testing"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// Every constructor sees the one host of the process, whose locks and workers
// all groups share. What that keeps apart is shown in pkg/disk.
func TestOneHost(t *testing.T) {
	if any(diskapi.New()) != any(diskapi.New()) || any(diskapi.New()) != any(volumeapi.New()) {
		t.Error("two constructors see two hosts")
	}
}
