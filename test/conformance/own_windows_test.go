// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

// The conformance suite on the machine itself, without disks of its own: under
// Wine, or on Windows.
func TestOwn(t *testing.T) {
	can := []hosttest.Ability{hosttest.InProcess}
	if !wine.Running() {
		can = append(can, hosttest.Links)
	}
	hosttest.Run(t, hosttest.Harness{
		Name: "this machine", Can: can,
		With: func(t *testing.T, _ hosttest.Case, test func(*hosttest.Host)) {
			t.Helper()
			groups, err := hosttest.GroupsOn(native.Host())
			if err != nil {
				t.Fatal(err)
			}
			test(&hosttest.Host{T: t, Groups: groups, World: machine{}, Folder: t.TempDir()})
		},
	})
}

// machine is the world around this machine. It attaches no disks.
type machine struct{ hosttest.World }

func (machine) WriteFile(path string, size int64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}
