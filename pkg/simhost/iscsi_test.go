// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

const (
	iqnOpen = "iqn.2020-01.example.san:open"
	iqnCHAP = "iqn.2020-01.example.san:chap"
)

// iscsiSpec is a node whose initiator runs, before two portals with two targets.
func iscsiSpec() NodeSpec {
	lun := func(name string) DiskSpec { return DiskSpec{Name: name, Size: GiB, Serial: name} }
	return NodeSpec{
		Version: SpecVersion, Name: "iscsi",
		Services: []ServiceSpec{{Name: "MSiSCSI", Start: "auto"}},
		ISCSI: &ISCSISpec{
			Portals: []ISCSIPortalSpec{{Address: "10.0.0.10", Registered: true}, {Address: "10.0.0.10", Port: 3261}, {Address: "fd00::10"}},
			Targets: []ISCSITargetSpec{
				{Name: iqnOpen, LUNs: []DiskSpec{lun("open-0"), lun("open-1")}},
				{Name: iqnCHAP, Portals: []string{"10.0.0.10:3260", "[fd00::10]:3260"}, User: "user", Secret: "averylongsecret", MutualSecret: "made-up-pass"},
			},
		},
	}
}

// initiator is a client of the provider.
type initiator struct{ *wmiClient }

func newInitiator(t *testing.T, n *Node) initiator {
	t.Helper()
	c := newWMIClient(t, n)
	return initiator{c}
}

// connect logs in; in are further parameters.
func (i initiator) connect(address string, port uint16, target string, in ...win.Param) error {
	return i.method("MSFT_iSCSITarget", "", "Connect", append(in,
		param("NodeAddress", target), param("TargetPortalAddress", address), param("TargetPortalPortNumber", int32(port)))...)
}

// method calls a method and returns how it failed.
func (i initiator) method(class, path, method string, in ...win.Param) error {
	_, err := i.call(class, path, method, in...)
	return err
}

func (i initiator) rows(wql string) []win.Row {
	i.t.Helper()
	rows, err := i.query(wql)
	if err != nil {
		i.t.Fatalf("%s: %v", wql, err)
	}
	return rows
}

func chapParams(kind, user, secret string) []win.Param {
	return []win.Param{param("AuthenticationType", kind), param("ChapUsername", user), param("ChapSecret", secret)}
}

func isStatus(err error, status win.ISDSC) bool { return errors.Is(err, win.HRESULT(status)) }

