// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"context"
	"errors"
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

// openSession is how a session of open through first looks.
const openSession = open + " through 10.0.0.10:3260: none"

// TXT-5: connected is done, which no driver must tell by the text.
func TestConnect_ISCSI10_Again(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connect(t.Context(), node, first, open))
	wantSessions(t, node, openSession)
	before := node.Snapshot()
	must(t, connect(t.Context(), node, first, open))
	must(t, connect(t.Context(), node, portal("10.0.0.10", 0), strings.ToUpper(open)))
	wantUnchanged(t, node, before)
}

// The credential of a session that is there is not looked at.
func TestConnect_ISCSI10_AgainWithAnotherCredential(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, user, secret))
	before := node.Snapshot()
	must(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, "another", "anothersecret"))
	wantUnchanged(t, node, before)
}

func TestConnect_ISCSI10_Unknown(t *testing.T) {
	for _, test := range []struct {
		name, iqn string
		portal    *iscsi.TargetPortal
	}{
		{"portal not registered", open, second},
		{"portal not registered that shares its address", open, other},
		{"portal not there", open, absent},
		{"target not there", ghost, first},
		{"target of another portal", wide, first},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := newNode(t, registered(first, six))
			before := node.Snapshot()
			err := connect(t.Context(), node, test.portal, test.iqn)
			wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
			wantUnchanged(t, node, before)
		})
	}
}

// ISCSI-11, field-reports.md I03: the session does not outlive a restart, and
// the same requests bring it back.
func TestConnect_ISCSI11_Restart(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connect(t.Context(), node, first, open))
	before := node.Snapshot()
	node.Reboot()
	wantSessions(t, node)
	if ids, err := disks(t.Context(), node, first, open); err != nil || len(ids) != 0 {
		t.Errorf("disks %q, %v", ids, err)
	}
	must(t, add(t.Context(), node, first))
	must(t, connect(t.Context(), node, first, open))
	wantUnchanged(t, node, before)
	if ids, err := disks(t.Context(), node, first, open); err != nil || !slices.Equal(ids, []string{"1"}) {
		t.Errorf("disks %q, %v", ids, err)
	}
}

func TestConnect_OneWayCHAP(t *testing.T) {
	for _, test := range []struct {
		name, user, secret string
		kind               iscsi.AuthenticationType
		code               error // nil: connects
	}{
		{"right", user, secret, iscsi.ONE_WAY_CHAP, nil},
		{"wrong secret", user, "verysecretpass", iscsi.ONE_WAY_CHAP, win.ISDSC_AUTHENTICATION_FAILURE},
		{"wrong user", "nobody", secret, iscsi.ONE_WAY_CHAP, win.ISDSC_AUTHENTICATION_FAILURE},
		{"no user", "", secret, iscsi.ONE_WAY_CHAP, win.ISDSC_AUTHENTICATION_FAILURE},
		{"none", "", "", iscsi.NONE, win.ISDSC_AUTHENTICATION_FAILURE},
	} {
		t.Run(test.name, func(t *testing.T) {
			node := newNode(t, registered(first))
			err := connectCHAP(t.Context(), node, test.kind, test.user, test.secret)
			if test.code == nil {
				must(t, err)
				wantSessions(t, node, chap+" through 10.0.0.10:3260: onewaychap")
				return
			}
			wantError(t, err, test.code, errdefs.PermissionDenied)
			wantSessions(t, node)
		})
	}
}

// Without a user the initiator's name is presented (windows-api.md 10.3).
func TestConnect_CHAPUserOfTheInitiator(t *testing.T) {
	node := newNode(t, registered(first), func(spec *simhost.NodeSpec) { spec.ISCSI.Targets[1].User = "" })
	must(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, "", secret))
}

// A rotated secret concerns the next login.
func TestConnect_RotatedSecret(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, user, secret))
	must(t, node.SetISCSISecret(chap, "rotated-secret"))
	must(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, user, secret))
	node.Reboot()
	wantError(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, user, secret), win.ISDSC_AUTHENTICATION_FAILURE, errdefs.PermissionDenied)
	must(t, connectCHAP(t.Context(), node, iscsi.ONE_WAY_CHAP, user, "rotated-secret"))
}

