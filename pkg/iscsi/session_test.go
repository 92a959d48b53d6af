// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// ISCSI-9: what is not given is not handed over.
func TestConnect_ISCSI9_HandsOver(t *testing.T) {
	type given map[string]any
	for _, test := range []struct {
		name string
		req  *iscsi.ConnectTargetRequest
		want given
	}{
		{"NONE", &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: open}, given{"AuthenticationType": "NONE"}},
		{
			"CHAP with user", &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: chap, AuthType: iscsi.ONE_WAY_CHAP, ChapUsername: user, ChapSecret: secret},
			given{"AuthenticationType": "ONEWAYCHAP", "ChapUsername": user, "ChapSecret": secret},
		},
		{
			"CHAP without user", &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: chap, AuthType: iscsi.ONE_WAY_CHAP, ChapSecret: secret},
			given{"AuthenticationType": "ONEWAYCHAP", "ChapSecret": secret},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := newNode(t, registered(first))
			var got given
			spied := &win.Host{
				Services: node.Host().Services, System: node.Host().System, Devices: node.Host().Devices,
				WMI: spy{node.Host().WMI, func(name string, in []win.Param) {
					if name != "Connect" {
						return
					}
					got = given{}
					for _, p := range in {
						got[p.Name] = p.Value
					}
				}},
			}
			t.Cleanup(wmi.On(spied).Close)
			i, err := iscsi.New(hostAPIOn(spied))
			must(t, err)
			_, _ = i.ConnectTarget(t.Context(), test.req) // some are refused by the target
			test.want["NodeAddress"], test.want["TargetPortalAddress"], test.want["TargetPortalPortNumber"] = test.req.IQN, "10.0.0.10", int32(3260)
			test.want["IsPersistent"], test.want["IsMultipathEnabled"] = false, false
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// spy sees the parameters of methods.
type spy struct {
	win.WMI
	see func(method string, in []win.Param)
}

func (s spy) Connect(namespace string) (win.Session, error) {
	session, err := s.WMI.Connect(namespace)
	return spySession{session, s.see}, err
}

type spySession struct {
	win.Session
	see func(method string, in []win.Param)
}

func (s spySession) Start(class, path, name string, in []win.Param) (win.Call, error) {
	s.see(name, in)
	return s.Session.Start(class, path, name, in)
}

// The driver is installed, but does not run or claims other buses.
func TestConnect_MultipathNotForISCSI(t *testing.T) {
	for name, edit := range map[string]func(*simhost.Node){
		"does not run": func(n *simhost.Node) { must(t, n.SetServiceState("msdsm", "stopped")) },
		"is not there": func(n *simhost.Node) {
			n.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Services.Open" && c.Subject == "msdsm" {
					return win.ERROR_SERVICE_DOES_NOT_EXIST
				}
				return do()
			})
		},
		"other buses": func(n *simhost.Node) {
			n.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "System.RegistryValue" {
					return win.ERROR_FILE_NOT_FOUND
				}
				return do()
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			node := newNode(t, registered(first, second), func(spec *simhost.NodeSpec) { spec.ISCSI.MPIO = true })
			edit(node)
			must(t, connect(t.Context(), node, first, shared))
			wantError(t, connect(t.Context(), node, second, shared), errdefs.ErrISCSIOtherPortal, errdefs.FailedPrecondition)
			wantSessions(t, node, shared+" through 10.0.0.10:3260: none")
		})
	}
}

// Where it cannot be told whether two sessions of a target give one disk, none
// is made.
func TestConnect_MultipathUnknown(t *testing.T) {
	node := newNode(t, registered(first))
	node.OnCall(func(c simhost.Call, do func() error) error {
		if c.Method == "System.RegistryValue" {
			return win.ERROR_ACCESS_DENIED
		}
		return do()
	})
	wantError(t, connect(t.Context(), node, first, open), win.ERROR_ACCESS_DENIED, errdefs.PermissionDenied)
	wantSessions(t, node)
}