// The statuses of a login (windows-api.md 10.2, 10.3).
func TestISCSI_Connect(t *testing.T) {
	const long = "seventeen-bytes-x"
	for _, test := range []struct {
		name    string
		address string
		port    uint16
		target  string
		in      []win.Param
		want    win.ISDSC // 0: connects
	}{
		{"no CHAP", "10.0.0.10", 3260, iqnOpen, nil, 0},
		{"other case", "10.0.0.10", 3260, strings.ToUpper(iqnOpen), nil, 0},
		{"other spelling", "fd00:0::10", 3260, iqnOpen, nil, 0},
		{"unknown target", "10.0.0.10", 3260, "iqn.2020-01.example.san:ghost", nil, win.ISDSC_TARGET_NOT_FOUND},
		{"no portal there", "10.0.0.99", 3260, iqnOpen, nil, win.ISDSC_CONNECTION_FAILED},
		{"portal without the target", "10.0.0.10", 3261, iqnCHAP, nil, win.ISDSC_NOT_FOUND},
		{"CHAP", "10.0.0.10", 3260, iqnCHAP, chapParams("ONEWAYCHAP", "user", "averylongsecret"), 0},
		{"CHAP wanted", "10.0.0.10", 3260, iqnCHAP, nil, win.ISDSC_AUTHENTICATION_FAILURE},
		{"CHAP not wanted", "10.0.0.10", 3260, iqnOpen, chapParams("ONEWAYCHAP", "user", "averylongsecret"), win.ISDSC_AUTHENTICATION_FAILURE},
		{"other secret", "10.0.0.10", 3260, iqnCHAP, chapParams("ONEWAYCHAP", "user", "anothersecret"), win.ISDSC_AUTHENTICATION_FAILURE},
		{"other user", "10.0.0.10", 3260, iqnCHAP, chapParams("ONEWAYCHAP", "other", "averylongsecret"), win.ISDSC_AUTHENTICATION_FAILURE},
		{"short secret", "10.0.0.10", 3260, iqnCHAP, chapParams("ONEWAYCHAP", "user", "short"), win.ISDSC_SHORT_CHAP_SECRET},
		{"long secret", "10.0.0.10", 3260, iqnCHAP, chapParams("ONEWAYCHAP", "user", long), win.ISDSC_INVALID_CHAP_SECRET},
		{"no secret of its own", "10.0.0.10", 3260, iqnCHAP, chapParams("MUTUALCHAP", "user", "averylongsecret"), win.ISDSC_NO_AUTH_INFO},
		{"unknown kind", "10.0.0.10", 3260, iqnOpen, chapParams("KERBEROS", "", ""), win.ISDSC_INVALID_AUTHENTICATION_TYPE},
	} {
		n := mustNode(t, iscsiSpec()) // no t.Run: it has another thread
		i := newInitiator(t, n)
		err := i.connect(test.address, test.port, test.target, test.in...)
		if test.want == 0 && err != nil || test.want != 0 && !isStatus(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
		if got := len(i.rows("SELECT * FROM MSFT_iSCSISession")); got != 1 && test.want == 0 || got != 0 && test.want != 0 {
			t.Errorf("%s: %d sessions", test.name, got)
		}
	}
}

func TestISCSI_LUNsComeAndGo(t *testing.T) {
	n := mustNode(t, iscsiSpec())
	if _, err := n.AttachDisk("open-0"); err == nil {
		t.Error("a LUN was attached without a login")
	}
	i := newInitiator(t, n)
	if err := i.connect("10.0.0.10", 3260, iqnOpen); err != nil {
		t.Fatal(err)
	}
	for k, name := range []string{"open-0", "open-1"} {
		if number, ok := n.DiskNumber(name); !ok || number != uint32(k+1) {
			t.Errorf("%s is disk %d, %t", name, number, ok)
		}
	}
	if err := i.connect("10.0.0.10", 3260, iqnOpen); !isStatus(err, win.ISDSC_TARGET_ALREADY_LOGGED_IN) {
		t.Errorf("again: %v", err)
	}
	session := i.rows("SELECT * FROM MSFT_iSCSISession")[0]
	out := param("SessionIdentifier", session["SessionIdentifier"])
	path := `MSFT_iSCSITarget.NodeAddress="` + iqnOpen + `"`
	if err := i.method("MSFT_iSCSITarget", path, "Disconnect", out); err != nil {
		t.Error(err)
	}
	if _, ok := n.DiskNumber("open-0"); ok {
		t.Error("the disk has stayed")
	}
	if err := i.method("MSFT_iSCSITarget", path, "Disconnect", out); !isStatus(err, win.ISDSC_INVALID_SESSION_ID) {
		t.Errorf("again: %v", err)
	}
}

// Two sessions without a multipath driver are the same disk twice.
func TestISCSI_SameDiskTwice(t *testing.T) {
	for _, mpio := range []bool{false, true} {
		spec := iscsiSpec()
		spec.ISCSI.MPIO = mpio
		n := mustNode(t, spec)
		i := newInitiator(t, n)
		for _, port := range []uint16{3260, 3261} {
			if err := i.connect("10.0.0.10", port, iqnOpen, param("IsMultipathEnabled", true)); err != nil {
				t.Fatal(err)
			}
		}
		if got := len(n.Violations()); (got == 0) != mpio {
			t.Errorf("MPIO %t: %d violations", mpio, got)
		}
		n.wmi.violations = nil // or the client fails the test
	}
}

func TestISCSI_Associators(t *testing.T) {
	n := mustNode(t, iscsiSpec())
	i := newInitiator(t, n)
	if err := i.connect("10.0.0.10", 3260, iqnOpen); err != nil {
		t.Fatal(err)
	}
	session := i.rows("SELECT * FROM MSFT_iSCSISession")[0][sysPath].(string)
	of := func(path, association, class string) string {
		return fmt.Sprintf("ASSOCIATORS OF {%s} WHERE AssocClass = %s ResultClass = %s", path, association, class)
	}
	target := `MSFT_iSCSITarget.NodeAddress="` + iqnOpen + `"`
	for _, test := range []struct {
		query, property string
		want            []any
	}{
		{of(session, "MSFT_iSCSISessionToDisk", "MSFT_Disk"), "Number", []any{int32(1), int32(2)}},
		{of(session, "MSFT_iSCSISessionToiSCSIConnection", "MSFT_iSCSIConnection"), "TargetAddress", []any{"10.0.0.10"}},
		{of(session, "MSFT_iSCSISessionToiSCSITargetPortal", "MSFT_iSCSITargetPortal"), "TargetPortalPortNumber", []any{int32(3260)}},
		{of(target, "MSFT_iSCSITargetToiSCSITargetPortal", "MSFT_iSCSITargetPortal"), "TargetPortalPortNumber", []any{int32(3260)}},
		{of(target, "MSFT_iSCSITargetToiSCSISession", "MSFT_iSCSISession"), "IsConnected", []any{true}},
		{of(target, "MSFT_iSCSITargetToiSCSISession", "MSFT_Disk"), "Number", nil},
		{of(`MSFT_iSCSITargetPortal.TargetPortalAddress="10.0.0.10"`, "MSFT_iSCSITargetToiSCSITargetPortal", "MSFT_iSCSITarget"), "NodeAddress", []any{iqnOpen, iqnCHAP}},
		{of(`MSFT_Disk.ObjectId="x"`, "MSFT_DiskToPartition", "MSFT_Partition"), "", nil},
	} {
		rows, err := i.query(test.query)
		if test.property == "" {
			if !errors.Is(err, win.WBEM_E_NOT_FOUND) {
				t.Errorf("%s: %v", test.query, err)
			}
			continue
		}
		var got []any
		for _, r := range rows {
			got = append(got, r[test.property])
		}
		if err != nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: got %v, %v, want %v", test.query, got, err, test.want)
		}
	}
	for query, want := range map[string]error{
		"ASSOCIATORS OF {x} WHERE AssocClass = MSFT_iSCSISessionToDisk":                               win.WBEM_E_INVALID_QUERY,
		"ASSOCIATORS OF {" + target + "} WHERE ResultClass = MSFT_Disk":                               win.WBEM_E_INVALID_QUERY,
		of(target, "MSFT_NoSuch", "MSFT_Disk"):                                                        win.WBEM_E_INVALID_CLASS,
		of("MSFT_iSCSITarget", "MSFT_iSCSITargetToiSCSISession", "MSFT_iSCSISession"):                 win.WBEM_E_INVALID_OBJECT_PATH,
		of("MSFT_iSCSITarget.x=", "MSFT_iSCSITargetToiSCSISession", "MSFT_iSCSISession"):              win.WBEM_E_INVALID_OBJECT_PATH,
		of(target, "MSFT_Disk", "MSFT_Disk"):                                                          win.WBEM_E_INVALID_QUERY,
		of(`MSFT_iSCSITarget.NodeAddress="x"`, "MSFT_iSCSITargetToiSCSISession", "MSFT_iSCSISession"): win.WBEM_E_NOT_FOUND,
	} {
		if _, err := i.query(query); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", query, err, want)
		}
	}
}

