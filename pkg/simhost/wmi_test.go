// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// forever is longer than anything takes, in the time of synctest.
const forever = 24 * time.Hour

// wmiClient is a well-behaved user of a node's WMI on one OS thread.
type wmiClient struct {
	t       *testing.T
	node    *Node
	wmi     win.WMI
	session win.Session
}

// newWMIClient enters and connects to the storage namespace. At the end of the
// test it leaves, and nothing may have leaked or been misused.
func newWMIClient(t *testing.T, n *Node) *wmiClient {
	t.Helper()
	runtime.LockOSThread()
	c := &wmiClient{t: t, node: n, wmi: n.Host().WMI}
	handles := n.OpenHandles()
	if err := c.wmi.Enter(); err != nil {
		t.Fatal(err)
	}
	c.connect()
	t.Cleanup(func() {
		c.session.Close()
		c.wmi.Leave()
		runtime.UnlockOSThread()
		if got := n.OpenHandles(); got != handles {
			t.Errorf("%d handles leak", got-handles)
		}
		if v := n.Violations(); len(v) > 0 {
			t.Errorf("violations: %q", v)
		}
	})
	return c
}

func (c *wmiClient) connect() {
	c.t.Helper()
	c.connectTo(storageNamespace)
}

func (c *wmiClient) connectTo(namespace string) {
	c.t.Helper()
	s, err := c.wmi.Connect(namespace)
	if err != nil {
		c.t.Fatal(err)
	}
	c.session = s
}

// query drains a query.
func (c *wmiClient) query(text string) ([]win.Row, error) {
	rows, err := c.session.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []win.Row
	for {
		row, err := rows.Next(forever)
		if errors.Is(err, win.WBEM_S_FALSE) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, row)
	}
}

// row is the only answer to a query.
func (c *wmiClient) row(text string) win.Row {
	c.t.Helper()
	rows, err := c.query(text)
	if err != nil {
		c.t.Fatalf("%s: %v", text, err)
	}
	if len(rows) != 1 {
		c.t.Fatalf("%s: %d rows", text, len(rows))
	}
	return rows[0]
}

func (c *wmiClient) disk(number uint32) win.Row {
	c.t.Helper()
	return c.row("SELECT * FROM MSFT_Disk WHERE Number = " + strconv.Itoa(int(number)))
}

// call runs a method to its end and returns its out parameters.
func (c *wmiClient) call(class, path, method string, in ...win.Param) (win.Row, error) {
	call, err := c.session.Start(class, path, method, in)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return call.Result(forever)
}

// on runs a method on a row's object and returns its ReturnValue.
func (c *wmiClient) on(row win.Row, method string, in ...win.Param) uint32 {
	c.t.Helper()
	return c.returned(c.out(row, method, in...))
}

func (c *wmiClient) out(row win.Row, method string, in ...win.Param) win.Row {
	c.t.Helper()
	path, _ := row[sysRelPath].(string)
	out, err := c.call(row[sysClass].(string), path, method, in...)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return out
}

func (c *wmiClient) returned(out win.Row) uint32 {
	c.t.Helper()
	code, ok := out["ReturnValue"].(int32)
	if !ok {
		c.t.Fatalf("ReturnValue is %T", out["ReturnValue"])
	}
	return uint32(code)
}

// rescan is UpdateHostStorageCache.
func (c *wmiClient) rescan() {
	c.t.Helper()
	out, err := c.call("MSFT_StorageSetting", "", "UpdateHostStorageCache")
	if err != nil || c.returned(out) != 0 {
		c.t.Fatalf("UpdateHostStorageCache: %v, %v", out, err)
	}
}

func param(name string, value any) win.Param { return win.Param{Name: name, Value: value} }

// wmiSpec is a node with a boot disk 0 and a blank disk 1 of 1 GiB, and
// attachable ones.
func wmiSpec() NodeSpec {
	blank := func(name string, lun uint8) DiskSpec {
		return DiskSpec{
			Name: name, Size: GiB, Bus: "sas", Vendor: "Msft    ", Product: "Virtual Disk    ", Serial: "serial-" + name,
			Location: "Integrated : Adapter 3 : Port 0 : Target 0 : LUN " + strconv.Itoa(int(lun)), Address: &AddressSpec{Port: 3, LUN: lun},
		}
	}
	return NodeSpec{
		Version: SpecVersion, Name: "wmi",
		Disks:      []DiskSpec{BootDisk(), blank("data", 1)},
		Attachable: []DiskSpec{blank("late", 2), blank("later", 3)},
	}
}

