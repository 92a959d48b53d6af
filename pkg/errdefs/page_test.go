// SPDX-License-Identifier: Apache-2.0

package errdefs

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/errors.md")

const page = "../../docs/errors.md"

var reasonNames = []struct {
	name string
	err  error
}{
	{"ErrDiskOffline", ErrDiskOffline},
	{"ErrReadOnly", ErrReadOnly},
	{"ErrCriticalDisk", ErrCriticalDisk},
	{"ErrForeignContent", ErrForeignContent},
	{"ErrDamaged", ErrDamaged},
	{"ErrUnknownContent", ErrUnknownContent},
	{"ErrOtherDisk", ErrOtherDisk},
	{"ErrOtherVolume", ErrOtherVolume},
	{"ErrNotMounted", ErrNotMounted},
	{"ErrMountedBelow", ErrMountedBelow},
	{"ErrLinkLoop", ErrLinkLoop},
	{"ErrCredentialConflict", ErrCredentialConflict},
	{"ErrProtectedService", ErrProtectedService},
	{"ErrDependentServices", ErrDependentServices},
	{"ErrServiceEnded", ErrServiceEnded},
	{"ErrISCSIStopped", ErrISCSIStopped},
	{"ErrISCSIOtherPortal", ErrISCSIOtherPortal},
	{"ErrISCSIInUse", ErrISCSIInUse},
}

// docs/errors.md is made from the table, the kinds and the reasons.
func TestErrorsPage(t *testing.T) {
	want := errorsPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says: run go test ./pkg/errdefs -run ErrorsPage -update", page)
	}
}

func errorsPage() string {
	var b strings.Builder
	b.WriteString(`# Errors

Made from the table in ` + "`pkg/errdefs`" + ` by its tests; do not edit.

Every error has a kind, named after a gRPC code: ` + "`errdefs.KindOf(err)`" + `. Test for a
kind or a reason with ` + "`errors.Is`" + `; a reason also matches its kind's sentinel. The
native code stays in the error: ` + "`errdefs.NativeOf(err)`" + `.

## Reasons

| sentinel | text | kind |
|---|---|---|
`)
	for _, r := range reasonNames {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.name, r.err, KindOf(r.err))
	}
	b.WriteString(`
## Native codes

A code that is not listed is Internal. A call for which a code means something
else says so in its own documentation.

| kind | codes |
|---|---|
`)
	codes := map[Kind][]Native{}
	for code, kind := range kinds {
		n, _ := NativeOf(code)
		codes[kind] = append(codes[kind], n)
	}
	for kind := InvalidArgument; kind <= DeadlineExceeded; kind++ {
		list := codes[kind]
		if len(list) == 0 {
			continue
		}
		slices.SortFunc(list, func(a, b Native) int {
			return cmp.Or(cmp.Compare(a.Facility, b.Facility), cmp.Compare(a.Code, b.Code))
		})
		texts := make([]string, len(list))
		for i, n := range list {
			texts[i] = n.String()
		}
		fmt.Fprintf(&b, "| %s | %s |\n", kind, strings.Join(texts, ", "))
	}
	return b.String()
}

// The page lists every reason that is declared, by its name.
func TestErrorsPage_Complete(t *testing.T) {
	source, err := os.ReadFile("errdefs.go")
	if err != nil {
		t.Fatal(err)
	}
	if declared := strings.Count(string(source), "error = &reason{"); len(reasonNames) != declared {
		t.Errorf("%d reasons are listed, %d declared", len(reasonNames), declared)
	}
	for _, r := range reasonNames {
		if !strings.Contains(string(source), r.name+" error = &reason{") {
			t.Errorf("%s is not declared", r.name)
		}
	}
}