// A portal that sends the login on is still the one that was asked.
func TestConnect_Redirected(t *testing.T) {
	node := newNode(t, registered(first), func(spec *simhost.NodeSpec) { spec.ISCSI.Targets[0].Redirects = "10.0.7.7" })
	must(t, connect(t.Context(), node, first, open))
	must(t, connect(t.Context(), node, first, open))
	if ids, err := disks(t.Context(), node, first, open); err != nil || !slices.Equal(ids, []string{"1"}) {
		t.Errorf("disks %q, %v", ids, err)
	}
	must(t, disconnect(t.Context(), node, first, open))
	wantSessions(t, node)
}

// What Windows says of a session that another process has just made.
func TestConnect_ConnectedMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name  string
		made  *iscsi.TargetPortal // by the other process; nil: none
		check func(*testing.T, error)
	}{
		{"through the portal", first, func(t *testing.T, err error) { must(t, err) }},
		{"through another", second, func(t *testing.T, err error) {
			wantError(t, err, errdefs.ErrISCSIOtherPortal, errdefs.FailedPrecondition)
		}},
		{"and disconnected", nil, func(t *testing.T, err error) {
			wantError(t, err, win.ISDSC_TARGET_ALREADY_LOGGED_IN, errdefs.Unavailable)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := newNode(t, registered(first, second))
			node.OnCall(func(c simhost.Call, do func() error) error {
				if !strings.HasPrefix(c.Subject, "MSFT_iSCSITarget.Connect") || c.Continues {
					return do()
				}
				node.OnCall(nil)
				if test.made != nil {
					if err := otherProcess(t, node).connect(test.made, shared); err != nil {
						return err
					}
				}
				return &win.ProviderError{Code: win.HRESULT(win.ISDSC_TARGET_ALREADY_LOGGED_IN)}
			})
			test.check(t, connect(t.Context(), node, first, shared))
		})
	}
}

// What Windows says cannot be confirmed where the sessions cannot be listed.
func TestConnect_ConnectedMeanwhileUnseen(t *testing.T) {
	node := newNode(t, registered(first))
	said := false
	node.OnCall(func(c simhost.Call, do func() error) error {
		switch {
		case strings.HasPrefix(c.Subject, "MSFT_iSCSITarget.Connect"):
			said = true
			return &win.ProviderError{Code: win.HRESULT(win.ISDSC_TARGET_ALREADY_LOGGED_IN)}
		case said && c.Method == "Session.Query":
			return win.WBEM_E_ACCESS_DENIED
		}
		return do()
	})
	wantError(t, connect(t.Context(), node, first, open), win.WBEM_E_ACCESS_DENIED, errdefs.PermissionDenied)
}

// ISCSI-14: a session that Windows would make again is not ended before it is
// taken out of those; where it is in none of them, it is ended.
func TestDisconnect_ISCSI14_Persistent(t *testing.T) {
	for code, stays := range map[win.HRESULT]bool{win.WBEM_E_ACCESS_DENIED: true, win.WBEM_E_NOT_FOUND: false} {
		t.Run(code.Error(), func(t *testing.T) {
			node := newNode(t, registered(first))
			must(t, connect(t.Context(), node, first, open))
			node.OnCall(func(c simhost.Call, do func() error) error {
				if strings.HasPrefix(c.Subject, "MSFT_iSCSISession.Unregister") {
					return code
				}
				err := do()
				edit(c, "FROM MSFT_iSCSISession", "IsPersistent", true)
				return err
			})
			err := disconnect(t.Context(), node, first, open)
			node.OnCall(nil)
			if left := len(sessions(node)) > 0; left != stays {
				t.Errorf("left: %t", left)
			}
			if stays {
				wantError(t, err, code, errdefs.PermissionDenied)
			} else {
				must(t, err)
			}
		})
	}
}

// A logout waits for a login of the same target, as long as its caller does.
func TestDisconnect_WaitsForConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node, release, connected := newNode(t, registered(first)), make(chan struct{}), make(chan error, 1)
		node.OnCall(func(c simhost.Call, do func() error) error {
			if strings.HasPrefix(c.Subject, "MSFT_iSCSITarget.Connect") {
				<-release
			}
			return do()
		})
		go func() { connected <- connect(context.Background(), node, first, open) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantError(t, disconnect(ctx, node, first, open), context.DeadlineExceeded, errdefs.DeadlineExceeded)
		synctest.Wait()
		close(release)
		must(t, <-connected)
		wantSessions(t, node, open+" through 10.0.0.10:3260: none")
	})
}

