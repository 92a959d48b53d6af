// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// The kinds of the numbers, written by number so that a wrong constant shows
// too (windows-api.md 0.3, 5.4, 7.10, 10.5, 14.5).
var (
	win32Codes = map[Kind][]win.Errno{
		InvalidArgument:    {24, 87, 123, 144, 206, 267},
		NotFound:           {2, 3, 433, 1060, 1168, 2250},
		AlreadyExists:      {80, 85, 183},
		PermissionDenied:   {5, 65, 86, 1272, 1314, 1326, 1327, 1328, 1329, 1330, 1331, 1385, 1907, 1909},
		FailedPrecondition: {19, 145, 1005, 1006, 1110, 1112, 1219, 1312, 1392, 1393, 1920, 1921, 4390, 4392, 4393, 4394, 1051, 1052, 1058, 1062, 1068, 1069, 1072, 1075},
		Busy:               {32, 33, 170, 1055, 1061, 2401, 2404},
		Unavailable:        {21, 23, 31, 53, 54, 55, 59, 64, 66, 67, 121, 995, 1117, 1127, 1167, 1203, 1222, 1231, 1232, 1311, 1722, 1726, 10064, 1053, 1067, 1070},
		ResourceExhausted:  {112, 1054, 1450},
		Unsupported:        {1, 50, 120, 126, 127},
		Internal:           {0, 6, 18, 38, 122, 234, 259, 996, 1056, 1066, 1077, 9999, 0x7FFF_FFFF},
	}
	hresults = map[Kind][]win.HRESULT{
		InvalidArgument:   {0x80041005, 0x80041008, 0x80041017, 0x8004102F, 0x8004103A},
		NotFound:          {0x80041002},
		PermissionDenied:  {0x80041003, 0x80041062},
		Unavailable:       {0x80041004, 0x80041013, 0x80041032, 0x80041033, 0x80041069, 0x80041088, 0x00040004, 0x80010108, 0x80080005},
		ResourceExhausted: {0x80041006, 0x8004106C},
		Unsupported:       {0x8004100C, 0x8004100E, 0x80041010, 0x80041011, 0x80041024, 0x8004102E, 0x80040154, 0x800401F3},
		Internal:          {1, 2, 0x80041001, 0x80010106, 0x80310000, 0x80040002},
	}
	returnValues = map[Kind][]win.ReturnValue{
		InvalidArgument:    {5, 43000},
		PermissionDenied:   {40001},
		FailedPrecondition: {41000, 41001, 41002, 41003, 41009, 41015, 41018, 42002, 42010, 43006},
		Busy:               {6},
		Unavailable:        {3, 40003, 40004},
		ResourceExhausted:  {40002},
		OutOfRange:         {4097, 40000, 41014},
		Unsupported:        {1, 43001},
		Internal:           {2, 4, 4096, 99999},
	}
	iscsiCodes = map[Kind][]uint16{ // 0xEFFF0000 and
		InvalidArgument:    {0x48, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F, 0x50, 0x51},
		NotFound:           {0x05, 0x0B, 0x0C, 0x17, 0x1C, 0x29, 0x3C, 0x43, 0x44},
		AlreadyExists:      {0x15, 0x16, 0x18, 0x32, 0x3F},
		PermissionDenied:   {0x09, 0x0A},
		FailedPrecondition: {0x28, 0x34, 0x40},
		Busy:               {0x1F},
		Unavailable:        {0x02, 0x03, 0x06, 0x12, 0x13, 0x22, 0x23, 0x24, 0x39, 0x3E, 0x42, 0x47},
		ResourceExhausted:  {0x0E, 0x14, 0x1E, 0x38},
		Unsupported:        {0x37},
		Internal:           {0x01, 0x07, 0x19, 0x49},
	}
)

// everyNative calls check with each number above in its type.
func everyNative(check func(code error, n Native, want Kind)) {
	for want, codes := range win32Codes {
		for _, c := range codes {
			check(c, Native{Win32, uint32(c)}, want)
		}
	}
	for want, codes := range hresults {
		for _, c := range codes {
			check(c, Native{HResult, uint32(c)}, want)
		}
	}
	for want, codes := range returnValues {
		for _, c := range codes {
			check(c, Native{StorageManagement, uint32(c)}, want)
		}
	}
	for want, codes := range iscsiCodes {
		for _, c := range codes {
			code := 0xEFFF_0000 | uint32(c)
			check(win.ISDSC(code), Native{ISCSI, code}, want)
		}
	}
	check(win.ConfigRet(0x33), Native{ConfigManager, 0x33}, Internal)
}

func TestKindOf_NativeCodes(t *testing.T) {
	everyNative(func(code error, n Native, want Kind) {
		t.Run(n.String(), func(t *testing.T) {
			for _, err := range []error{
				code,
				fmt.Errorf("opening: %w", code),
				&fs.PathError{Op: "open", Path: "C:\\x", Err: code},
			} {
				if got := KindOf(err); got != want {
					t.Errorf("%v: got %s, want %s", err, got, want)
				}
				if got, ok := NativeOf(err); !ok || got != n {
					t.Errorf("%v: got native %s, want %s", err, got, n)
				}
			}
			if got := n.Kind(); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	})
}

// Every code of the table is in the test above, by its number.
func TestKindOf_TableIsTested(t *testing.T) {
	tested := map[error]bool{win.RPC_S_SERVER_UNAVAILABLE: true, win.RPC_S_CALL_FAILED: true} // as 1722 and 1726
	everyNative(func(code error, _ Native, want Kind) { tested[code] = want != Internal })
	for code, kind := range kinds {
		if !tested[code] {
			t.Errorf("%v is %s and not tested", code, kind)
		}
	}
}

func TestKindOf_HResultFromWin32(t *testing.T) {
	for want, codes := range win32Codes {
		for _, c := range codes {
			if c > 0xFFFF {
				continue
			}
			hr := win.HRESULT(0x8007_0000 | uint32(c))
			if got := KindOf(hr); got != want {
				t.Errorf("0x%X: got %s, want %s", uint32(hr), got, want)
			}
			if n, _ := NativeOf(hr); n != (Native{HResult, uint32(hr)}) {
				t.Errorf("0x%X became %s", uint32(hr), n)
			}
		}
	}
}

func TestKindOf_ProviderError(t *testing.T) {
	err := error(&win.ProviderError{Code: win.WBEM_E_ACCESS_DENIED, Info: win.Row{"Message": "denied"}})
	if got := KindOf(err); got != PermissionDenied {
		t.Errorf("got %s", got)
	}
	if n, ok := NativeOf(err); !ok || n != (Native{HResult, 0x80041003}) {
		t.Errorf("got %s", n)
	}
}

func TestNative_String(t *testing.T) {
	for want, n := range map[string]Native{
		"win32 5":            {Win32, 5},
		"hresult 0x80041001": {HResult, 0x80041001},
		"cr 0x33":            {ConfigManager, 0x33},
		"storage 42002":      {StorageManagement, 42002},
		"iscsi 0xEFFF003E":   {ISCSI, 0xEFFF003E},
	} {
		if got := n.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestNative_UnknownFacility(t *testing.T) {
	if got := (Native{Code: 5}).Kind(); got != Internal {
		t.Errorf("got %s", got)
	}
	if n, ok := NativeOf(fs.ErrNotExist); ok {
		t.Errorf("found %s where there is none", n)
	}
}