func mustNode(t *testing.T, spec NodeSpec) *Node {
	t.Helper()
	n, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWMI_Failures(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	disk := c.disk(1)[sysRelPath].(string)
	query := func(text string) func() error {
		return func() error {
			rows, err := c.session.Query(text)
			if err != nil {
				t.Fatal("a semi-synchronous query failed before its first Next")
			}
			defer rows.Close()
			_, err = rows.Next(0)
			return err
		}
	}
	get := func(path string) func() error {
		return func() error { _, err := c.session.Get(path); return err }
	}
	start := func(class, path, method string, in ...win.Param) func() error {
		return func() error { _, err := c.call(class, path, method, in...); return err }
	}
	for _, tt := range []struct {
		name string
		do   func() error
		want win.HRESULT
	}{
		{"namespace", func() error { _, err := c.wmi.Connect(`root\storage`); return err }, win.WBEM_E_INVALID_NAMESPACE},
		{"query syntax", query("SELECT * FROM"), win.WBEM_E_INVALID_QUERY},
		{"query of an unknown class", query("SELECT * FROM MSFT_Disc"), win.WBEM_E_INVALID_CLASS},
		{"query of a class elsewhere", query("SELECT * FROM MSFT_SmbGlobalMapping"), win.WBEM_E_INVALID_CLASS},
		{"unknown property selected", query("SELECT Nummer FROM MSFT_Disk"), win.WBEM_E_INVALID_QUERY},
		{"unknown property in where", query("SELECT * FROM MSFT_Partition WHERE Type = 'Basic'"), win.WBEM_E_INVALID_QUERY},
		{"array in where", query("SELECT * FROM MSFT_Disk WHERE OperationalStatus = 2"), win.WBEM_E_INVALID_QUERY},
		{"class without a provider", query("SELECT * FROM MSFT_InitiatorPortToiSCSITarget"), win.WBEM_E_PROVIDER_LOAD_FAILURE},
		{"path syntax", get(`MSFT_Disk.ObjectId=`), win.WBEM_E_INVALID_OBJECT_PATH},
		{"path without the key", get(`MSFT_Disk.Number=1`), win.WBEM_E_INVALID_OBJECT_PATH},
		{"path of another namespace", get(`\\.\root\cimv2:MSFT_Disk`), win.WBEM_E_INVALID_NAMESPACE},
		{"unknown class", get("MSFT_Disc"), win.WBEM_E_NOT_FOUND},
		{"object of an unknown class", get(`MSFT_Disc.Id="x"`), win.WBEM_E_INVALID_CLASS},
		{"unknown object", get(`MSFT_Disk.ObjectId="x"`), win.WBEM_E_NOT_FOUND},
		{"method of an unknown class", start("MSFT_Disc", disk, "Refresh"), win.WBEM_E_NOT_FOUND},
		{"unknown method", start("MSFT_Disk", disk, "Format"), win.WBEM_E_INVALID_METHOD},
		{"method of an unknown object", start("MSFT_Disk", `MSFT_Disk.ObjectId="x"`, "Refresh"), win.WBEM_E_NOT_FOUND},
		{"method of another class's object", start("MSFT_Partition", disk, "Online"), win.WBEM_E_INVALID_OBJECT_PATH},
		{"instance method of the class", start("MSFT_Disk", "", "Refresh"), win.WBEM_E_INVALID_OBJECT_PATH},
		{"unknown parameter", start("MSFT_Disk", disk, "Initialize", param("Style", int32(2))), win.WBEM_E_NOT_FOUND},
		{"out parameter given", start("MSFT_Disk", disk, "Initialize", param("ExtendedStatus", nil)), win.WBEM_E_NOT_FOUND},
		{"parameter for none", start("MSFT_StorageSetting", "", "UpdateHostStorageCache", param("Force", true)), win.WBEM_E_NOT_FOUND},
		{"uint16 as uint16", start("MSFT_Disk", disk, "Initialize", param("PartitionStyle", uint16(2))), win.WBEM_E_TYPE_MISMATCH},
		{"uint64 as int", start("MSFT_Disk", disk, "CreatePartition", param("Size", 1<<20)), win.WBEM_E_TYPE_MISMATCH},
		{"uint32 as VT_I2", start("MSFT_Disk", disk, "CreatePartition", param("Alignment", int16(1))), win.WBEM_E_TYPE_MISMATCH},
		{"bool as int", start("MSFT_Disk", disk, "CreatePartition", param("UseMaximumSize", int32(-1))), win.WBEM_E_TYPE_MISMATCH},
		{"parameter of a later build", start("MSFT_Volume", `MSFT_Volume.ObjectId="x"`, "Format", param("DevDrive", true)), win.WBEM_E_NOT_FOUND},
		{"method that nobody models", start("MSFT_Disk", disk, "EnableHighAvailability"), errMethodUnimplemented},
	} {
		if err := tt.do(); !errors.Is(err, tt.want) { // no t.Run: it has another thread
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestWMI_QueryProjection(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	all := c.disk(1)
	r := c.row("SELECT number, Size FROM msft_disk WHERE Number = 1")
	if r["Number"] != int32(1) || r["Size"] != "1073741824" {
		t.Errorf("selected: got %v, %v", r["Number"], r["Size"])
	}
	for _, name := range []string{"Path", "ObjectId", sysPath, sysRelPath} {
		if v, ok := r[name]; !ok || v != nil {
			t.Errorf("%s: got %v, %v, want NULL", name, v, ok)
		}
	}
	if len(r) != len(all) {
		t.Errorf("got %d names, want %d", len(r), len(all))
	}
	if r := c.row("SELECT ObjectId FROM MSFT_Disk WHERE Number = 1"); r[sysRelPath] != all[sysRelPath] || r[sysPath] != all[sysPath] {
		t.Errorf("with the key: got %v", r[sysRelPath])
	}
}

func TestWMI_PathsWithoutKeys(t *testing.T) {
	spec := wmiSpec()
	spec.Switches.PathsWithoutKeys = true
	c := newWMIClient(t, mustNode(t, spec))
	r := c.row("SELECT Number FROM MSFT_Disk WHERE Number = 1")
	if r[sysRelPath] != c.disk(1)[sysRelPath] || r["ObjectId"] != nil {
		t.Errorf("got %v, %v", r[sysRelPath], r["ObjectId"])
	}
}

func TestWMI_Get(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	want := c.disk(1)
	for _, name := range []string{sysRelPath, sysPath} {
		got, err := c.session.Get(want[name].(string))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	class, err := c.session.Get("msft_disk")
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := class["IsReadOnly"]; !ok || v != nil || class[sysRelPath] != "MSFT_Disk" {
		t.Errorf("class: got %v", class)
	}
}

func TestWMI_Superclass(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	rows, err := c.query("SELECT * FROM MSFT_StorageObject")
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, r := range rows {
		count[r[sysClass].(string)]++
	}
	want := map[string]int{"MSFT_Disk": 2, "MSFT_Partition": 3, "MSFT_PhysicalDisk": 2, "MSFT_Volume": 1}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every property of every row is one of the schema, in the type of COM.
func TestWMI_RowsFollowSchema(t *testing.T) {
	specs := map[string]NodeSpec{"wmi": wmiSpec()}
	for _, name := range Names() {
		spec, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		specs[name] = spec
	}
	for name, spec := range specs {
		for _, build := range []uint32{build2019, build2025} {
			spec.Build = build
			spec.Services = []ServiceSpec{{Name: "MSiSCSI", State: "running"}} // iSCSI classes want it
			t.Run(name+"/"+strconv.Itoa(int(build)), func(t *testing.T) {
				n := mustNode(t, spec)
				c := newWMIClient(t, n)
				for class := range wmiClasses() {
					c.session.Close()
					c.connectTo(n.schema().classes[strings.ToLower(class)].namespace)
					rows, err := c.query("SELECT * FROM " + class)
					if err != nil {
						t.Errorf("%s: %v", class, err)
					}
					for _, r := range rows {
						checkRow(t, n, r)
					}
				}
			})
		}
	}
}

func checkRow(t *testing.T, n *Node, r win.Row) {
	t.Helper()
	class, ok := n.schema().class(r[sysNamespace].(string), r[sysClass].(string))
	if !ok {
		t.Fatalf("class %v", r[sysClass])
	}
	if r[sysPath] == nil {
		t.Errorf("%s: a row without a path", class.name)
	}
	for name, v := range r {
		if slices.Contains(systemProperties, name) {
			continue
		}
		p, ok := class.property(name)
		if !ok {
			t.Errorf("%s.%s is not in the schema", class.name, name)
			continue
		}
		if !hasCOMType(p.cimType, v) {
			t.Errorf("%s.%s is a %T for %s", class.name, name, v, p.base)
		}
	}
	if len(r) != len(class.properties)+len(systemProperties) {
		t.Errorf("%s has %d values, want %d", class.name, len(r), len(class.properties)+len(systemProperties))
	}
}

// hasCOMType is windows-api.md 14.7, told once more.
func hasCOMType(p cimType, v any) bool {
	if v == nil {
		return true
	}
	if p.array {
		list, ok := v.([]any)
		return ok && !slices.ContainsFunc(list, func(e any) bool { return !hasCOMType(cimType{base: p.base}, e) })
	}
	switch v.(type) {
	case bool:
		return p.base == "boolean"
	case int16:
		return p.base == "char16"
	case int32:
		return p.base == "uint16" || p.base == "uint32" || p.base == "sint32"
	case string:
		return slices.Contains([]string{"string", "reference", "datetime", "uint64"}, p.base)
	case win.Row:
		return p.base == "object"
	}
	return false
}

func TestWMI_Associations(t *testing.T) {
	c := newWMIClient(t, mustNode(t, wmiSpec()))
	volume := c.row("SELECT * FROM MSFT_Volume")
	link := c.row("SELECT * FROM MSFT_PartitionToVolume")
	if link["Volume"] != volume[sysPath] {
		t.Errorf("Volume: got %v, want %v", link["Volume"], volume[sysPath])
	}
	partition, err := c.session.Get(link["Partition"].(string))
	if err != nil {
		t.Fatal(err)
	}
	literal := `'` + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(partition[sysPath].(string)) + `'`
	up := c.row("SELECT * FROM MSFT_DiskToPartition WHERE Partition = " + literal)
	if up["Disk"] != c.disk(0)[sysPath] {
		t.Errorf("Disk: got %v, want %v", up["Disk"], c.disk(0)[sysPath])
	}
}

func TestWMI_ThreadRules(t *testing.T) {
	if osThread() == 0 {
		t.Skip("threads are told apart on Linux only")
	}
	elsewhere := func(do func()) { // on an OS thread of its own
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
			do()
		}()
		<-done
	}
	for _, tt := range []struct {
		name string
		do   func(*testing.T, *Node) error
		want win.HRESULT
		text string
	}{
		{"not entered", func(_ *testing.T, n *Node) error {
			_, err := n.Host().WMI.Connect(storageNamespace)
			return err
		}, errNotInitialized, "Connect on a thread that has not entered"},
		{"other thread", func(_ *testing.T, n *Node) error {
			_ = n.Host().WMI.Enter()
			s, err := n.Host().WMI.Connect(storageNamespace)
			elsewhere(func() {
				_ = n.Host().WMI.Enter()
				_, err = s.Query("SELECT * FROM MSFT_Disk")
			})
			return err
		}, errWrongThread, "session used on another thread"},
		{"after close", func(_ *testing.T, n *Node) error {
			_ = n.Host().WMI.Enter()
			s, _ := n.Host().WMI.Connect(storageNamespace)
			s.Close()
			_, err := s.Get("MSFT_Disk")
			return err
		}, errDisconnected, "session used after Close"},
		{"closed twice", func(_ *testing.T, n *Node) error {
			_ = n.Host().WMI.Enter()
			s, _ := n.Host().WMI.Connect(storageNamespace)
			rows, err := s.Query("SELECT * FROM MSFT_Disk")
			rows.Close()
			rows.Close()
			return err
		}, 0, "query used after Close"},
		{"after leave", func(_ *testing.T, n *Node) error {
			_ = n.Host().WMI.Enter()
			s, _ := n.Host().WMI.Connect(storageNamespace)
			n.Host().WMI.Leave()
			_, err := s.Get("MSFT_Disk")
			return err
		}, errNotInitialized, "Leave with 1 objects open"},
		{"left twice", func(_ *testing.T, n *Node) error {
			_ = n.Host().WMI.Enter()
			n.Host().WMI.Leave()
			n.Host().WMI.Leave()
			return nil
		}, 0, "Leave on a thread that has not entered"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			n := mustNode(t, wmiSpec())
			if err := tt.do(t, n); tt.want != 0 && !errors.Is(err, tt.want) || tt.want == 0 && err != nil {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if v := n.Violations(); !slices.Contains(v, tt.text) {
				t.Errorf("violations %q, want %q", v, tt.text)
			}
		})
	}
}

// Enter counts, and one Leave undoes one Enter.
func TestWMI_EnterCounts(t *testing.T) {
	n := mustNode(t, wmiSpec())
	c := newWMIClient(t, n)
	if err := c.wmi.Enter(); err != nil {
		t.Fatal(err)
	}
	c.wmi.Leave()
	if _, err := c.session.Get("MSFT_Disk"); err != nil {
		t.Error(err)
	}
}

func TestWMI_SlowQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := mustNode(t, wmiSpec())
		c := newWMIClient(t, n)
		n.Latency("MSFT_Disk", 3*time.Second)
		rows, err := c.session.Query("SELECT * FROM MSFT_Disk")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		began := time.Now()
		for range 2 {
			if _, err := rows.Next(time.Second); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
				t.Fatalf("got %v, want %v", err, win.WBEM_S_TIMEDOUT)
			}
		}
		if _, err := rows.Next(-1); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
		n.Latency("MSFT_Disk", 0)
		if _, err := rows.Next(0); err != nil {
			t.Errorf("second row: %v", err)
		}
		if _, err := rows.Next(0); !errors.Is(err, win.WBEM_S_FALSE) {
			t.Errorf("end: got %v", err)
		}
	})
}

// A method takes effect at its end, also where nobody waits for it any more.
func TestWMI_SlowMethodTakesEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := mustNode(t, wmiSpec())
		c := newWMIClient(t, n)
		n.Latency("MSFT_Disk.Initialize", time.Minute)
		disk := c.disk(1)
		call, err := c.session.Start("MSFT_Disk", disk[sysRelPath].(string), "Initialize", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call.Result(time.Second); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
			t.Errorf("got %v, want %v", err, win.WBEM_S_TIMEDOUT)
		}
		call.Close()
		if got := c.disk(1)["PartitionStyle"]; got != int32(0) {
			t.Errorf("before the end: style %v", got)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := c.disk(1)["PartitionStyle"]; got != int32(2) {
			t.Errorf("after the end: style %v, want 2", got)
		}
	})
}

