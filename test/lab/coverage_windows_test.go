// SPDX-License-Identifier: Apache-2.0

package lab_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/lab"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/intercept"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// notCarried says why a method of the boundary is not called through the lab. An
// interface stands for all of its methods.
var notCarried = map[string]string{
	"System":        "Wine has its own registry, firmware and directories: internal/win/native tests it there",
	"Services":      "Wine has its own services: internal/win/native tests it with real ones",
	"Service":       "as Services",
	"Logons":        "Wine has no logon sessions: internal/win/native tests it on Windows",
	"Logon":         "as Logons",
	"Arrivals":      "Wine announces no devices: internal/win/native tests it on Windows",
	"WMI.Leave":     "not counted as a call; WMI workers that end without it are the node's violations",
	"Device.Close":  "not counted as a call; handles of the node that stay open fail each test",
	"File.Close":    "as Device.Close",
	"Session.Close": "not counted as a call; references to COM objects that stay fail each test",
	"Rows.Close":    "as Session.Close",
	"Call.Close":    "as Session.Close",
}

// carried are the methods of the boundary, and of the groups, that went through
// the lab in this run.
var carried sync.Map

// near is the host of a lab, with the calls noted that go through it. The rest of
// the host is the node's own.
func near(l *lab.Lab) *win.Host {
	own := l.Host()
	noted := intercept.Host(own, func(c intercept.Call, do func() error) error {
		carried.Store(c.Method, true)
		return do()
	})
	return &win.Host{
		Devices: noted.Devices, Mounts: noted.Mounts, Files: noted.Files, WMI: noted.WMI,
		Services: own.Services, System: own.System, Logons: own.Logons, Arrivals: own.Arrivals,
	}
}

// A whole run has called every method of the boundary that [notCarried] does not
// name, and none that it does; and every method of the groups.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	whole := flag.Lookup("test.run").Value.String() == "" && os.Getenv("LAB_FILES") != ""
	if code == 0 && whole && !covered() {
		code = 1
	}
	os.Exit(code)
}

func covered() bool {
	boundary, groups := boundaryCovered(), groupsCovered()
	return boundary && groups
}

// groupsCovered looks for the methods of the groups, but for system: services,
// firmware and registry are Wine's own, and internal/win/native tests the group
// on them.
func groupsCovered() bool {
	good := true
	for _, group := range []reflect.Type{
		reflect.TypeFor[*disk.Disk](), reflect.TypeFor[*volume.Volume](), reflect.TypeFor[*filesystem.Filesystem](),
		reflect.TypeFor[*smb.SMB](), reflect.TypeFor[*iscsi.ISCSI](),
	} {
		for i := range group.NumMethod() {
			name := strings.TrimPrefix(group.String(), "*") + "." + group.Method(i).Name
			if _, called := carried.Load(name); !called {
				fmt.Printf("FAIL: %s was not called through the lab\n", name)
				good = false
			}
		}
	}
	return good
}

func boundaryCovered() bool {
	methods := map[string]string{} // interface by method
	collect(reflect.TypeFor[*win.Host]().Elem(), methods)
	good := len(methods) > 35
	for method, of := range methods {
		_, called := carried.Load(method)
		_, listed := notCarried[method]
		_, wholeListed := notCarried[of]
		if called == (listed || wholeListed) {
			fmt.Printf("FAIL: %s: called through the lab %t, listed as not carried %t\n", method, called, listed || wholeListed)
			good = false
		}
	}
	for name := range notCarried {
		known := false
		for method, of := range methods {
			known = known || name == method || name == of
		}
		if !known {
			fmt.Printf("FAIL: %s is listed and not in the boundary\n", name)
			good = false
		}
	}
	return good
}

// collect finds the methods of the interfaces in t, and of those that they hand
// out.
func collect(t reflect.Type, methods map[string]string) {
	switch {
	case t.Kind() == reflect.Struct && t == reflect.TypeFor[win.Host]():
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				collect(t.Field(i).Type, methods)
			}
		}
	case t.Kind() == reflect.Interface && t.PkgPath() == reflect.TypeFor[win.Host]().PkgPath():
		for i := range t.NumMethod() {
			name := t.Name() + "." + t.Method(i).Name
			if _, known := methods[name]; known {
				continue
			}
			methods[name] = t.Name()
			for out := range t.Method(i).Type.NumOut() {
				collect(t.Method(i).Type.Out(out), methods)
			}
		}
	}
}
