// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

var reasons = map[error]Kind{
	ErrDiskOffline:    FailedPrecondition,
	ErrReadOnly:       FailedPrecondition,
	ErrCriticalDisk:   FailedPrecondition,
	ErrForeignContent: FailedPrecondition,
	ErrDamaged:        FailedPrecondition,
	ErrUnknownContent: FailedPrecondition,
	ErrOtherDisk:      FailedPrecondition,
	ErrOtherVolume:    FailedPrecondition,
	ErrNotMounted:     NotFound,
	ErrMountedBelow:   FailedPrecondition,
	ErrLinkLoop:       FailedPrecondition,

	ErrCredentialConflict: FailedPrecondition,

	ErrProtectedService:  PermissionDenied,
	ErrDependentServices: FailedPrecondition,
	ErrServiceEnded:      Unavailable,
}

// wantOnly checks that err matches the sentinel of a kind, and of no other.
func wantOnly(t *testing.T, err error, want Kind) {
	t.Helper()
	if got := KindOf(err); got != want {
		t.Errorf("%v: kind %s, want %s", err, got, want)
	}
	for kind, sentinel := range sentinels {
		if got := errors.Is(err, sentinel); got != (kind == want) {
			t.Errorf("%v is %v: %v", err, sentinel, got)
		}
	}
}

func TestSentinels_AreTheStandardOnes(t *testing.T) {
	for sentinel, standard := range map[any]any{
		ErrNotFound:         fs.ErrNotExist,
		ErrAlreadyExists:    fs.ErrExist,
		ErrPermissionDenied: fs.ErrPermission,
		ErrUnsupported:      errors.ErrUnsupported,
	} {
		if sentinel != standard {
			t.Errorf("%v is not %v", sentinel, standard)
		}
	}
}

