// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// exitCodes is the one table of exit codes.
var exitCodes = []struct {
	code    int
	meaning string
	kinds   []errdefs.Kind
}{
	{0, "done", []errdefs.Kind{errdefs.None}},
	{1, "error that is none of these", nil},
	{2, "wrong usage or argument", []errdefs.Kind{errdefs.InvalidArgument}},
	{3, "not found", []errdefs.Kind{errdefs.NotFound}},
	{4, "access denied", []errdefs.Kind{errdefs.PermissionDenied}},
	{5, "busy, unavailable or timed out", []errdefs.Kind{errdefs.Busy, errdefs.Unavailable, errdefs.DeadlineExceeded}},
	{6, "not supported", []errdefs.Kind{errdefs.Unsupported}},
	{130, "interrupted; how things are then is told", []errdefs.Kind{errdefs.Canceled}},
}

func exitCode(err error) int {
	kind := errdefs.KindOf(err)
	if errors.As(err, new(*usageError)) {
		kind = errdefs.InvalidArgument
	}
	for _, e := range exitCodes {
		if slices.Contains(e.kinds, kind) {
			return e.code
		}
	}
	return 1
}

func exitHelp() string {
	var out strings.Builder
	for _, e := range exitCodes {
		fmt.Fprintf(&out, "  %-3d  %s\n", e.code, e.meaning)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// usageError is a command line that cannot be understood.
type usageError struct {
	message string
	usage   string
}

func (e *usageError) Error() string { return e.message }

func usage(cmd *cobra.Command, message string) error {
	return &usageError{message: message, usage: cmd.UseLine()}
}

// report writes an error, with one hint where there is one, and returns the
// exit code.
func (a *app) report(err error) int {
	if err != nil {
		a.note(fmt.Sprintf("error: %v\n", err))
		if hint := hintFor(err); hint != "" {
			a.note(hint + "\n")
		}
	}
	return exitCode(err)
}

// hints say what to do next, the special before the general.
var hints = []struct {
	err  error
	hint string
}{
	{errNotWindows, "try a simulated node: --host sim:aws-nitro, or csi-proxy demo"},
	{errdefs.ErrDiskOffline, "csi-proxy disk online DISK brings it online"},
	{errdefs.ErrForeignContent, "--overwrite lets what is there be lost"},
	{errdefs.ErrDamaged, "--overwrite lets what is there be lost"},
	{errdefs.ErrMountedBelow, "csi-proxy volume unmount VOLUME PATH comes first"},
	{errdefs.ErrNotMounted, "csi-proxy volume closest PATH tells which volume holds a path"},
	{errdefs.ErrDependentServices, "--force stops them first"},
	{errdefs.ErrProtectedService, "the node does not go on without it"},
	{errdefs.ErrISCSIStopped, "csi-proxy system start MSiSCSI starts it"},
	{errdefs.ErrISCSIInUse, "csi-proxy volume unmount VOLUME PATH and csi-proxy disk offline DISK come first"},
	{errdefs.ErrCredentialConflict, "csi-proxy smb list tells what is mapped"},
	{errdefs.ErrPermissionDenied, "disks, volumes, services and mappings need an administrator, and shares a user whom their server lets in"},
}

func hintFor(err error) string {
	var u *usageError
	if errors.As(err, &u) && u.usage != "" {
		return "usage: " + u.usage
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return "hint: " + h.hint
		}
	}
	if errdefs.KindOf(err) == errdefs.DeadlineExceeded {
		return "hint: --timeout gives it another time"
	}
	return ""
}
