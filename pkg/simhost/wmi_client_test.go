// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// The module's own WMI client against the node's WMI.

// withWMI runs f with a client in a bubble, closes the client and checks that
// it kept WMI's rules and left nothing open.
func withWMI(t *testing.T, f func(*testing.T, *Node, *wmi.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := mustNode(t, wmiSpec())
		c := wmi.On(n.Host())
		f(t, n, c)
		c.Close()
		synctest.Wait()
		if got := n.OpenHandles(); got != 0 {
			t.Errorf("%d handles leak", got)
		}
		if v := n.Violations(); len(v) > 0 {
			t.Errorf("violations: %q", v)
		}
	})
}

var diskOne = wmi.Select("ObjectId", "Number", "Path", "Size", "PartitionStyle").From("MSFT_Disk").Where(wmi.Eq("Number", 1))

func onDiskOne(ctx context.Context, t *testing.T, c *wmi.Client, method string, in ...win.Param) (wmi.Row, error) {
	t.Helper()
	rows, err := c.Query(ctx, storageNamespace, diskOne)
	if err != nil || len(rows) != 1 {
		t.Fatalf("disk 1: %v, %v", rows, err)
	}
	path, err := rows[0].String(sysPath)
	if err != nil {
		t.Fatal(err)
	}
	return c.Call(ctx, storageNamespace, wmi.Method{Class: "MSFT_Disk", Path: path, Name: method, In: in})
}

func TestWMIClient(t *testing.T) {
	withWMI(t, func(t *testing.T, _ *Node, c *wmi.Client) {
		ctx := context.Background()
		if _, err := onDiskOne(ctx, t, c, "Initialize", wmi.Uint16("PartitionStyle", 2)); err != nil {
			t.Fatal(err)
		}
		_, err := onDiskOne(ctx, t, c, "Initialize", wmi.Uint16("PartitionStyle", 2))
		if !errors.Is(err, win.ReturnAlreadyInitialized) || !strings.Contains(err.Error(), "The disk has already been initialized.") {
			t.Errorf("second Initialize: got %v", err)
		}
		out, err := onDiskOne(ctx, t, c, "CreatePartition", wmi.Bool("UseMaximumSize", true), wmi.String("GptType", basicData))
		if err != nil {
			t.Fatal(err)
		}
		created, err := out.Row("CreatedPartition")
		if err != nil {
			t.Fatal(err)
		}
		if number, err := created.Uint32("DiskNumber"); err != nil || number != 1 {
			t.Errorf("CreatedPartition: disk %d, %v", number, err)
		}
		if _, err := c.Query(ctx, storageNamespace, wmi.Select().From("MSFT_Disc")); errdefs.KindOf(err) != errdefs.Unsupported {
			t.Errorf("unknown class: got %v", err)
		}
	})
}

func TestWMIClient_Quoting(t *testing.T) {
	withWMI(t, func(t *testing.T, _ *Node, c *wmi.Client) {
		ctx := context.Background()
		all, err := c.Query(ctx, storageNamespace, wmi.Select().From("MSFT_Volume"))
		if err != nil || len(all) != 1 {
			t.Fatalf("%v, %v", all, err)
		}
		id, err := all[0].String("ObjectId")
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.Query(ctx, storageNamespace, wmi.Select("ObjectId").From("MSFT_Volume").Where(wmi.Eq("ObjectId", id)))
		if err != nil || len(rows) != 1 {
			t.Errorf("by query: %v, %v", rows, err)
		}
		path, err := wmi.PathOf("MSFT_Volume", "ObjectId", id)
		if err != nil {
			t.Fatal(err)
		}
		if row, err := c.Get(ctx, storageNamespace, path); err != nil || row["Path"] != all[0]["Path"] {
			t.Errorf("by path: %v, %v", row["Path"], err)
		}
	})
}

func TestWMIClient_HostDies(t *testing.T) {
	withWMI(t, func(t *testing.T, n *Node, c *wmi.Client) {
		ctx := context.Background()
		if _, err := c.Query(ctx, storageNamespace, diskOne); err != nil {
			t.Fatal(err)
		}
		n.KillWMIHost()
		if _, err := c.Query(ctx, storageNamespace, diskOne); err != nil {
			t.Errorf("a read after the death: %v", err)
		}
	})
}

func TestWMIClient_HostDiesDuringMethod(t *testing.T) {
	withWMI(t, func(t *testing.T, n *Node, c *wmi.Client) {
		ctx := context.Background()
		release := n.Hang("MSFT_Disk.Initialize")
		defer release()
		// While the client waits inside the call, not between two of its waits.
		time.AfterFunc(10*time.Second+time.Second/2, n.KillWMIHost)
		if _, err := onDiskOne(ctx, t, c, "Initialize"); !errors.Is(err, win.RPC_S_CALL_FAILED) || errdefs.KindOf(err) != errdefs.Unavailable {
			t.Errorf("a method over the death: got %v", err)
		}
		rows, err := c.Query(ctx, storageNamespace, diskOne)
		if err != nil {
			t.Fatal(err)
		}
		if style, err := rows[0].Uint16("PartitionStyle"); err != nil || style != 0 {
			t.Errorf("style %d, %v: the method was started again", style, err)
		}
	})
}

func TestWMIClient_SlowMethod(t *testing.T) {
	withWMI(t, func(t *testing.T, n *Node, c *wmi.Client) {
		n.Latency("MSFT_Disk.Initialize", 10*time.Minute)
		began := time.Now()
		if _, err := onDiskOne(context.Background(), t, c, "Initialize"); err != nil {
			t.Error(err)
		}
		if got := time.Since(began); got != 10*time.Minute {
			t.Errorf("took %v, want 10m", got)
		}
	})
}