// ISCSI-12, ISCSI-16, field-reports.md I01: the initiator's own secret is the
// node's, and the last one holds.
func TestConnect_ISCSI12_MutualCHAP(t *testing.T) {
	node := newNode(t, registered(first))
	again := func() error { return connectCHAP(t.Context(), node, iscsi.MUTUAL_CHAP, user, secret) }
	wantError(t, again(), win.ISDSC_NO_AUTH_INFO, errdefs.FailedPrecondition)
	must(t, setSecret(t.Context(), node, "reversssssssse"))
	wantError(t, again(), win.ISDSC_AUTHENTICATION_FAILURE, errdefs.PermissionDenied)
	must(t, setSecret(t.Context(), node, mutual))
	must(t, again())
	wantSessions(t, node, chap+" through 10.0.0.10:3260: mutualchap")
}

func TestSetMutualChapSecret_ISCSI16(t *testing.T) {
	for _, bad := range []string{"", "eleven-byte", "seventeen-bytes-x", "12345678901\x00", "ümläute-xxxx", "tab\tbed-12345"} {
		node := newNode(t)
		err := setSecret(t.Context(), node, bad)
		wantError(t, err, errdefs.ErrInvalidArgument, errdefs.InvalidArgument)
		if n := node.Calls().Total(); n != 0 || !strings.Contains(err.Error(), "MutualChapSecret") || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%d calls, %v", n, err)
		}
	}
	for _, good := range []string{"twelve-bytes", "sixteen-bytes-ok", `$"';&|\` + "`%<>^"} {
		node := newNode(t)
		must(t, setSecret(t.Context(), node, good))
		must(t, setSecret(t.Context(), node, good))
	}
}

// ISCSI-3, ISCSI-8, ISCSI-9, field-reports.md I06: refused before any call.
func TestConnect_Invalid(t *testing.T) {
	type change func(*iscsi.ConnectTargetRequest)
	withCHAP := func(user, secret string) change {
		return func(r *iscsi.ConnectTargetRequest) {
			r.AuthType, r.ChapUsername, r.ChapSecret = iscsi.ONE_WAY_CHAP, user, secret
		}
	}
	for _, test := range []struct {
		name, field string
		change      change
	}{
		{"ISCSI-3 port", "TargetPortal", func(r *iscsi.ConnectTargetRequest) { r.TargetPortal = portal("10.0.0.10", 68796) }},
		{"ISCSI-3 address", "TargetPortal", func(r *iscsi.ConnectTargetRequest) { r.TargetPortal = portal("", 3260) }},
		{"ISCSI-8 type", "invalid authentication type authType=3", func(r *iscsi.ConnectTargetRequest) { r.AuthType = 3 }},
		{"ISCSI-8 negative", "invalid authentication type authType=4294967295", func(r *iscsi.ConnectTargetRequest) { r.AuthType = 1<<32 - 1 }},
		{"ISCSI-9 NONE with user", "ChapUsername", func(r *iscsi.ConnectTargetRequest) { r.ChapUsername = user }},
		{"ISCSI-9 NONE with secret", "ChapSecret", func(r *iscsi.ConnectTargetRequest) { r.ChapSecret = secret }},
		{"ISCSI-9 no secret", "ChapSecret", withCHAP(user, "")},
		{"I06 short", "ChapSecret", withCHAP(user, "eight888")},
		{"I06 eleven", "ChapSecret", withCHAP(user, "eleven-byte")},
		{"I06 seventeen", "ChapSecret", withCHAP(user, "seventeen-bytes-x")},
		{"not ASCII", "ChapSecret", withCHAP(user, "pässwörd-12")},
		{"user not ASCII", "ChapUsername", withCHAP("üser", secret)},
		{"user with NUL", "ChapUsername", withCHAP("user\x00", secret)},
		{"no name", "IQN", func(r *iscsi.ConnectTargetRequest) { r.IQN = "" }},
		{"no iSCSI name", "IQN", func(r *iscsi.ConnectTargetRequest) { r.IQN = "storage" }},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := &iscsi.ConnectTargetRequest{TargetPortal: first, IQN: open}
			test.change(req)
			refused(t, calling((*iscsi.ISCSI).ConnectTarget, req), test.field)
		})
	}
}

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

