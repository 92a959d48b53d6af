// SPDX-License-Identifier: Apache-2.0

package iscsi_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// canary is in every field that may hold a secret.
const canary = "canary-4711-x"

// secretFields are told by their names, so that a new one is covered.
func secretField(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "secret") || strings.Contains(name, "user") || strings.Contains(name, "password")
}

// planted is a value of a request type with the canary in its secret fields.
func planted(t *testing.T, request reflect.Type) (value reflect.Value, found bool) {
	t.Helper()
	value = reflect.New(request)
	for i := range request.NumField() {
		if field := request.Field(i); secretField(field.Name) {
			value.Elem().Field(i).SetString(canary)
			found = true
		}
	}
	return value, found
}

func TestSecrets_OfRequests(t *testing.T) {
	face, count := reflect.TypeFor[iscsi.Interface](), 0
	types := []reflect.Type{reflect.TypeFor[hostapi.Login]()}
	for i := range face.NumMethod() {
		types = append(types, face.Method(i).Type.In(1).Elem())
	}
	for _, request := range types {
		value, found := planted(t, request)
		if !found {
			continue
		}
		count++
		if request == reflect.TypeFor[hostapi.Login]() {
			value.Elem().FieldByName("User").SetString("") // a host API's login is not logged; its secret is safe all the same
		}
		for _, v := range []any{value.Interface(), value.Elem().Interface(), []any{value.Elem().Interface()}, struct{ R any }{value.Interface()}} {
			checkHidden(t, v)
		}
	}
	if count != 3 {
		t.Errorf("%d types have secrets, want 3", count)
	}
}

func checkHidden(t *testing.T, v any) {
	t.Helper()
	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "% x"} {
		texts[verb] = fmt.Sprintf(verb, v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%T: %v", v, err)
	}
	texts["JSON"] = string(b)
	if m, ok := v.(interface{ MarshalLog() any }); ok {
		texts["log"] = fmt.Sprintf("%+v", m.MarshalLog())
	}
	for how, text := range texts {
		if strings.Contains(text, canary) || strings.Contains(strings.ToLower(strings.ReplaceAll(text, " ", "")), hex.EncodeToString([]byte(canary))) {
			t.Errorf("%s of %T tells: %s", how, v, text)
		}
	}
}

func TestSecrets_TheRestShows(t *testing.T) {
	req := iscsi.ConnectTargetRequest{TargetPortal: first, IQN: open, AuthType: iscsi.ONE_WAY_CHAP, ChapSecret: canary}
	want := "{TargetPortal:10.0.0.10:3260 IQN:" + open + " AuthType:ONEWAYCHAP ChapUsername: ChapSecret:***}"
	if got := fmt.Sprintf("%+v", req); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// No error tells a secret: of a request that is refused, of a login that the
// target refuses, of every boundary call that fails.
func TestSecrets_OfErrors(t *testing.T) {
	run := func(t *testing.T, node *simhost.Node, kind iscsi.AuthenticationType, user, secret string) {
		t.Helper()
		err := connectCHAP(t.Context(), node, kind, user, secret)
		errSecret := setSecret(t.Context(), node, secret)
		for _, err := range []error{err, errSecret} {
			if err == nil {
				continue
			}
			for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
				if text := fmt.Sprintf(verb, err); strings.Contains(text, canary) {
					t.Errorf("%s tells: %s", verb, text)
				}
			}
		}
	}
	for kind := range iscsi.AuthenticationType(4) {
		for _, secret := range []string{canary, canary + "-too-long", canary + "\x00", canary[:11]} {
			run(t, newNode(t, registered(first)), kind, canary, secret)
		}
	}
	calls := newNode(t, registered(first))
	run(t, calls, iscsi.ONE_WAY_CHAP, canary, canary)
	for k := range calls.Calls().Total() {
		node, n := newNode(t, registered(first)), 0
		node.OnCall(func(c simhost.Call, do func() error) error {
			if strings.Contains(fmt.Sprintf("%+v", c), canary) {
				t.Errorf("a boundary call shows it: %+v", c)
			}
			if n++; n == k+1 {
				return win.ERROR_IO_DEVICE
			}
			return do()
		})
		run(t, node, iscsi.ONE_WAY_CHAP, canary, canary)
		if text := string(node.Snapshot()); strings.Contains(text, canary) {
			t.Errorf("the snapshot tells: %s", text)
		}
	}
}

// Every printable character of a user and a secret arrives.
func TestSecrets_ArriveUnchanged(t *testing.T) {
	for _, text := range []string{`$" ';&|\` + "`abc", "%PATH%:x:y:z", `\\host\share`, "~!@#^*()_+-=", "{}[]<>?,./12"} {
		node := newNode(t, registered(first), func(spec *simhost.NodeSpec) {
			spec.ISCSI.Targets[1].User, spec.ISCSI.Targets[1].Secret, spec.ISCSI.Targets[1].MutualSecret = "user "+text, text, text
		})
		must(t, setSecret(t.Context(), node, text))
		if err := connectCHAP(t.Context(), node, iscsi.MUTUAL_CHAP, "user "+text, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
