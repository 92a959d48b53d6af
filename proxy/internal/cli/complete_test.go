// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
	}{
		{[]string{"disk", "list", "--host", "sim:a"}, []string{"sim:aws-nitro", "sim:azure-scsi"}},
		{[]string{"disk", "list", "-o", ""}, []string{"table", "wide", "json", "yaml", "name"}},
		{[]string{"volume", "format", "C:", "--fs", ""}, []string{"NTFS", "ReFS", "FAT32", "exFAT"}},
		{[]string{"volume", "list", "--host", "sim:azure-scsi", "--disk", ""}, []string{"0", "4"}},
		{[]string{"demo", "--node", ""}, []string{"aws-nitro", "san-fibre"}},
		{[]string{"demo", "--scenario", ""}, []string{"disk", "iscsi", "smb"}},
		{[]string{"disk", "online", "--host", "sim:azure-scsi", ""}, []string{"0", "4"}},
		{[]string{"disk", "online", ""}, nil}, // there is no local host
		{[]string{"disk", "online", "--host", "sim:azure-scsi", "1", ""}, nil},
		{[]string{"volume", "format", "--host", "sim:testdata/node.json", ""}, []string{volC, volRAW}},
		{[]string{"iscsi", "disks", "--host", "sim:testdata/node.json", ""}, nil}, // no service runs
		{[]string{"filesystem", "exists", "--host", "sim:testdata/node.json", ""}, nil},
		{[]string{"disk", "wait", ""}, []string{"azure-lun", "ebs", "serial"}},
		{[]string{"disk", "wait", "serial", ""}, nil},
		{[]string{"vol"}, []string{"volume"}},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			r := runAlone(append([]string{"__completeNoDesc"}, test.args...)...)
			got := strings.Split(r.out, "\n")
			for _, want := range test.want {
				if !slices.Contains(got, want) {
					t.Errorf("got %q, want %s", got, want)
				}
			}
			if test.want == nil && got[0] != ":4" {
				t.Errorf("got %q, want nothing", got)
			}
		})
	}
	if r := runAlone("__completeNoDesc", "filesystem", "exists", ""); !strings.HasPrefix(r.out, ":0\n") {
		t.Errorf("a path is the shell's to complete, got %q", r.out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := runAlone("completion", shell); r.code != 0 || !strings.Contains(r.out, "csi-proxy") {
			t.Errorf("%s: %+v", shell, r)
		}
	}
}

// What the host has registered and mapped is completed too.
func TestCompletion_OfTheHost(t *testing.T) {
	s := newSite(t)
	s.prepare(portalAdded)
	s.prepare(mappedShare)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"iscsi", "portal", "remove", ""}, "10.0.0.10:3260"},
		{[]string{"iscsi", "connect", "10.0.0.10", ""}, iqnCHAP},
		{[]string{"smb", "unmap", ""}, `\\domain\share`},
		{[]string{"smb", "show", ""}, `\\domain\share`},
	} {
		r := s.run(append([]string{"__completeNoDesc"}, test.args...)...)
		if !slices.Contains(strings.Split(r.out, "\n"), test.want) {
			t.Errorf("%q: got %q, want %s", test.args, r.out, test.want)
		}
	}
}