func TestKindOf(t *testing.T) {
	for kind, sentinel := range sentinels {
		t.Run(kind.String(), func(t *testing.T) {
			wantOnly(t, sentinel, kind)
			wantOnly(t, fmt.Errorf("wrapped: %w", sentinel), kind)
		})
	}
	for reason, kind := range reasons {
		t.Run(reason.Error(), func(t *testing.T) {
			wantOnly(t, reason, kind)
			wantOnly(t, fmt.Errorf("wrapped: %w", reason), kind)
			// A reason knows better than the native code beside it.
			if got := KindOf(fmt.Errorf("%w (%w)", win.ERROR_BUSY, reason)); got != kind {
				t.Errorf("beside a native code: %s", got)
			}
		})
	}
	for name, tt := range map[string]struct {
		err  error
		want Kind
	}{
		"nil":              {nil, None},
		"unknown":          {errors.New("surprise"), Internal},
		"operating system": {statError(t), NotFound},
		"outermost counts": {As(Unavailable, "a", "", New(NotFound, "b", "", "gone")), Unavailable},
		"primary of joined": {
			errors.Join(New(Busy, "a", "", "in use"), New(NotFound, "b", "", "gone")), Busy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := KindOf(tt.err); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func statError(t *testing.T) error {
	t.Helper()
	_, err := os.Stat(t.TempDir() + "/missing")
	return err
}

// Go counts 53, a network path that was not found, as not existing. It is
// unavailable: a driver must not take a dead server for a missing directory.
func TestKindOf_BadNetpathIsNotNotFound(t *testing.T) {
	if !errors.Is(win.ERROR_BAD_NETPATH, fs.ErrNotExist) {
		t.Error("win.Errno is no longer grouped as Go groups it")
	}
	for _, err := range []error{
		win.ERROR_BAD_NETPATH,
		&fs.PathError{Op: "stat", Path: `\\server\share`, Err: win.ERROR_BAD_NETPATH},
		Wrap("filesystem.PathExists", `\\server\share`, win.ERROR_BAD_NETPATH),
		win.HRESULT(0x8007_0035),
	} {
		if got := KindOf(err); got != Unavailable {
			t.Errorf("%v: got %s", err, got)
		}
	}
}

func TestWrap_KeepsKindAndCause(t *testing.T) {
	causes := map[error]Kind{
		errors.New("surprise"): Internal,
		fmt.Errorf("query of disk 3 is still running: %w", context.Canceled):         Canceled,
		fmt.Errorf("query of disk 3 is still running: %w", context.DeadlineExceeded): DeadlineExceeded,
		New(OutOfRange, "inner", "", "too large"):                                    OutOfRange,
	}
	for reason, kind := range reasons {
		causes[reason] = kind
	}
	for kind, sentinel := range sentinels {
		if kind < Canceled {
			causes[sentinel] = kind
		}
	}
	everyNative(func(code error, _ Native, want Kind) { causes[code] = want })

	for cause, kind := range causes {
		err := Wrap("volume.ResizeVolume", "v", Wrap("hostapi.Grow", "v", fmt.Errorf("step 2: %w", cause)))
		if KindOf(err) != kind || !errors.Is(err, sentinels[kind]) {
			t.Errorf("%v: kind %s, want %s", err, KindOf(err), kind)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%v has lost its cause", err)
		}
		var e *Error
		if !errors.As(err, &e) || e.Op != "volume.ResizeVolume" || e.Subject != "v" || e.Kind != kind {
			t.Errorf("outermost %#v", e)
		}
		want, isNative := NativeOf(cause)
		if got, ok := NativeOf(err); ok != isNative || got != want {
			t.Errorf("%v: native %s, want %s", err, got, want)
		}
	}
}

func TestWrap_LeavesNilAndContextErrors(t *testing.T) {
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded} {
		if got := Wrap("op", "subject", err); any(got) != any(err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if got := As(NotFound, "op", "subject", nil); got != nil {
		t.Errorf("nil became %v", got)
	}
}

func TestAs_KindOfTheCaller(t *testing.T) {
	err := As(NotFound, "volume.UnmountVolume", "v", win.ERROR_DEVICE_NOT_CONNECTED) // VOL-18
	wantOnly(t, err, NotFound)
	if !errors.Is(err, win.ERROR_DEVICE_NOT_CONNECTED) {
		t.Error("the cause is lost")
	}
	if errors.Is(err, win.ERROR_NOT_READY) {
		t.Error("it matches another code")
	}
}

func TestNew_MayWrap(t *testing.T) {
	err := New(InvalidArgument, "disk.PartitionDisk", "-1", "disk number: %w", win.ERROR_INVALID_PARAMETER)
	wantOnly(t, err, InvalidArgument)
	if !errors.Is(err, win.ERROR_INVALID_PARAMETER) {
		t.Error("the cause is lost")
	}
}

func TestError_Text(t *testing.T) {
	const id = `\\?\Volume{2ed9a7b5-0000-0000-0000-100000000000}\`
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{
			"win32 code", Wrap("volume.ResizeVolume", id, win.ERROR_WRITE_PROTECT),
			`volume.ResizeVolume "` + id + `": ` + win.ERROR_WRITE_PROTECT.Error() + ` (win32 19)`,
		},
		{
			"code once", Wrap("volume.ResizeVolume", "v", Wrap("hostapi.Grow", "", win.ERROR_WRITE_PROTECT)),
			`volume.ResizeVolume "v": hostapi.Grow: ` + win.ERROR_WRITE_PROTECT.Error() + ` (win32 19)`,
		},
		{
			"hresult names itself", Wrap("disk.ListDisks", "", win.WBEM_E_ACCESS_DENIED),
			"disk.ListDisks: WMI access denied (0x80041003)",
		},
		{
			"return value names itself", Wrap("disk.PartitionDisk", "3", win.ReturnAccessPathInUse),
			`disk.PartitionDisk "3": The requested access path is already in use (storage management 42002)`,
		},
		{"message", New(OutOfRange, "volume.ResizeVolume", "v", "size %d is negative", -1), `volume.ResizeVolume "v": size -1 is negative`},
		{"control characters", New(NotFound, "filesystem.PathExists", "C:\\a\n\"b\"", "gone"), `filesystem.PathExists "C:\a\n\"b\"": gone`},
		{"no operation", New(NotFound, "", "", "gone"), "gone"},
		{"reason", Wrap("disk.SetDiskState", "0", ErrCriticalDisk), `disk.SetDiskState "0": in use by Windows itself`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestKind_String(t *testing.T) {
	for kind := None; kind <= DeadlineExceeded; kind++ {
		if kindNames[kind] == "" || kind.String() != kindNames[kind] {
			t.Errorf("kind %d reads %q", int(kind), kind)
		}
	}
	if got := Kind(99).String(); got != "Kind(99)" {
		t.Errorf("got %q", got)
	}
}

// A kind that has no sentinel leaves the cause alone: no error matches nil.
func TestError_UnwrapWithoutSentinel(t *testing.T) {
	for kind, want := range map[Kind][]error{None: {io.EOF}, Busy: {ErrBusy, io.EOF}} {
		if got := (&Error{Kind: kind, Err: io.EOF}).Unwrap(); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", kind, got, want)
		}
	}
}
