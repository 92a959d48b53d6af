// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// canary is a secret that fits a user, a password and a CHAP secret.
const canary = "Canary$\"'47110"

// public are the texts of requests that errors may repeat, with what they say
// here. A text that is not listed is a secret: so a new field is one until
// somebody decides otherwise.
var public = map[string]string{
	"FileSystem": "NTFS", "Label": "Data",
	"Path": `C:\dir`, "SourcePath": `C:\Windows`, "TargetPath": `C:\link`, "LocalPath": `C:\share`,
	"RemotePath": `\\files\data`, "VolumeID": `\\?\Volume{00000000-0000-4000-8000-000000000001}\`,
	"Name": "MSiSCSI", "IQN": "iqn.2024-01.com.example:disk", "TargetAddress": "10.0.0.1",
}

// groups are all groups of a node.
func groups(t *testing.T, n *simhost.Node) []any {
	t.Helper()
	d, diskErr := disk.New(n.Disk())
	v, volumeErr := volume.New(n.Volume())
	f, filesErr := filesystem.New(n.Filesystem())
	m, smbErr := smb.New(n.SMB(), f)
	i, iscsiErr := iscsi.New(n.ISCSI())
	s, systemErr := system.New(n.System())
	for _, err := range []error{diskErr, volumeErr, filesErr, smbErr, iscsiErr, systemErr} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return []any{d, v, f, m, i, s}
}

func newNode(t *testing.T) *simhost.Node {
	t.Helper()
	spec := simhost.NodeSpec{
		Version: simhost.SpecVersion,
		SMB: []simhost.SMBServerSpec{{
			Name: "files", Users: []simhost.SMBUserSpec{{Name: "bob", Password: "secret"}}, Shares: []simhost.SMBShareSpec{{Name: "data"}},
		}},
	}
	n, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// eachRequest calls check with each method of each group that takes a request.
func eachRequest(of []any, check func(method reflect.Value, name string, request reflect.Type)) {
	for _, group := range of {
		v := reflect.ValueOf(group)
		for i := range v.NumMethod() {
			method := v.Type().Method(i)
			if method.Type.NumIn() != 3 || method.Type.In(2).Kind() != reflect.Pointer {
				continue
			}
			request := method.Type.In(2).Elem()
			if strings.HasSuffix(request.Name(), "Request") {
				check(v.Method(i), request.String(), request)
			}
		}
	}
}

// fill makes a request with a canary in every text that is not public, and with
// all options or none. It reports whether there was such a text.
func fill(v reflect.Value, options bool) (secret bool) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), options)
	case reflect.Struct:
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i).Name
			if text, ok := public[name]; ok && field.Kind() == reflect.String {
				field.SetString(text)
				continue
			}
			secret = fill(field, options) || secret
		}
	case reflect.String:
		v.SetString(canary)
		return true
	case reflect.Bool:
		v.SetBool(options)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), options)
	case reflect.Uint32, reflect.Uint64, reflect.Int, reflect.Int64:
		if options && v.CanUint() {
			v.SetUint(1)
		} else if options {
			v.SetInt(1)
		}
	default:
		panic("a request with a " + v.Kind().String())
	}
	return secret
}

// texts are all ways in which a value gets into a log or message.
func texts(t *testing.T, v any) []string {
	t.Helper()
	all := []string{fmt.Sprint(v), fmt.Sprintln(v)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%T", "%10v", "%-20s"} {
		all = append(all, fmt.Sprintf(verb, v))
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%T: %v", v, err)
	}
	all = append(all, string(encoded))
	if v, ok := v.(interface{ MarshalLog() any }); ok { // of logr
		all = append(all, fmt.Sprintf("%+v", v.MarshalLog()))
	}
	var log bytes.Buffer
	level := &slog.HandlerOptions{Level: slog.LevelDebug - 100}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, level), slog.NewJSONHandler(&log, level)} {
		slog.New(handler).Info("request", "value", v, "group", slog.GroupValue(slog.Any("in", v)))
	}
	return append(all, log.String())
}

// tells reports whether a text has the canary, in one of the forms in which it
// may be written.
func tells(text string) bool {
	quoted := fmt.Sprintf("%q", canary)
	return slices.ContainsFunc([]string{
		canary, "Canary", strings.Trim(quoted, `"`), hex.EncodeToString([]byte(canary)), base64.StdEncoding.EncodeToString([]byte(canary)),
	}, func(form string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(form)) })
}