// While its service does not run, the initiator does nothing (windows-api.md
// 10.1).
func TestISCSI_Stopped(t *testing.T) {
	spec := iscsiSpec()
	spec.Services = []ServiceSpec{{Name: "MSiSCSI"}}
	i := newInitiator(t, mustNode(t, spec))
	for name, err := range map[string]error{
		"New":           i.method("MSFT_iSCSITargetPortal", "", "New", param("TargetPortalAddress", "fd00::10")),
		"Connect":       i.connect("10.0.0.10", 3260, iqnOpen),
		"SetCHAPSecret": i.method("MSFT_iSCSISession", "", "SetCHAPSecret", param("ChapSecret", "averylongsecret")),
	} {
		if !isStatus(err, win.ISDSC_SERVICE_NOT_RUNNING) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// behaviour.md ISCSI-12: a secret has 12 to 16 bytes.
func TestISCSI_SecretLengths(t *testing.T) {
	i := newInitiator(t, mustNode(t, iscsiSpec()))
	for length, want := range map[int]win.ISDSC{
		11: win.ISDSC_SHORT_CHAP_SECRET, 12: 0, 16: 0, 17: win.ISDSC_INVALID_INITIATOR_CHAP_SECRET,
	} {
		err := i.method("MSFT_iSCSISession", "", "SetCHAPSecret", param("ChapSecret", strings.Repeat("x", length)))
		if want == 0 && err != nil || want != 0 && !isStatus(err, want) {
			t.Errorf("%d bytes: got %v, want %v", length, err, want)
		}
	}
}

// A portal that is registered already is an error, or none where that is how
// Windows has it.
func TestISCSI_PortalAgain(t *testing.T) {
	for _, again := range []bool{false, true} {
		spec := iscsiSpec()
		spec.Switches.ISCSIPortalAgain = again
		i := newInitiator(t, mustNode(t, spec))
		err := i.method("MSFT_iSCSITargetPortal", "", "New", param("TargetPortalAddress", "10.0.0.10"))
		if again && err != nil || !again && !isStatus(err, win.ISDSC_PORTAL_ALREADY_EXISTS) {
			t.Errorf("switch %t: got %v", again, err)
		}
		if rows := i.rows("SELECT * FROM MSFT_iSCSITargetPortal"); len(rows) != 1 {
			t.Errorf("switch %t: %d portals", again, len(rows))
		}
	}
}

// A session that is registered comes back after a restart, once, also where it is
// registered again; and does not after it has been taken out.
func TestISCSI_Register(t *testing.T) {
	for methods, want := range map[string]int{"Register Register": 1, "Register Register Unregister": 0} {
		n := mustNode(t, iscsiSpec())
		i := newInitiator(t, n)
		if err := i.connect("10.0.0.10", 3260, iqnOpen); err != nil {
			t.Fatal(err)
		}
		for again, method := range strings.Fields(methods) {
			session := i.rows("SELECT * FROM MSFT_iSCSISession")[0]
			var in []win.Param
			if method == "Register" && again > 0 {
				in = []win.Param{param("ChapUsername", "another")}
			}
			if err := i.method("MSFT_iSCSISession", session[sysRelPath].(string), method, in...); err != nil {
				t.Fatal(err)
			}
		}
		if session := i.rows("SELECT * FROM MSFT_iSCSISession")[0]; session["IsPersistent"] != (want == 1) {
			t.Errorf("%s: got %v", methods, session)
		}
		n.Reboot()
		if got := strings.Count(string(n.Snapshot()), "iSCSI session"); got != want {
			t.Errorf("%s: %d sessions after a restart, want %d", methods, got, want)
		}
	}
}

// The connections of sessions, and what the initiator has to connect with.
func TestISCSI_Rows(t *testing.T) {
	i := newInitiator(t, mustNode(t, iscsiSpec()))
	if err := i.connect("10.0.0.10", 3260, iqnOpen); err != nil {
		t.Fatal(err)
	}
	connections := i.rows("SELECT * FROM MSFT_iSCSIConnection")
	if len(connections) != 1 || connections[0]["TargetAddress"] != "10.0.0.10" || connections[0]["TargetPortNumber"] != int32(3260) {
		t.Errorf("connections %v", connections)
	}
	if ports := i.rows("SELECT * FROM MSFT_InitiatorPort"); len(ports) != 1 || ports[0]["NodeAddress"] == nil {
		t.Errorf("ports %v", ports)
	}
}

// A portal that does not answer is not registered, and no session is made to what
// is not described.
func TestISCSI_Absent(t *testing.T) {
	n := mustNode(t, iscsiSpec())
	i := newInitiator(t, n)
	if err := i.method("MSFT_iSCSITargetPortal", "", "New", param("TargetPortalAddress", "10.0.0.99")); !isStatus(err, win.ISDSC_CONNECTION_FAILED) {
		t.Errorf("got %v", err)
	}
	if rows := i.rows("SELECT * FROM MSFT_iSCSITargetPortal"); len(rows) != 1 {
		t.Errorf("%d portals", len(rows))
	}
	if n.AddISCSISession("x", "10.0.0.10:3260", false) == nil || n.AddISCSISession(iqnOpen, "10.0.0.99:3260", false) == nil {
		t.Error("no error")
	}
	if err := n.AddISCSISession(iqnCHAP, "10.0.0.10:3260", false); err != nil {
		t.Error(err)
	}
	if rows := i.rows("SELECT * FROM MSFT_iSCSISession"); len(rows) != 1 || rows[0]["TargetNodeAddress"] != iqnCHAP {
		t.Errorf("sessions %v", rows)
	}
}

// Sessions end with a reboot but for persistent ones; portals stay.
func TestISCSI_Reboot(t *testing.T) {
	for _, persistent := range []bool{false, true} {
		for _, start := range []string{"auto", "manual"} {
			spec := iscsiSpec()
			spec.Services = []ServiceSpec{{Name: "MSiSCSI", Start: start, State: "running"}}
			n := mustNode(t, spec)
			if err := newInitiator(t, n).connect("10.0.0.10", 3260, iqnOpen, param("IsPersistent", persistent)); err != nil {
				t.Fatal(err)
			}
			n.Reboot()
			if got, want := strings.Contains(string(n.Snapshot()), "iSCSI session"), persistent && start == "auto"; got != want {
				t.Errorf("persistent %t, %s: a session %t", persistent, start, got)
			}
			if !strings.Contains(string(n.Snapshot()), "iSCSI portal 10.0.0.10:3260: offers 2 targets") {
				t.Errorf("the portal is gone:\n%s", n.Snapshot())
			}
		}
	}
}

func TestISCSI_LateDisksOfAnEndedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := iscsiSpec()
		spec.ISCSI.Targets[0].Arrival = Duration(time.Second)
		n := mustNode(t, spec)
		n.mu.Lock()
		s, err := n.connectTarget(iscsiLogin{target: iqnOpen, address: "10.0.0.10", port: 3260, auth: "NONE"}, false)
		if err == nil {
			err = n.disconnectTarget(s)
		}
		n.mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if _, ok := n.DiskNumber("open-0"); ok {
			t.Error("a disk arrived after the logout")
		}
	})
}

