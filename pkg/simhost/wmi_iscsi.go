// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// addISCSIClasses adds what the iSCSI initiator's provider answers for
// (windows-api.md 10.2). It answers nothing while the service does not run.
func addISCSIClasses(classes map[string]wmiClass) {
	mine := map[string]wmiClass{
		"MSFT_iSCSITargetPortal": {instances: (*Node).portalObjects, methods: map[string]wmiMethod{
			"New": wmiNewPortal, "Remove": onPortal((*Node).wmiRemovePortal), "Update": onPortal((*Node).wmiUpdatePortal),
		}},
		"MSFT_iSCSITarget": {instances: (*Node).targetObjects, methods: map[string]wmiMethod{
			"Connect": wmiConnect, "Disconnect": wmiDisconnect, "Update": wmiUpdateTarget,
		}},
		"MSFT_iSCSISession": {instances: (*Node).sessionObjects, methods: map[string]wmiMethod{
			"Register": onSession((*Node).wmiRegister), "Unregister": onSession((*Node).wmiUnregister), "SetCHAPSecret": wmiSetSecret,
		}},
		"MSFT_iSCSIConnection":                 {instances: (*Node).connectionObjects},
		"MSFT_InitiatorPort":                   {instances: (*Node).initiatorObjects},
		"MSFT_iSCSITargetToiSCSITargetPortal":  associate("iSCSITarget", "iSCSITargetPortal", (*Node).targetsWithPortals),
		"MSFT_iSCSITargetToiSCSISession":       associate("iSCSITarget", "iSCSISession", sessionsWith(targetOfSession, (*iscsiSession).object)),
		"MSFT_iSCSISessionToiSCSIConnection":   associate("iSCSISession", "iSCSIConnection", sessionsWith((*iscsiSession).object, (*iscsiSession).connection)),
		"MSFT_iSCSITargetToiSCSIConnection":    associate("iSCSITarget", "iSCSIConnection", sessionsWith(targetOfSession, (*iscsiSession).connection)),
		"MSFT_iSCSISessionToDisk":              associate("iSCSISession", "Disk", disksWith((*iscsiSession).object)),
		"MSFT_iSCSIConnectionToDisk":           associate("iSCSIConnection", "Disk", disksWith((*iscsiSession).connection)),
		"MSFT_iSCSISessionToiSCSITargetPortal": associate("iSCSISession", "iSCSITargetPortal", portalsWith((*iscsiSession).object)),
	}
	for name, class := range mine {
		class.ready = (*Node).iscsiAnswers
		if name == "MSFT_InitiatorPort" { // the storage provider's
			class.ready = nil
		}
		classes[name] = class
	}
}

// iscsiAnswers is how a query fares while the service does not run.
func (n *Node) iscsiAnswers() error {
	if n.iscsiRuns() || n.switches.ISCSIStoppedEmpty {
		return nil
	}
	return win.HRESULT(win.ISDSC_SERVICE_NOT_RUNNING)
}

// answering are objects, none of which shows while the service does not run.
func answering[T any](n *Node, objects []T) []T {
	if !n.iscsiRuns() {
		return nil
	}
	return objects
}

func (n *Node) portalObjects() []cimObject {
	var objects []cimObject
	for _, r := range answering(n, n.iscsi.registered) {
		objects = append(objects, r.object())
	}
	return objects
}

func (r *iscsiRegistration) object() cimObject {
	return cimObject{
		"TargetPortalAddress": r.address, "TargetPortalPortNumber": r.portal.port,
		"InitiatorInstanceName": "", "InitiatorPortalAddress": "", "IsDataDigest": false, "IsHeaderDigest": false,
	}
}

func (n *Node) targetObjects() []cimObject {
	var objects []cimObject
	for _, name := range answering(n, n.iscsi.knownTargets()) {
		objects = append(objects, n.targetObject(name))
	}
	return objects
}

