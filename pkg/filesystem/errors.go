// SPDX-License-Identifier: Apache-2.0

package filesystem

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// failed says which operation on which path failed, unless the error has the
// form of package os, which says so itself.
func failed(op, path string, err error) error {
	switch err.(type) { //nolint:errorlint // only the outermost form counts
	case *fs.PathError, *os.LinkError:
		return err
	}
	return errdefs.Wrap(op, path, err)
}

// isKind reports whether an error is of one of the kinds.
func isKind(err error, kinds ...errdefs.Kind) bool {
	for _, k := range kinds {
		if err != nil && errdefs.KindOf(err) == k {
			return true
		}
	}
	return false
}

var errRoot = errors.New("the root of a drive, share or volume is not removed or emptied")