func TestDisconnect_ISCSI14_EndedMeanwhile(t *testing.T) {
	for _, subject := range []string{"ASSOCIATORS OF", "MSFT_iSCSITarget.Disconnect"} {
		t.Run(subject, func(t *testing.T) {
			node := newNode(t, registered(first))
			must(t, connect(t.Context(), node, first, open))
			node.OnCall(func(c simhost.Call, do func() error) error {
				if !strings.HasPrefix(c.Subject, subject) || c.Continues {
					return do()
				}
				node.OnCall(nil)
				if err := otherProcess(t, node).disconnect(first, open); err != nil {
					return err
				}
				return do()
			})
			must(t, disconnect(t.Context(), node, first, open))
			wantSessions(t, node)
		})
	}
}

// ISCSI-15: disk numbers are decimal.
func TestGetTargetDisks_ISCSI15_Numbers(t *testing.T) {
	want := []string{"1"}
	node := newNode(t, registered(first), func(spec *simhost.NodeSpec) {
		target := &spec.ISCSI.Targets[0]
		for i := range 11 {
			target.LUNs = append(target.LUNs, lun(fmt.Sprint("open-", 1+i)))
			want = append(want, fmt.Sprint(2+i))
		}
	})
	must(t, connect(t.Context(), node, first, open))
	if ids, err := disks(t.Context(), node, first, open); err != nil || !slices.Equal(ids, want) {
		t.Errorf("disks %q, %v", ids, err)
	}
}

// otherGroup is the group in another process: it shares nothing but the node.
type otherGroup struct{ *iscsi.ISCSI }

func otherProcess(t *testing.T, node *simhost.Node) otherGroup {
	t.Helper()
	h := node.Host()
	another := &win.Host{Services: h.Services, System: h.System, Devices: h.Devices, WMI: h.WMI}
	t.Cleanup(wmi.On(another).Close)
	i, err := iscsi.New(hostAPIOn(another))
	must(t, err)
	return otherGroup{i}
}

func (o otherGroup) connect(p *iscsi.TargetPortal, iqn string) error {
	_, err := o.ConnectTarget(context.Background(), &iscsi.ConnectTargetRequest{TargetPortal: p, IQN: iqn})
	return err
}

func (o otherGroup) disconnect(p *iscsi.TargetPortal, iqn string) error {
	_, err := o.DisconnectTarget(context.Background(), &iscsi.DisconnectTargetRequest{TargetPortal: p, IQN: iqn})
	return err
}

func arrivesAfter(d time.Duration) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) { spec.ISCSI.Targets[0].Arrival = simhost.Duration(d) }
}

func TestDisks_TooLateForTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, registered(first), arrivesAfter(time.Hour))
		must(t, connect(t.Context(), node, first, open))
		const budget = 5 * time.Second
		ctx, cancel := context.WithTimeout(t.Context(), budget)
		defer cancel()
		start := time.Now()
		ids, err := disks(ctx, node, first, open)
		wantError(t, err, context.DeadlineExceeded, errdefs.Unavailable)
		if took := time.Since(start); took != budget || ids == nil || len(ids) != 0 {
			t.Errorf("took %v, got %#v", took, ids)
		}
		synctest.Wait() // for the look that was left
	})
}

// A caller without a deadline waits for disks half a minute.
func TestDisks_TooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, registered(first), arrivesAfter(time.Hour))
		must(t, connect(t.Context(), node, first, open))
		start := time.Now()
		_, err := disks(t.Context(), node, first, open)
		wantError(t, err, errdefs.ErrUnavailable, errdefs.Unavailable)
		if took := time.Since(start); took != 30*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// The session ends while its disks are awaited.
func TestDisks_DisconnectedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, registered(first), arrivesAfter(time.Hour))
		must(t, connect(t.Context(), node, first, open))
		go func() {
			<-time.After(3 * time.Second)
			if err := disconnect(context.Background(), node, first, open); err != nil {
				t.Error(err)
			}
		}()
		if ids, err := disks(t.Context(), node, first, open); err != nil || len(ids) != 0 {
			t.Errorf("got %q, %v", ids, err)
		}
	})
}
