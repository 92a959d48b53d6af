// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

const storage = `root\Microsoft\Windows\Storage`

var (
	disks  = Select("Number").From("MSFT_Disk")
	format = Method{Class: "MSFT_Volume", Path: `MSFT_Volume.ObjectId="v1"`, Name: "Format"}
	broken = []win.HRESULT{
		win.RPC_S_SERVER_UNAVAILABLE, win.RPC_S_CALL_FAILED, win.RPC_E_DISCONNECTED,
		win.CO_E_SERVER_EXEC_FAILURE, win.WBEM_E_SHUTTING_DOWN,
	}
)

// failFirst fails the first n calls of a name.
func failFirst(n int, name string, err error) func(string) error {
	var mu sync.Mutex
	return func(call string) error {
		mu.Lock()
		defer mu.Unlock()
		if call != name || n == 0 {
			return nil
		}
		n--
		return err
	}
}

// holdAt blocks the calls of a name until release is closed.
func holdAt(name string, release <-chan struct{}) func(string) error {
	return func(call string) error {
		if call == name {
			<-release
		}
		return nil
	}
}

func TestOn_IsOneClientThatStartsNothing(t *testing.T) {
	f := &fake{t: t}
	h := &win.Host{WMI: f}
	before := runtime.NumGoroutine()
	c := On(h)
	for range 1000 {
		if On(h) != c {
			t.Fatal("On gave a second client for one host")
		}
	}
	if n := runtime.NumGoroutine(); n > before {
		t.Errorf("On started %d goroutines", n-before)
	}
	if len(f.log) != 0 {
		t.Errorf("On called %v", f.log)
	}
}

func TestQuery_DrainsAllRowsInBoundedWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = 2500 * time.Millisecond
		want := make([]Row, 300)
		for i := range want {
			f.rows = append(f.rows, win.Row{"Number": int32(i)})
			want[i] = Row(f.rows[i])
		}
		got, err := c.Query(t.Context(), storage, disks)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		f.settle(c)
	})
}

func TestQuery_NoRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		rows, err := c.Query(t.Context(), storage, disks)
		if len(rows) != 0 || err != nil {
			t.Errorf("Query = %v, %v", rows, err)
		}
		f.settle(c)
	})
}

func TestQuery_InvalidQueryReachesNoWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		for _, q := range []Query{{}, Select("Number"), Select("a b").From("MSFT_Disk"), disks.Where(Eq("UniqueId", "a\x00b"))} {
			if rows, err := c.Query(t.Context(), storage, q); !errors.Is(err, errdefs.ErrInvalidArgument) || rows != nil {
				t.Errorf("Query(%v) = %v, %v, want an invalid argument", q, rows, err)
			}
		}
		if _, err := c.Get(t.Context(), storage, ""); !errors.Is(err, errdefs.ErrInvalidArgument) {
			t.Errorf("Get of no path: %v", err)
		}
		for _, m := range []Method{{}, {Class: "MSFT_Disk"}, {Class: "MSFT_Disk", Name: "a.b"}, {Class: `x" y`, Name: "Clear"}} {
			if _, err := c.Call(t.Context(), storage, m); !errors.Is(err, errdefs.ErrInvalidArgument) {
				t.Errorf("Call(%v): %v", m, err)
			}
		}
		if got := f.called(); len(got) != 0 {
			t.Errorf("called %v", got)
		}
	})
}

func TestGet_ReadsByPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		row, err := c.Get(t.Context(), storage, `MSFT_Disk.ObjectId="d1"`)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := row.String("__PATH"); got != `MSFT_Disk.ObjectId="d1"` {
			t.Errorf("__PATH = %q", got)
		}

		f.play(failFirst(1, "Get", &win.ProviderError{Code: win.WBEM_E_NOT_FOUND}))
		_, err = c.Get(t.Context(), storage, `MSFT_Disk.ObjectId="secret"`)
		if !errors.Is(err, errdefs.ErrNotFound) || !errors.Is(err, win.WBEM_E_NOT_FOUND) {
			t.Errorf("err = %v", err)
		}
		var e *errdefs.Error
		if !errors.As(err, &e) || e.Op != "wmi.Get" || e.Subject != "MSFT_Disk" || strings.Contains(err.Error(), "secret") {
			t.Errorf("err = %v", err)
		}
		f.settle(c)
	})
}

