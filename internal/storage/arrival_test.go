// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
)

// fakeArrivals keeps what is registered, or refuses it.
type fakeArrivals struct {
	err     error
	slow    time.Duration
	arrived []func()
	class   abi.GUID
}

func (f *fakeArrivals) Watch(class abi.GUID, arrived func()) error {
	if f.err != nil {
		return f.err
	}
	time.Sleep(f.slow)
	f.class = class
	f.arrived = append(f.arrived, arrived)
	return nil
}

func TestDiskArrivals(t *testing.T) {
	host := &fakeArrivals{}
	s := On(&win.Host{Arrivals: host})
	first, stopFirst := s.DiskArrivals(t.Context())
	second, stopSecond := s.DiskArrivals(t.Context())
	if len(host.arrived) != 1 || host.class != abi.GUID_DEVINTERFACE_DISK {
		t.Fatalf("%d registrations, class %v", len(host.arrived), host.class)
	}
	for range 3 {
		host.arrived[0]() // does not wait for anybody
	}
	for name, notice := range map[string]<-chan struct{}{"first": first, "second": second} {
		if len(notice) != 1 {
			t.Errorf("%s: %d notices of three arrivals", name, len(notice))
		}
	}
	<-first
	<-second
	stopFirst()
	host.arrived[0]()
	if len(first) != 0 || len(second) != 1 {
		t.Errorf("%d and %d notices, want 0 and 1", len(first), len(second))
	}
	stopSecond()
	if n := len(s.arrivals.waiting); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// Where Windows gives no notice there is none, and the next who waits asks it
// again.
func TestDiskArrivals_None(t *testing.T) {
	if notice, stop := On(&win.Host{}).DiskArrivals(t.Context()); notice != nil {
		t.Error("a host without arrivals tells of them")
	} else {
		stop()
	}
	host := &fakeArrivals{err: win.ConfigRet(0x20)}
	s := On(&win.Host{Arrivals: host})
	if notice, stop := s.DiskArrivals(t.Context()); notice != nil {
		t.Error("arrivals that cannot be watched are told")
	} else {
		stop()
	}
	host.err = nil
	if notice, stop := s.DiskArrivals(t.Context()); notice == nil {
		t.Error("was not asked again")
	} else {
		stop()
	}
}

// Disks arrive while some begin to wait and others cease.
func TestDiskArrivals_AtOnce(t *testing.T) {
	host := &fakeArrivals{}
	s := On(&win.Host{Arrivals: host})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				notice, stop := s.DiskArrivals(t.Context())
				s.arrivals.tell()
				<-notice
				stop()
			}
		})
	}
	all.Wait()
	if n := len(s.arrivals.waiting); n != 0 || len(host.arrived) != 1 {
		t.Errorf("%d still wait, %d registrations", n, len(host.arrived))
	}
}

// Windows tells of a disk while somebody waits. As below, nothing but the lock
// comes between the two.
func TestDiskArrivals_ToldMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := On(&win.Host{Arrivals: &fakeArrivals{}})
		var windows sync.WaitGroup
		windows.Go(func() {
			time.Sleep(time.Second)
			s.arrivals.tell()
		})
		notice, stop := s.DiskArrivals(t.Context())
		time.Sleep(2 * time.Second)
		stop()
		windows.Wait()
		if n := len(notice); n != 1 {
			t.Errorf("%d notices, want 1", n)
		}
	})
}

// One caller asks Windows, another profits later. Nothing but the lock comes
// between the two here: time passes without either waiting for the other.
func TestWatchDisks_OnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeArrivals{}
		s := On(&win.Host{Arrivals: host})
		var callers sync.WaitGroup
		callers.Go(func() {
			time.Sleep(time.Second)
			if !s.watchDisks(t.Context()) {
				t.Error("the second caller is told that Windows gives no notice")
			}
		})
		if !s.watchDisks(t.Context()) {
			t.Error("the first caller is told that Windows gives no notice")
		}
		callers.Wait()
		if n := len(host.arrived); n != 1 {
			t.Errorf("%d registrations, want 1", n)
		}
	})
}

// Who begins to wait while Windows is being asked does not ask it once more.
func TestWatchDisks_AskedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &fakeArrivals{slow: time.Second}
		s := On(&win.Host{Arrivals: host})
		var callers sync.WaitGroup
		for range 3 {
			callers.Go(func() {
				if !s.watchDisks(t.Context()) {
					t.Error("told that Windows gives no notice")
				}
			})
		}
		callers.Wait()
		if n := len(host.arrived); n != 1 {
			t.Errorf("%d registrations, want 1", n)
		}
	})
}