func (n *Node) targetObject(name string) cimObject {
	return cimObject{"NodeAddress": name, "IsConnected": len(n.iscsi.sessionsOf(name)) > 0}
}

func targetOfSession(s *iscsiSession) cimObject {
	return cimObject{"NodeAddress": s.target.name, "IsConnected": true}
}

func (n *Node) sessionObjects() []cimObject {
	var objects []cimObject
	for _, s := range answering(n, n.iscsi.sessions) {
		objects = append(objects, s.objectOf(n.iscsi.initiator))
	}
	return objects
}

func (s *iscsiSession) object() cimObject {
	connections := uint32(1)
	if s.lost {
		connections = 0
	}
	return cimObject{
		"SessionIdentifier": s.id, "TargetNodeAddress": s.target.name, "AuthenticationType": s.auth,
		"IsConnected": !s.lost, "IsPersistent": s.persistent, "IsDiscovered": true, "NumberOfConnections": connections,
		"InitiatorInstanceName": `ROOT\ISCSIPRT\0000_0`, "InitiatorPortalAddress": "0.0.0.0",
		"InitiatorSideIdentifier": "400001370000", "TargetSideIdentifier": "0100", "IsDataDigest": false, "IsHeaderDigest": false,
	}
}

func (s *iscsiSession) objectOf(initiator string) cimObject {
	o := s.object()
	o["InitiatorNodeAddress"] = initiator
	return o
}

func (n *Node) connectionObjects() []cimObject {
	var objects []cimObject
	for _, s := range answering(n, n.iscsi.sessions) {
		if !s.lost {
			objects = append(objects, s.connection())
		}
	}
	return objects
}

func (s *iscsiSession) connection() cimObject {
	address, port := s.endpoint()
	return cimObject{
		"ConnectionIdentifier": s.id[:17] + s.id[len(s.id)-2:], "InitiatorAddress": "0.0.0.0", "InitiatorPortNumber": uint32(49152),
		"TargetAddress": address, "TargetPortNumber": uint32(port),
	}
}

func (n *Node) initiatorObjects() []cimObject {
	if !n.iscsi.used {
		return nil
	}
	return []cimObject{{
		"ObjectId":     wmiObjectID("WSP_InitiatorPort", "IP", n.iscsi.initiator),
		"InstanceName": `ROOT\ISCSIPRT\0000_0`, "NodeAddress": n.iscsi.initiator, "ConnectionType": uint16(2),
		"PortAddress": "ISCSI ANY PORT", "OperationalStatus": []uint16{2},
	}}
}

func (n *Node) targetsWithPortals() [][2]cimObject {
	var pairs [][2]cimObject
	for _, r := range answering(n, n.iscsi.registered) {
		for _, name := range r.found {
			pairs = append(pairs, [2]cimObject{n.targetObject(name), r.object()})
		}
	}
	return pairs
}

// sessionsWith pairs two objects of each session. A session that is lost has no
// connection.
func sessionsWith(one, other func(*iscsiSession) cimObject) func(*Node) [][2]cimObject {
	return func(n *Node) [][2]cimObject {
		var pairs [][2]cimObject
		for _, s := range answering(n, n.iscsi.sessions) {
			pair := [2]cimObject{one(s), other(s)}
			if _, isConnection := pair[1]["ConnectionIdentifier"]; isConnection && s.lost {
				continue
			}
			pairs = append(pairs, pair)
		}
		return pairs
	}
}

// disksWith pairs an object of each session with its disks.
func disksWith(of func(*iscsiSession) cimObject) func(*Node) [][2]cimObject {
	return func(n *Node) [][2]cimObject {
		var pairs [][2]cimObject
		for _, s := range answering(n, n.iscsi.sessions) {
			for _, d := range s.target.luns {
				if s.attached && d.present && n.iscsiSees(d) {
					pairs = append(pairs, [2]cimObject{of(s), n.diskObject(d)})
				}
			}
		}
		return pairs
	}
}

