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
				WMI: spy{node.Host().WMI, func(in []win.Param) {
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

// spy sees the parameters of MSFT_iSCSITarget.Connect.
type spy struct {
	win.WMI
	see func([]win.Param)
}

func (s spy) Connect(namespace string) (win.Session, error) {
	session, err := s.WMI.Connect(namespace)
	return spySession{session, s.see}, err
}

type spySession struct {
	win.Session
	see func([]win.Param)
}

func (s spySession) Start(class, path, name string, in []win.Param) (win.Call, error) {
	if name == "Connect" {
		s.see(in)
	}
	return s.Session.Start(class, path, name, in)
}

// The driver is installed, but does not run or claims other buses.
func TestConnect_MultipathNotForISCSI(t *testing.T) {
	for name, edit := range map[string]func(*simhost.Node){
		"does not run": func(n *simhost.Node) { must(t, n.SetServiceState("msdsm", "stopped")) },
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