func TestISCSI_Descriptions(t *testing.T) {
	for name, edit := range map[string]func(*ISCSISpec){
		"portal twice":     func(s *ISCSISpec) { s.Portals = append(s.Portals, ISCSIPortalSpec{Address: "FD00:0::10", Port: 3260}) },
		"portal nowhere":   func(s *ISCSISpec) { s.Portals[0].Address = "" },
		"target twice":     func(s *ISCSISpec) { s.Targets[1].Name = strings.ToUpper(iqnOpen) },
		"target nameless":  func(s *ISCSISpec) { s.Targets[1].Name = "" },
		"target at nobody": func(s *ISCSISpec) { s.Targets[1].Portals = []string{"10.0.0.11:3260"} },
		"target at no one": func(s *ISCSISpec) { s.Targets[1].Portals = []string{"10.0.0.10"} },
		"target at words":  func(s *ISCSISpec) { s.Targets[1].Portals = []string{"10.0.0.10:iscsi"} },
		"portal of a name": func(s *ISCSISpec) {
			s.Portals[0].Address, s.Portals[2].Address = "san.example", "SAN.example"
			s.Targets = nil
		},
		"LUN of a name": func(s *ISCSISpec) { s.Targets[0].LUNs[1].Name = "open-0" },
	} {
		spec := iscsiSpec()
		edit(spec.ISCSI)
		if _, err := New(spec); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	n := mustNode(t, iscsiSpec())
	if err := errors.Join(n.SetISCSIPortal("10.0.0.10:3260", false), n.SetISCSISecret(iqnCHAP, "another-secret")); err != nil {
		t.Error(err)
	}
	for _, err := range []error{n.SetISCSIPortal("10.0.0.99:3260", true), n.SetISCSIPortal("10.0.0.10", true), n.SetISCSISecret("x", "")} {
		if err == nil {
			t.Error("no error")
		}
	}
	if text := string(n.Snapshot()); strings.Contains(text, "another-secret") || strings.Contains(text, "averylongsecret") || strings.Contains(text, "made-up-pass") {
		t.Errorf("a secret in:\n%s", text)
	}
}