// iscsiSees reports whether the association has a disk: at once, or from when
// the storage provider has read it.
func (n *Node) iscsiSees(d *disk) bool {
	return !n.switches.ISCSIDisksNeedRescan ||
		slices.ContainsFunc(n.storage().disks, func(c *cachedDisk) bool { return c.path == d.interfacePath })
}

func portalsWith(of func(*iscsiSession) cimObject) func(*Node) [][2]cimObject {
	return func(n *Node) [][2]cimObject {
		var pairs [][2]cimObject
		for _, s := range answering(n, n.iscsi.sessions) {
			for _, r := range n.iscsi.registered {
				if r.portal == s.portal {
					pairs = append(pairs, [2]cimObject{of(s), r.object()})
				}
			}
		}
		return pairs
	}
}

// iscsiFailure is how the provider tells a status: as the HRESULT of the call,
// or as the switch says (windows-api.md 10.5).
func (n *Node) iscsiFailure(err error) (cimObject, win.ReturnValue, error) {
	status, ok := err.(win.ISDSC) //nolint:errorlint // the model's own codes are bare
	if !ok {
		return nil, 0, err
	}
	switch n.switches.ISCSIStatus {
	case ISCSIStatusInObject:
		return nil, 0, &win.ProviderError{Code: win.WBEM_E_FAILED, Info: win.Row{
			sysClass: "MSFT_WmiError", "error_Code": int32(status), "error_Type": "HRESULT", "Message": iscsiTexts[status],
		}}
	case ISCSIStatusReturned:
		return nil, win.ReturnValue(status), nil
	default:
		return nil, 0, &win.ProviderError{Code: win.HRESULT(status), Info: win.Row{sysClass: "MSFT_WmiError", "Message": iscsiTexts[status]}}
	}
}

// iscsiTexts are Windows' words for some (behaviour.md TXT-5).
var iscsiTexts = map[win.ISDSC]string{
	win.ISDSC_CONNECTION_FAILED:        "Connection Failed.",
	win.ISDSC_AUTHENTICATION_FAILURE:   "Authentication Failure.",
	win.ISDSC_TARGET_ALREADY_LOGGED_IN: "The target has already been logged in via an iSCSI session.",
	win.ISDSC_DEVICE_BUSY_ON_SESSION:   "The session cannot be logged out since a device on that session is currently being used.",
}

// text is a parameter or property, "" for NULL.
func (o cimObject) text(name string) string {
	s, _ := o[name].(string)
	return s
}

// portalPort is the port of a portal's parameters or properties, 0 for NULL.
func (o cimObject) portalPort() uint16 {
	port, _ := o["TargetPortalPortNumber"].(uint16)
	return port
}

func wmiNewPortal(n *Node, _, in cimObject) (cimObject, win.ReturnValue, error) {
	address, port := in.text("TargetPortalAddress"), or(in.portalPort(), iscsiPort)
	if !n.iscsiRuns() {
		return n.iscsiFailure(win.ISDSC_SERVICE_NOT_RUNNING)
	}
	if err := n.addPortal(address, port); err != nil {
		return n.iscsiFailure(err)
	}
	return cimObject{"CreatedTargetPortal": n.embed("MSFT_iSCSITargetPortal", n.iscsi.registration(address, port).object())}, 0, nil
}

// onPortal finds the portal that a method is for. The port is no key, so that
// the parameters tell (windows-api.md 10.2).
func onPortal(do func(*Node, *iscsiRegistration) error) wmiMethod {
	return func(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error) {
		address := or(in.text("TargetPortalAddress"), self.text("TargetPortalAddress"))
		port := or(in.portalPort(), self.portalPort())
		r := n.iscsi.registration(address, port)
		err := error(win.ISDSC_PORTAL_NOT_FOUND)
		if r != nil {
			err = do(n, r)
		}
		return n.iscsiFailure(err)
	}
}