// Many callers share four threads, each entered once with one connection per
// namespace (field-reports.md L08). The fake wants each call on the thread that
// entered for it (L07).
func TestClient_ThreadsGrowByTheWorkersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.rows = []win.Row{{"Number": int32(7)}}
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				ns := []string{storage, `root\cimv2`, `ROOT\CIMV2`}[i%3]
				for range 20 {
					if _, err := c.Query(t.Context(), ns, disks); err != nil {
						t.Error(err)
					}
					if _, err := c.Get(t.Context(), ns, "MSFT_Disk"); err != nil {
						t.Error(err)
					}
					if _, err := c.Call(t.Context(), ns, Method{Class: "MSFT_Disk", Path: fmt.Sprint(i), Name: "Refresh"}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		const most = 4 // workers: more break providers (windows-api.md 14.8)
		if n := f.count("Enter"); n > most {
			t.Errorf("entered %d times, want %d at most", n, most)
		}
		if n := len(f.threads); n > most {
			t.Errorf("%d threads, want %d at most", n, most)
		}
		if n := f.count("Connect"); n > 2*most {
			t.Errorf("connected %d times, want once a worker and namespace", n)
		}
		for call, want := range map[string]int{"Query": 64 * 20, "Get": 64 * 20, "Start": 64 * 20} {
			if n := f.count(call); n != want {
				t.Errorf("%d calls of %s, want %d", n, call, want)
			}
		}
		f.settle(c)
	})
}

// field-reports.md L11: whatever a caller has made of its thread stays.
func TestClient_CallersThreadIsLeftAlone(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "windows" {
		t.Skip("no id of a thread")
	}
	synctest.Test(t, func(t *testing.T) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		f, c := newFake(t)
		_, queryErr := c.Query(t.Context(), storage, disks)
		_, getErr := c.Get(t.Context(), storage, "MSFT_Disk")
		_, callErr := c.Call(t.Context(), storage, format)
		if err := errors.Join(queryErr, getErr, callErr); err != nil {
			t.Error(err)
		}
		f.settle(c)
		if _, entered := f.threads[threadID()]; entered || len(f.threads) == 0 {
			t.Errorf("entered on the threads %v, the caller's is %d", f.threads, threadID())
		}
	})
}

func TestRead_IsAskedOnceMoreAfterABrokenConnection(t *testing.T) {
	for _, code := range broken {
		for _, at := range []string{"Connect", "Query", "Next"} {
			for _, failures := range []int{1, 2} {
				t.Run(fmt.Sprintf("%v/%s/%d", code, at, failures), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f, c := newFake(t)
						f.rows = []win.Row{{"Number": int32(1)}}
						f.play(failFirst(failures, at, &win.ProviderError{Code: code}))
						rows, err := c.Query(t.Context(), storage, disks)
						switch {
						case failures == 1 && (err != nil || len(rows) != 1):
							t.Errorf("Query = %v, %v", rows, err)
						case failures == 2 && (!errors.Is(err, code) || !errors.Is(err, errdefs.ErrUnavailable)):
							t.Errorf("err = %v", err)
						}
						if n := f.count("Connect"); n != 2 {
							t.Errorf("connected %d times, want 2", n)
						}
						f.settle(c)
					})
				})
			}
		}
	}
}

func TestRead_OtherFailuresAreNotAskedAgain(t *testing.T) {
	for _, at := range []string{"Enter", "Connect", "Query", "Next"} {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				f.play(failFirst(1, at, win.WBEM_E_ACCESS_DENIED))
				rows, err := c.Query(t.Context(), storage, disks)
				if !errors.Is(err, errdefs.ErrPermissionDenied) || !errors.Is(err, win.WBEM_E_ACCESS_DENIED) || rows != nil {
					t.Errorf("Query = %v, %v", rows, err)
				}
				if n := f.count(at); n != 1 {
					t.Errorf("%s was called %d times", at, n)
				}
				if _, err := c.Query(t.Context(), storage, disks); err != nil {
					t.Errorf("the next query: %v", err)
				}
				f.settle(c)
			})
		})
	}
}

// A connection that could not be renewed is neither used nor closed again.
func TestRead_ConnectionThatCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = time.Second
		var wg sync.WaitGroup
		for range workers { // so that the next query finds a connection
			wg.Go(func() {
				if _, err := c.Query(t.Context(), storage, disks); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		refuse := failFirst(1, "Connect", win.E_ACCESSDENIED)
		drop := failFirst(1, "Query", win.RPC_S_SERVER_UNAVAILABLE)
		f.play(func(call string) error { return errors.Join(refuse(call), drop(call)) })
		if _, err := c.Query(t.Context(), storage, disks); !errors.Is(err, errdefs.ErrPermissionDenied) {
			t.Errorf("err = %v", err)
		}
		for range 2 * workers {
			if _, err := c.Query(t.Context(), storage, disks); err != nil {
				t.Error(err)
			}
		}
		f.settle(c)
	})
}

