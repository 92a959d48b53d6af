// SPDX-License-Identifier: Apache-2.0

// Command importall imports every public package and calls every constructor a
// thousand times, as a driver that may never use them (field-reports.md L01). It
// fails if that starts a goroutine or thread or opens anything. Then it asks one
// question that needs WMI, on this host and on a simulated node, and fails if
// more than the WMI workers come to stay, or if the answer is neither success nor
// an error that says what is missing.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	_ "github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest" // is for tests, and starts nothing either
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

// workers is how many threads a host's WMI has (docs/architecture.md, Contexts,
// locks and hangs).
const workers = 4

// questions is how many are asked after the first; spare is how many threads the
// Go runtime, and COM under a worker, may start of their own accord meanwhile.
const questions, spare = 100, 16

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "importall:", err)
		os.Exit(1)
	}
}

func run() error {
	debug.SetGCPercent(-1) // the collector has threads of its own
	runtime.GOMAXPROCS(1)  // and so has parallel running
	if err := checkConstructors(); err != nil {
		return err
	}
	here, err := disk.New(diskapi.New())
	if err != nil {
		return err
	}
	if err := checkWorkers("this host", here); err != nil {
		return err
	}
	node, err := newNode()
	if err != nil {
		return err
	}
	defer node.Close()
	simulated, err := disk.New(node.Disk())
	if err != nil {
		return err
	}
	return checkWorkers("a simulated node", simulated)
}

// checkConstructors: a thousand of each start nothing and open nothing.
func checkConstructors() error {
	if n := runtime.NumGoroutine(); n != 1 {
		return fmt.Errorf("%d goroutines after the imports", n)
	}
	if _, err := measure(); err != nil { // what measuring itself opens stays open
		return err
	}
	before, err := measure()
	if err != nil {
		return err
	}
	for range 1000 {
		_, diskErr := disk.New(diskapi.New())
		_, volumeErr := volume.New(volumeapi.New())
		files, filesystemErr := filesystem.New(filesystemapi.New())
		_, smbErr := smb.New(smbapi.New(), files)
		_, iscsiErr := iscsi.New(iscsiapi.New())
		_, systemErr := system.New(systemapi.New())
		if err := errors.Join(diskErr, volumeErr, filesystemErr, smbErr, iscsiErr, systemErr); err != nil {
			return err
		}
	}
	after, err := measure()
	if err != nil {
		return err
	}
	if after != before {
		return fmt.Errorf("the constructors have left %v, before them there were %v", after, before)
	}
	fmt.Printf("constructors: %v\n", after)
	return nil
}

// checkWorkers: the first question starts the workers, and no other starts
// anything.
func checkWorkers(host string, d *disk.Disk) error {
	before, err := measure()
	if err != nil {
		return err
	}
	answer := ask(d)
	if err := tolerable(answer); err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	first, err := measure()
	if err != nil {
		return err
	}
	for range questions {
		if err := tolerable(ask(d)); err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
	}
	last, err := measure()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %v; one question: %v; %d more: %v; %s\n", host, before, first, questions, last, describe(answer))
	switch {
	case first.goroutines != before.goroutines+workers, last.goroutines != first.goroutines:
		return fmt.Errorf("%s: not %d workers, once", host, workers)
	case first.threads > before.threads+workers+spare, last.threads > first.threads+spare:
		return fmt.Errorf("%s: more threads than workers", host)
	}
	return nil
}

// ask asks WMI a question.
func ask(d *disk.Disk) error {
	_, err := d.Rescan(context.Background(), &disk.RescanRequest{})
	return err
}

// tolerable are success, and the kinds of a host without WMI, of one whose WMI
// lacks the storage classes, as Wine's does, and of a process without rights.
func tolerable(err error) error {
	switch errdefs.KindOf(err) {
	case errdefs.None, errdefs.Unsupported, errdefs.NotFound, errdefs.PermissionDenied:
		return nil
	default:
		return err
	}
}

func describe(err error) string {
	if err == nil {
		return "WMI answers"
	}
	return fmt.Sprintf("WMI: %s: %v", errdefs.KindOf(err), err)
}

func newNode() (*simhost.Node, error) {
	spec, err := simhost.Named("aws-nitro")
	if err != nil {
		return nil, err
	}
	return simhost.New(spec)
}