func check(t *testing.T, what string, v any) {
	t.Helper()
	for _, text := range texts(t, v) {
		if tells(text) {
			t.Errorf("%s tells: %s", what, text)
		}
	}
}

// Requests themselves, by value, by pointer and within others.
func TestRequests(t *testing.T) {
	secrets := 0
	eachRequest(groups(t, newNode(t)), func(_ reflect.Value, name string, request reflect.Type) {
		for _, options := range []bool{false, true} {
			req := reflect.New(request)
			if fill(req.Elem(), options) {
				secrets++
			}
			byPointer, byValue := req.Interface(), req.Elem().Interface()
			check(t, name, byPointer)
			check(t, name, byValue)
			check(t, name, []any{byPointer, byValue})
			check(t, name, map[string]any{"request": byValue})
			check(t, name, struct{ Request any }{byValue})
		}
	})
	if want := 2 * 3; secrets < want { // NewSMBGlobalMapping, ConnectTarget, SetMutualChapSecret
		t.Errorf("%d requests with secrets, want %d at least", secrets, want)
	}
}

// What a group passes on to its host.
func TestHostTypes(t *testing.T) {
	check(t, "smb credential", smbapi.Credential{User: canary, Password: canary})
	check(t, "parameter", []win.Param{{Name: "Credential", Value: canary}})
}

// Errors, responses and the list of boundary calls: on a node that works, and
// while each kind of call fails.
func TestCalls(t *testing.T) {
	failures := map[string]error{
		"": nil, "Session.Get": win.WBEM_E_PROVIDER_FAILURE, "Session.Start": win.WBEM_E_FAILED, "Session.Query": win.WBEM_E_INVALID_QUERY,
		"Call.Result": &win.ProviderError{Code: win.WBEM_E_FAILED, Info: win.Row{"error_WindowsErrorMessage": "failed"}},
		"Logon.Open":  win.ERROR_NETNAME_DELETED, "Logons.Logon": win.ERROR_PRIVILEGE_NOT_HELD, "Files.Open": win.ERROR_IO_DEVICE,
	}
	for fails, with := range failures {
		t.Run(fails, func(t *testing.T) {
			n := newNode(t)
			if err := n.AddSMBMapping(simhost.SMBMapping{RemotePath: `\\files\data`, Credential: simhost.SMBCredential{User: "bob", Password: "secret"}, Privacy: true}); err != nil {
				t.Fatal(err)
			}
			n.OnCall(func(c simhost.Call, do func() error) error {
				if c.Method == fails {
					return with
				}
				return do()
			})
			eachRequest(groups(t, n), func(method reflect.Value, name string, request reflect.Type) {
				for _, options := range []bool{false, true} {
					req := reflect.New(request)
					if !fill(req.Elem(), options) {
						continue
					}
					out := method.Call([]reflect.Value{reflect.ValueOf(context.Background()), req})
					if err, _ := out[1].Interface().(error); err != nil {
						checkError(t, name, err)
					}
					check(t, name+"'s response", out[0].Interface())
				}
			})
			for _, c := range n.Calls().Calls() {
				check(t, "a boundary call", c)
			}
			check(t, "the snapshot", n.Snapshot())
		})
	}
}

// checkError looks at an error and at all that it wraps.
func checkError(t *testing.T, name string, err error) {
	t.Helper()
	check(t, name+"'s error", err)
	check(t, name+"'s error text", err.Error())
	switch err := err.(type) { //nolint:errorlint // each layer is looked at by itself
	case interface{ Unwrap() error }:
		if inner := err.Unwrap(); inner != nil {
			checkError(t, name, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range err.Unwrap() {
			checkError(t, name, inner)
		}
	}
}