func TestCall_IsNeverStartedTwice(t *testing.T) {
	for _, code := range append(broken, win.WBEM_E_FAILED, win.WBEM_E_ACCESS_DENIED) {
		for _, at := range []string{"Start", "Result"} {
			t.Run(fmt.Sprintf("%v/%s", code, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f, c := newFake(t)
					f.play(failFirst(1, at, &win.ProviderError{Code: code}))
					row, err := c.Call(t.Context(), storage, format)
					var e *win.ProviderError
					if !errors.As(err, &e) || e.Code != code || row != nil {
						t.Errorf("Call = %v, %v", row, err)
					}
					if n := f.count("Start"); n != 1 {
						t.Errorf("started %d times", n)
					}
					if _, err := c.Call(t.Context(), storage, format); err != nil {
						t.Errorf("the next call: %v", err)
					}
					f.settle(c)
				})
			})
		}
	}
}

// A connection that one worker finds broken is renewed by all of them, so that
// methods do not fail one worker after another.
func TestClient_BrokenConnectionIsRenewedByAllWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = time.Second
		queryAll := func() {
			var wg sync.WaitGroup
			for range workers {
				wg.Go(func() {
					if _, err := c.Query(t.Context(), storage, disks); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
		queryAll()
		if n := f.count("Connect"); n != workers {
			t.Fatalf("connected %d times, want %d", n, workers)
		}
		f.play(failFirst(1, "Query", win.RPC_S_SERVER_UNAVAILABLE))
		if _, err := c.Query(t.Context(), storage, disks); err != nil {
			t.Fatal(err)
		}
		queryAll()
		if n := f.count("Connect"); n != 2*workers {
			t.Errorf("connected %d times, want %d", n, 2*workers)
		}
		if n := f.count("Session.Close"); n != workers {
			t.Errorf("closed %d sessions, want %d", n, workers)
		}
		f.settle(c)
	})
}

func TestCall_ReturnValue(t *testing.T) {
	status := win.Row{"Message": "the disk is owned by a cluster"}
	tests := []struct {
		name string
		out  win.Row
		want error
		kind errdefs.Kind
		text string
	}{
		{"success", win.Row{"ReturnValue": int32(0)}, nil, errdefs.None, ""},
		{"job started", win.Row{"ReturnValue": int32(4096)}, win.ReturnJobStarted, errdefs.Internal, ""},
		{"access path in use", win.Row{"ReturnValue": int32(42002), "CreatedPartition": win.Row{"Number": int32(2)}}, win.ReturnAccessPathInUse, errdefs.FailedPrecondition, ""},
		{"high bit", win.Row{"ReturnValue": int32(-1)}, win.ReturnValue(0xFFFF_FFFF), errdefs.Internal, ""},
		{"explained", win.Row{"ReturnValue": int32(41018), "ExtendedStatus": status}, win.ReturnClustered, errdefs.FailedPrecondition, "owned by a cluster"},
		{"not explained", win.Row{"ReturnValue": int32(41018), "ExtendedStatus": win.Row{}}, win.ReturnClustered, errdefs.FailedPrecondition, ""},
		{"missing", win.Row{}, ErrNull, errdefs.Unavailable, ""},
		{"no out parameters", nil, ErrNull, errdefs.Unavailable, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				f.out = tt.out
				out, err := c.Call(t.Context(), storage, format)
				if !errors.Is(err, tt.want) || errdefs.KindOf(err) != tt.kind {
					t.Errorf("err = %v of kind %v, want %v of kind %v", err, errdefs.KindOf(err), tt.want, tt.kind)
				}
				if diff := cmp.Diff(Row(tt.out), out); diff != "" {
					t.Errorf("out (-want +got):\n%s", diff)
				}
				if err != nil && !strings.Contains(err.Error(), tt.text) {
					t.Errorf("err = %v does not say %q", err, tt.text)
				}
				f.settle(c)
			})
		})
	}
}

func TestCall_SecretsStayInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		m := Method{Class: "MSFT_SmbGlobalMapping", Name: "Create", In: []win.Param{String("Credential", "hunter2")}}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			for _, v := range []any{m, &m, []Method{m}} {
				if text := fmt.Sprintf(verb, v); strings.Contains(text, "hunter2") || strings.Contains(text, "68756e74657232") {
					t.Errorf("%s shows the secret: %s", verb, text)
				}
			}
		}
		f.play(failFirst(1, "Start", win.WBEM_E_FAILED))
		_, err := c.Call(t.Context(), `root\Microsoft\Windows\SMB`, m)
		var e *errdefs.Error
		if !errors.As(err, &e) || e.Op != "wmi.Call" || e.Subject != "MSFT_SmbGlobalMapping.Create" {
			t.Errorf("err = %v", err)
		}
		if text := fmt.Sprintf("%+v", err); strings.Contains(text, "hunter2") {
			t.Errorf("the error shows the secret: %s", text)
		}
		f.settle(c)
	})
}