// Through another portal the same disk would come twice.
func TestConnect_OtherPortal(t *testing.T) {
	for _, p := range []*iscsi.TargetPortal{second, other} {
		t.Run(p.String(), func(t *testing.T) {
			node := newNode(t, registered(first, second, other))
			must(t, connect(t.Context(), node, first, shared))
			before := node.Snapshot()
			node.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == "Session.Start" && strings.HasPrefix(c.Subject, "MSFT_iSCSITarget.Connect") {
					t.Error("a login was tried") // which not every target would refuse
				}
				return do()
			})
			err := connect(t.Context(), node, p, shared)
			wantError(t, err, errdefs.ErrISCSIOtherPortal, errdefs.FailedPrecondition)
			wantUnchanged(t, node, before)
			if ids, err := disks(t.Context(), node, p, shared); err != nil || len(ids) != 0 {
				t.Errorf("disks through %s: %q, %v", p, ids, err)
			}
			must(t, disconnect(t.Context(), node, p, shared))
			wantUnchanged(t, node, before)
		})
	}
}

// With a multipath driver that claims iSCSI, which nobody has to tell us, two
// sessions are one disk (field-reports.md I01).
func TestConnect_Multipath(t *testing.T) {
	node := newNode(t, registered(first, second), func(spec *simhost.NodeSpec) { spec.ISCSI.MPIO = true })
	for _, p := range []*iscsi.TargetPortal{first, second, first} {
		must(t, connect(t.Context(), node, p, shared))
	}
	wantSessions(t, node, shared+" through 10.0.0.10:3260: none, multipath", shared+" through 10.0.0.11:3260: none, multipath")
	for _, p := range []*iscsi.TargetPortal{first, second} {
		if ids, err := disks(t.Context(), node, p, shared); err != nil || !slices.Equal(ids, []string{"1"}) {
			t.Errorf("%s: disks %q, %v", p, ids, err)
		}
	}
	must(t, disconnect(t.Context(), node, first, shared))
	wantSessions(t, node, shared+" through 10.0.0.11:3260: none, multipath")
	must(t, disconnect(t.Context(), node, second, shared))
	wantSessions(t, node)
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

// A session whose connection is broken is neither connected nor made twice.
func TestConnect_LostConnection(t *testing.T) {
	node := newNode(t, registered(first))
	must(t, connect(t.Context(), node, first, open))
	must(t, node.SetISCSIPortal("10.0.0.10:3260", false))
	before := node.Snapshot()
	wantError(t, connect(t.Context(), node, first, open), errdefs.ErrUnavailable, errdefs.Unavailable)
	wantUnchanged(t, node, before)
	must(t, node.SetISCSIPortal("10.0.0.10:3260", true))
	must(t, connect(t.Context(), node, first, open))
	must(t, node.SetISCSIPortal("10.0.0.10:3260", false))
	must(t, disconnect(t.Context(), node, first, open))
	wantError(t, connect(t.Context(), node, first, open), win.ISDSC_CONNECTION_FAILED, errdefs.Unavailable)
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

func TestDisconnect_ISCSI13(t *testing.T) {
	node := newNode(t, registered(first))
	before := node.Snapshot()
	must(t, disconnect(t.Context(), node, first, open))
	wantUnchanged(t, node, before)
	must(t, connect(t.Context(), node, first, open))
	must(t, disconnect(t.Context(), node, first, open))
	must(t, disconnect(t.Context(), node, first, open))
	wantUnchanged(t, node, before)
}

// TXT-6: the word that democratic-csi ignores.
func TestUnknownTarget_TXT6(t *testing.T) {
	for name, call := range map[string]func(context.Context, *simhost.Node, *iscsi.TargetPortal, string) error{
		"DisconnectTarget": disconnect,
		"GetTargetDisks": func(ctx context.Context, n *simhost.Node, p *iscsi.TargetPortal, iqn string) error {
			_, err := disks(ctx, n, p, iqn)
			return err
		},
	} {
		for _, at := range []struct {
			p   *iscsi.TargetPortal
			iqn string
		}{{first, ghost}, {first, wide}, {absent, open}, {second, open}} {
			t.Run(name+" "+at.p.String()+" "+at.iqn, func(t *testing.T) {
				err := call(t.Context(), newNode(t, registered(first)), at.p, at.iqn)
				wantError(t, err, errdefs.ErrNotFound, errdefs.NotFound)
				if !strings.Contains(err.Error(), "ObjectNotFound") {
					t.Errorf("no ObjectNotFound in %v", err)
				}
			})
		}
	}
}

// ISCSI-13: a session that somebody made persistent does not come back.
func TestDisconnect_ISCSI13_Persistent(t *testing.T) {
	node := newNode(t, registered(first))
	invoke(t, node, wmi.Method{Class: "MSFT_iSCSITarget", Name: "Connect", In: []win.Param{
		wmi.String("NodeAddress", open), wmi.String("TargetPortalAddress", "10.0.0.10"), wmi.Uint16("TargetPortalPortNumber", 3260),
		wmi.String("AuthenticationType", "NONE"), wmi.Bool("IsPersistent", true),
	}})
	node.Reboot()
	wantSessions(t, node, openSession+", persistent")
	must(t, connect(t.Context(), node, first, open))
	must(t, disconnect(t.Context(), node, first, open))
	node.Reboot()
	wantSessions(t, node)
}

// ISCSI-14: every session goes, and one that has just ended is no error.
func TestDisconnect_ISCSI14(t *testing.T) {
	node := newNode(t, registered(first), func(spec *simhost.NodeSpec) { spec.ISCSI.MPIO = true })
	for range 2 {
		invoke(t, node, wmi.Method{Class: "MSFT_iSCSITarget", Name: "Connect", In: []win.Param{
			wmi.String("NodeAddress", open), wmi.String("TargetPortalAddress", "10.0.0.10"), wmi.Bool("IsMultipathEnabled", true),
		}})
	}
	wantSessions(t, node, openSession+", multipath", openSession+", multipath")
	must(t, disconnect(t.Context(), node, first, open))
	wantSessions(t, node)
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

func TestDisks_ISCSI15(t *testing.T) {
	node := newNode(t, registered(first, second))
	ids, err := disks(t.Context(), node, first, open)
	if err != nil || ids == nil || len(ids) != 0 {
		t.Errorf("not connected: %#v, %v", ids, err)
	}
	must(t, connect(t.Context(), node, second, wide))
	must(t, connect(t.Context(), node, first, open))
	if ids, err := disks(t.Context(), node, first, open); err != nil || !slices.Equal(ids, []string{"4"}) {
		t.Errorf("got %q, %v", ids, err)
	}
	if ids, err := disks(t.Context(), node, second, wide); err != nil || !slices.Equal(ids, []string{"1", "2", "3"}) {
		t.Errorf("got %q, %v", ids, err)
	}
}

func arrivesAfter(d time.Duration) func(*simhost.NodeSpec) {
	return func(spec *simhost.NodeSpec) { spec.ISCSI.Targets[0].Arrival = simhost.Duration(d) }
}

func TestDisks_Late(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := newNode(t, registered(first), arrivesAfter(10*time.Second))
		start := time.Now()
		must(t, connect(t.Context(), node, first, open))
		if took := time.Since(start); took != 0 {
			t.Errorf("ConnectTarget took %v", took)
		}
		ids, err := disks(t.Context(), node, first, open)
		if took := time.Since(start); err != nil || !slices.Equal(ids, []string{"1"}) || took < 10*time.Second || took > 11*time.Second {
			t.Errorf("got %q, %v after %v", ids, err, took)
		}
	})
}

func TestDisks_TooLate(t *testing.T) {
	for name, budget := range map[string]time.Duration{"own budget": 0, "caller's": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := newNode(t, registered(first), arrivesAfter(time.Hour))
				must(t, connect(t.Context(), node, first, open))
				ctx, want := t.Context(), 30*time.Second
				if budget > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, budget)
					defer cancel()
					want = budget
				}
				start := time.Now()
				ids, err := disks(ctx, node, first, open)
				wantError(t, err, errdefs.ErrUnavailable, errdefs.Unavailable)
				if took := time.Since(start); took != want || ids == nil || len(ids) != 0 {
					t.Errorf("took %v, got %#v", took, ids)
				}
				if budget > 0 && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%v hides that the caller's time is over", err)
				}
			})
		})
	}
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