func TestWMI_Hang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := mustNode(t, wmiSpec())
		c := newWMIClient(t, n)
		release := n.Hang("MSFT_Disk.Initialize")
		disk := c.disk(1)
		call, err := c.session.Start("MSFT_Disk", disk[sysRelPath].(string), "Initialize", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer call.Close()
		if _, err := call.Result(forever); !errors.Is(err, win.WBEM_S_TIMEDOUT) {
			t.Errorf("got %v, want %v", err, win.WBEM_S_TIMEDOUT)
		}
		release()
		release() // does no harm
		out, err := call.Result(-1)
		if err != nil || c.returned(out) != 0 {
			t.Errorf("after release: %v, %v", out, err)
		}
		if got := c.on(disk, "Initialize"); got != 41001 {
			t.Errorf("the next call: got %d, want 41001", got)
		}
	})
}

func TestWMI_KillWMIHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := mustNode(t, wmiSpec())
		c := newWMIClient(t, n)
		defer n.Hang("MSFT_Disk.Initialize")()
		disk := c.disk(1)
		call, err := c.session.Start("MSFT_Disk", disk[sysRelPath].(string), "Initialize", nil)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := c.session.Query("SELECT * FROM MSFT_Disk")
		if err != nil {
			t.Fatal(err)
		}
		n.KillWMIHost()
		if _, err := call.Result(-1); !errors.Is(err, win.RPC_S_CALL_FAILED) {
			t.Errorf("running method: got %v, want %v", err, win.RPC_S_CALL_FAILED)
		}
		if _, err := rows.Next(-1); !errors.Is(err, win.RPC_S_CALL_FAILED) {
			t.Errorf("running query: got %v, want %v", err, win.RPC_S_CALL_FAILED)
		}
		call.Close()
		rows.Close()
		for range 2 {
			if _, err := c.session.Query("SELECT * FROM MSFT_Disk"); !errors.Is(err, win.RPC_S_SERVER_UNAVAILABLE) {
				t.Errorf("old connection: got %v, want %v", err, win.RPC_S_SERVER_UNAVAILABLE)
			}
		}
		c.session.Close()
		c.connect()
		if got := c.disk(1)["PartitionStyle"]; got != int32(0) {
			t.Errorf("the killed method took effect: style %v", got)
		}
	})
}

func TestWMI_ReturnNext(t *testing.T) {
	n := mustNode(t, wmiSpec())
	c := newWMIClient(t, n)
	disk := c.disk(1)
	n.ReturnNext("MSFT_Disk.Initialize", 40001, false)
	n.ReturnNext("msft_disk.initialize", 3, true)
	for _, want := range []uint32{40001, 3, 41001} {
		if got := c.on(disk, "Initialize", param("PartitionStyle", int32(2))); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}
