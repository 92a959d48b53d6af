// SPDX-License-Identifier: Apache-2.0

// Package native is Windows itself behind package win: one documented call per
// method, and nothing that decides.
//
// A method copies values out of native memory before it returns, owns and
// closes the handles and COM references it uses, and returns the native code
// unchanged as a bare [win.Errno], [win.HRESULT] or *[win.ProviderError].
// Importing the package does nothing: DLLs come from the system directory at
// first use, and a missing export is an error, not a panic. COM is entered only
// where a caller asks for it, on the caller's own thread; packet privacy is set
// on each proxy, never for the process.
//
// Off Windows there is a host too, which answers every call with
// [errors.ErrUnsupported].
package native

import (
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// host is the one native host of the process.
var host = sync.OnceValue(newHost)

// Host is the machine that this process runs on. It is made at the first call,
// is the same for every caller, and is safe for concurrent use.
func Host() *win.Host { return host() }
