// SPDX-License-Identifier: Apache-2.0

package native_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/native"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/test/wine"
)

const namespace = `root\cimv2`

func newClient(t *testing.T) (context.Context, *wmi.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	client := wmi.On(&win.Host{WMI: native.Host().WMI}) // a client lasts as long as its host
	t.Cleanup(func() {
		client.Close()
		cancel()
	})
	return ctx, client
}

// The client reads this machine's WMI for many goroutines at once.
func TestClient_Query(t *testing.T) {
	ctx, client := newClient(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			rows, err := client.Query(ctx, namespace, wmi.Select("SMBIOSMajorVersion").From("Win32_BIOS"))
			if err != nil || len(rows) != 1 {
				t.Errorf("%d rows, %v; want one", len(rows), err)
				return
			}
			if _, err := rows[0].Uint16("SMBIOSMajorVersion"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if _, err := client.Query(ctx, `root\no\such\namespace`, wmi.Select().From("X")); !errors.Is(err, win.WBEM_E_INVALID_NAMESPACE) {
		t.Errorf("missing namespace: error %v", err)
	}
}

func TestClient_Call(t *testing.T) {
	ctx, client := newClient(t)
	callProductName(ctx, t, client)
	var value win.ReturnValue
	if _, err := client.Call(ctx, namespace, registryValue("no such value")); !errors.As(err, &value) {
		t.Errorf("error %v, want a return value", err)
	}
}

func TestClient_CallsAtOnce(t *testing.T) {
	wine.Need(t, wine.MethodsAtOnce)
	ctx, client := newClient(t)
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() { callProductName(ctx, t, client) })
	}
	wg.Wait()
}

func callProductName(ctx context.Context, t *testing.T, client *wmi.Client) {
	t.Helper()
	out, err := client.Call(ctx, namespace, registryValue("ProductName"))
	if name, _ := out.String("sValue"); err != nil || !strings.HasPrefix(name, "Windows") {
		t.Errorf("%v, %v", out, err)
	}
}

// registryValue reads a value of Windows' version from the registry.
func registryValue(value string) wmi.Method {
	const localMachine = math.MaxInt32 + 3 // HKEY_LOCAL_MACHINE
	return wmi.Method{Class: "StdRegProv", Name: "GetStringValue", In: []win.Param{
		wmi.Uint32("hDefKey", localMachine),
		wmi.String("sSubKeyName", `SOFTWARE\Microsoft\Windows NT\CurrentVersion`),
		wmi.String("sValueName", value),
	}}
}