func TestClient_WMIAbsent(t *testing.T) {
	for _, code := range []win.HRESULT{win.REGDB_E_CLASSNOTREG, win.CO_E_CLASSSTRING} {
		for _, at := range []string{"Enter", "Connect"} {
			t.Run(fmt.Sprintf("%v/%s", code, at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f, c := newFake(t)
					f.play(failFirst(3*workers, at, code))
					for range 3 * workers {
						if _, err := c.Query(t.Context(), storage, disks); !errors.Is(err, errdefs.ErrUnsupported) || !errors.Is(err, code) {
							t.Fatalf("err = %v", err)
						}
					}
					if _, err := c.Query(t.Context(), storage, disks); err != nil {
						t.Errorf("once WMI is there: %v", err)
					}
					f.settle(c)
				})
			})
		}
	}
	t.Run("no WMI at all", func(t *testing.T) {
		c := On(&win.Host{})
		if _, err := c.Query(t.Context(), storage, disks); !errors.Is(err, errdefs.ErrUnsupported) {
			t.Errorf("err = %v", err)
		}
	})
}

func TestClose_EndsTheWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		if _, err := c.Query(t.Context(), storage, disks); err != nil {
			t.Fatal(err)
		}
		c.Close()
		c.Close()
		synctest.Wait()
		if _, err := c.Query(t.Context(), storage, disks); !errors.Is(err, errdefs.ErrUnavailable) {
			t.Errorf("err = %v", err)
		}
		f.settle(c)
	})
}

func TestClose_LetsARunningMethodEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		f.slow = 5 * time.Minute
		time.AfterFunc(time.Minute, c.Close)
		if _, err := c.Call(t.Context(), storage, format); err != nil {
			t.Error(err)
		}
		f.settle(c)
	})
}

// A read whose caller leaves during any boundary call frees its caller at once,
// and its worker at the end of that call; nothing stays open and the next read
// works.
func TestRead_CancelledDuringEachBoundaryCall(t *testing.T) {
	query := func(ctx context.Context, c *Client) error {
		_, err := c.Query(ctx, storage, disks)
		return err
	}
	get := func(ctx context.Context, c *Client) error {
		_, err := c.Get(ctx, storage, "MSFT_Disk")
		return err
	}
	for _, tt := range []struct {
		at  string
		ask func(context.Context, *Client) error
		// what the worker may call after the one during which it was left
		after []string
	}{
		{"Enter", query, nil},
		{"Connect", query, nil},
		{"Query", query, []string{"Rows.Close"}},
		{"Next", query, []string{"Rows.Close"}},
		{"Rows.Close", query, nil},
		{"Enter", get, nil},
		{"Connect", get, nil},
		{"Get", get, nil},
	} {
		t.Run(tt.at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, c := newFake(t)
				f.rows = []win.Row{{}, {}, {}}
				release := make(chan struct{})
				f.play(holdAt(tt.at, release))
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				began := time.Now()
				if err := tt.ask(ctx, c); err != context.DeadlineExceeded { //nolint:errorlint // passed through untouched
					t.Errorf("err = %v", err)
				}
				if d := time.Since(began); d != 30*time.Second {
					t.Errorf("the caller was let go after %v", d)
				}
				before := len(f.called())
				close(release)
				synctest.Wait()
				if got := f.called()[before:]; !slices.Equal(got, tt.after) {
					t.Errorf("the worker went on with %v, want %v", got, tt.after)
				}
				if err := tt.ask(t.Context(), c); err != nil {
					t.Errorf("the next read: %v", err)
				}
				f.settle(c)
			})
		})
	}
}

func TestRead_EndedContextIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, c := newFake(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Query(ctx, storage, disks); err != context.Canceled { //nolint:errorlint // passed through untouched
			t.Errorf("err = %v", err)
		}
		if _, err := c.Call(ctx, storage, format); err != context.Canceled { //nolint:errorlint // passed through untouched
			t.Errorf("err = %v", err)
		}
		if got := f.called(); len(got) != 0 {
			t.Errorf("called %v", got)
		}
	})
}
