// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package compat

import (
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Package os knows only this system's own numbers, so that it judges a Windows
// code on Windows alone. Its rule, for ours:

func isNotExist(err error) bool   { return osJudge(err, fs.ErrNotExist) }
func isExist(err error) bool      { return osJudge(err, fs.ErrExist) }
func isPermission(err error) bool { return osJudge(err, fs.ErrPermission) }

// osJudge unwraps one error of package os, and no other.
func osJudge(err, target error) bool {
	switch e := err.(type) { //nolint:errorlint // as package os does
	case *fs.PathError:
		err = e.Err
	case *os.LinkError:
		err = e.Err
	case *os.SyscallError:
		err = e.Err
	}
	code, ok := err.(win.Errno) //nolint:errorlint // as package os does
	return ok && code.Is(target)
}
