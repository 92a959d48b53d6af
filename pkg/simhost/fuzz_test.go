// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// FuzzParse: a description that parses is written and read as the same one, and
// there is none beside an error. New makes a node of it or says what is wrong.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version": 1}`))
	f.Add([]byte(`{"version": 1, "disks": [{"name": "d", "size": -1, "style": "gpt"}]} {}`))
	f.Add([]byte(`{"version": 1, "disks": [{"name": "d", "size": "1GiB", "bus": "sas", "style": "gpt", "partitions": [{"type": "msr"}, {"volume": {"fileSystem": "NTFS"}}]}]}`))
	f.Add([]byte(`{"version": 1, "services": [{"name": "A", "start": "auto"}], "smb": [{"name": "s", "shares": [{"name": "x"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := Parse(data)
		if err != nil {
			if !cmp.Equal(spec, NodeSpec{}) {
				t.Fatalf("half a description beside %v", err)
			}
			return
		}
		written, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if diff := cmp.Diff(spec, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-first +again):\n%s", err, diff)
		}
		if node, err := New(spec); err == nil {
			node.Close()
		}
	})
}

// FuzzWMIPath: an object path is refused with the code of WMI, or is read again
// from its parts as the same one.
func FuzzWMIPath(f *testing.F) {
	for _, seed := range []string{
		`MSFT_Disk`, `MSFT_Disk.ObjectId="{1}\\\\x\"y"`, `\\SIMNODE\root\x:C.A=1,B='b'`, `C="x"`, `root:C.=1`, `C.A=TRUE`, `\\x:C`, `C.A=NULL`, `1C`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parseWMIPath(text)
		if err != nil {
			if !errors.Is(err, win.WBEM_E_INVALID_OBJECT_PATH) || p.class != "" {
				t.Fatalf("%q: %+v, %v", text, p, err)
			}
			return
		}
		again, err := parseWMIPath(p.write())
		if diff := cmp.Diff(p, again, cmp.AllowUnexported(wmiPath{}, wmiPathKey{}, wqlLiteral{})); diff != "" || err != nil {
			t.Fatalf("%q, written as %q: %v (-first +again):\n%s", text, p.write(), err, diff)
		}
	})
}

// write puts a path together from its parts.
func (p wmiPath) write() string {
	var b strings.Builder
	if p.namespace != "" {
		b.WriteString(p.namespace + ":")
	}
	b.WriteString(p.class)
	for i, key := range p.keys {
		b.WriteByte(".,"[min(i, 1)])
		b.WriteString(key.name + "=")
		if key.value.kind == wqlText {
			b.WriteString(`"` + keyEscapes.Replace(key.value.text) + `"`)
		} else {
			b.WriteString(key.value.text)
		}
	}
	return b.String()
}