// wmiRemovePortal forgets a portal; its sessions stay.
func (n *Node) wmiRemovePortal(r *iscsiRegistration) error {
	n.iscsi.registered = slices.DeleteFunc(n.iscsi.registered, func(o *iscsiRegistration) bool { return o == r })
	return nil
}

func (n *Node) wmiUpdatePortal(r *iscsiRegistration) error {
	if r.portal.down {
		return win.ISDSC_CONNECTION_FAILED
	}
	n.iscsi.discover(r)
	return nil
}

func wmiConnect(n *Node, _, in cimObject) (cimObject, win.ReturnValue, error) {
	if !n.iscsiRuns() {
		return n.iscsiFailure(win.ISDSC_SERVICE_NOT_RUNNING)
	}
	multipath, _ := in["IsMultipathEnabled"].(bool)
	persistent, _ := in["IsPersistent"].(bool)
	s, err := n.connectTarget(iscsiLogin{
		target: in.text("NodeAddress"), address: in.text("TargetPortalAddress"), port: or(in.portalPort(), iscsiPort),
		auth: or(in.text("AuthenticationType"), "NONE"), user: in.text("ChapUsername"), secret: in.text("ChapSecret"), multipath: multipath,
	}, persistent)
	if err != nil {
		return n.iscsiFailure(err)
	}
	return cimObject{"CreatediSCSISession": n.embed("MSFT_iSCSISession", s.objectOf(n.iscsi.initiator))}, 0, nil
}

func wmiDisconnect(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error) {
	for _, s := range n.iscsi.sessionsOf(self.text("NodeAddress")) {
		if strings.EqualFold(s.id, in.text("SessionIdentifier")) {
			return n.iscsiFailure(n.disconnectTarget(s))
		}
	}
	return n.iscsiFailure(win.ISDSC_INVALID_SESSION_ID)
}

// wmiUpdateTarget asks the portals of a target again.
func wmiUpdateTarget(n *Node, _, _ cimObject) (cimObject, win.ReturnValue, error) {
	for _, r := range n.iscsi.registered {
		if !r.portal.down {
			n.iscsi.discover(r)
		}
	}
	return nil, 0, nil
}

// onSession finds the session that a method is for.
func onSession(do func(n *Node, s *iscsiSession, in cimObject)) wmiMethod {
	return func(n *Node, self, in cimObject) (cimObject, win.ReturnValue, error) {
		for _, s := range n.iscsi.sessions {
			if s.id == self.text("SessionIdentifier") {
				do(n, s, in)
			}
		}
		return nil, 0, nil
	}
}

func (n *Node) wmiRegister(s *iscsiSession, in cimObject) {
	if s.persistent {
		return
	}
	s.login.user, s.login.secret = or(in.text("ChapUsername"), s.login.user), or(in.text("ChapSecret"), s.login.secret)
	s.persistent = true
	n.iscsi.logins = append(n.iscsi.logins, s.login)
}

func (n *Node) wmiUnregister(s *iscsiSession, _ cimObject) { n.forgetLogin(s) }

// wmiSetSecret sets the secret with which targets prove themselves, for the
// whole node (windows-api.md 10.3).
func wmiSetSecret(n *Node, _, in cimObject) (cimObject, win.ReturnValue, error) {
	secret := in.text("ChapSecret")
	if !n.iscsiRuns() {
		return n.iscsiFailure(win.ISDSC_SERVICE_NOT_RUNNING)
	}
	switch {
	case len(secret) < iscsiSecretMin:
		return n.iscsiFailure(win.ISDSC_SHORT_CHAP_SECRET)
	case len(secret) > iscsiSecretMax:
		return n.iscsiFailure(win.ISDSC_INVALID_INITIATOR_CHAP_SECRET)
	}
	n.iscsi.secret = secret
	return nil, 0, nil
}
