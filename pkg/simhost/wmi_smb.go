// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

const smbMappingClass = "MSFT_SmbGlobalMapping"

func addSMBClasses(classes map[string]wmiClass) {
	classes[smbMappingClass] = wmiClass{
		instances: func(n *Node) []cimObject {
			var rows []cimObject
			for _, m := range n.smb.mappings {
				rows = append(rows, m.object())
			}
			return rows
		},
		methods: map[string]wmiMethod{"Create": smbCreate, "Remove": smbRemove},
	}
}

func (m *smbMapping) object() cimObject {
	return cimObject{
		"LocalPath": m.localPath, "RemotePath": m.remotePath, "Status": m.status,
		"RequirePrivacy": m.privacy, "RequireIntegrity": m.integrity, "UseWriteThrough": false,
	}
}

// smbCreate is MSFT_SmbGlobalMapping.Create (windows-api.md 9.2 to 9.4).
func smbCreate(n *Node, _, in cimObject) (cimObject, win.ReturnValue, error) {
	m := &smbMapping{}
	m.localPath, _ = in["LocalPath"].(string)
	m.remotePath, _ = in["RemotePath"].(string)
	m.privacy, _ = in["RequirePrivacy"].(bool)
	m.integrity, _ = in["RequireIntegrity"].(bool)
	m.persistent, _ = in["Persistent"].(bool)
	var named, understood bool
	m.host, m.share, named = splitShare(m.remotePath)
	m.credential, understood = parseCredential(in["Credential"])
	if !named || !understood {
		return nil, 0, smbFailure(win.ERROR_INVALID_PARAMETER)
	}
	if err := n.mapShare(m); err != nil {
		return nil, 0, smbFailure(err)
	}
	class, _ := n.schema().class(smbNamespace, smbMappingClass)
	return cimObject{"CreatedMapping": class.embedded(m.object())}, 0, nil
}

const smbNamespace = `root\Microsoft\Windows\SMB`

// parseCredential reads user:password, where a backslash escapes itself and the
// colon in the user and nothing in the password (windows-api.md 9.3). NULL is
// the node's own account.
func parseCredential(v any) (credential, bool) {
	text, given := v.(string)
	if !given {
		return credential{own: true}, true
	}
	var user strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case ':':
			return credential{user: user.String(), password: text[i+1:]}, true
		case '\\':
			if i++; i == len(text) {
				return credential{}, false
			}
		}
		user.WriteByte(text[i])
	}
	return credential{}, false
}

// smbRemove is MSFT_SmbGlobalMapping.Remove. That files of the share are open
// is not modelled, so Force makes no difference.
func smbRemove(n *Node, self, _ cimObject) (cimObject, win.ReturnValue, error) {
	for i, m := range n.smb.mappings {
		if strings.EqualFold(m.localPath, self["LocalPath"].(string)) && strings.EqualFold(m.remotePath, self["RemotePath"].(string)) {
			n.smb.mappings = append(n.smb.mappings[:i:i], n.smb.mappings[i+1:]...)
			return nil, 0, nil
		}
	}
	return nil, 0, smbFailure(win.ERROR_NOT_CONNECTED)
}

// smbFailure is how the provider fails: WBEM_E_FAILED with an error object that
// has the Win32 code (windows-api.md 9.2). Silence stays what it is.
func smbFailure(err error) error {
	code, ok := err.(win.Errno) //nolint:errorlint // the model's own codes are bare
	if !ok {
		return err
	}
	return &win.ProviderError{Code: win.WBEM_E_FAILED, Info: win.Row{
		sysClass:                    "MSFT_WmiError",
		"error_Category":            int32(0),
		"error_Code":                int32(code),
		"error_Type":                "Windows System Error",
		"error_WindowsErrorMessage": code.Error(),
	}}
}
