// SPDX-License-Identifier: Apache-2.0

// Package hostpath is what a path means on one host: which drive a rooted path
// is on, what link stands at its end and where that leads, and under which key
// changes of it exclude each other. The filesystem and volume groups share it.
//
// Its questions block until Windows answers or the context ends, change
// nothing, and are safe for concurrent use. The parents of a path are resolved
// by Windows itself, links among them too; its end is never followed unless a
// method says so. Nothing here looks at file contents.
//
// Errors of Windows are bare native codes; [errdefs.KindOf] reads them.
package hostpath

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/winpath"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Paths are the paths of one host.
type Paths struct {
	host  *win.Host
	calls *blocking.Table

	mu          sync.Mutex
	systemDrive byte // 0 until Windows has told
}

// On is the paths of a host, the same for every caller. It asks nothing.
func On(h *win.Host) *Paths {
	calls := blocking.On(h)
	return win.Attached(h, func() *Paths { return &Paths{host: h, calls: calls} })
}

// Parse reads a path as [winpath.Parse] does. Only for a rooted path without a
// drive does it ask the host for the system drive, once (FLOW-9).
//
// Errors: [errdefs.ErrInvalidArgument] for the path, else the host's.
func (p *Paths) Parse(ctx context.Context, path string) (winpath.Path, error) {
	if err := ctx.Err(); err != nil {
		return winpath.Path{}, err
	}
	var drive byte
	if winpath.Rooted(path) {
		var err error
		if drive, err = p.drive(ctx); err != nil {
			return winpath.Path{}, err
		}
	}
	return winpath.Parse(path, drive)
}

func (p *Paths) drive(ctx context.Context) (byte, error) {
	if drive := p.knownDrive(); drive != 0 {
		return drive, nil
	}
	call := blocking.Call{Kind: "query", Object: "Windows directory"}
	directory, err := blocking.Do(ctx, p.calls, call, p.host.System.WindowsDirectory)
	if err != nil {
		return 0, errdefs.Wrap("system drive", "", err)
	}
	if len(directory) < 2 || directory[1] != ':' {
		return 0, errdefs.New(errdefs.Internal, "system drive", directory, "the Windows directory has no drive")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.systemDrive = directory[0]
	return p.systemDrive, nil
}

func (p *Paths) knownDrive() byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.systemDrive
}

// LockKey is the key under which changes at a path exclude each other: the
// volume and file id of the directory that holds it, and its name there. So
// spellings of one path have one key, also through links that Windows follows
// on the way. Only where that directory itself is named by a link is it the
// link's id: to tell would cost every change one call more.
//
// Errors: the host's; [errdefs.ErrNotFound] where the directory is missing.
func (p *Paths) LockKey(ctx context.Context, path winpath.Path) (keylock.Key, error) {
	directory := path.Parent()
	id, err := Look(ctx, p, "identify", directory, identity)
	if err != nil {
		return keylock.Key{}, err
	}
	if id == "" {
		id = directory.Key()
	}
	return keylock.Path(id + `\` + winpath.Fold(path.Base())), nil
}

// identity names an open file on this host, "" where its file system has no
// ids.
func identity(f win.File) (string, error) {
	buf := make([]byte, abi.FileIDInfoSize)
	n, err := f.Information(abi.FileIDInfoClass, buf)
	if Unknown(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	id, err := abi.DecodeFileIDInfo(buf[:n])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%016x %x", id.VolumeSerialNumber, id.FileID), nil
}

// Same reports whether two open files are one and the same. Where file systems
// have no ids, none are.
func Same(a, b win.File) (bool, error) {
	idA, err := identity(a)
	if err != nil {
		return false, err
	}
	idB, err := identity(b)
	return idA == idB && idA != "", err
}

// Ask runs one whole question about a path, open to close, so that the caller
// can leave when ctx ends; kind says what is asked. On a file server it counts
// among the calls of that server.
func Ask[T any](ctx context.Context, p *Paths, kind string, path winpath.Path, run func() (T, error)) (T, error) {
	call := blocking.Call{Kind: kind, Object: path.String(), Group: path.Server()}
	return blocking.Do(ctx, p.calls, call, run)
}

// Look asks what an open file tells, for what stands at the end of a path, a
// link itself too.
func Look[T any](ctx context.Context, p *Paths, kind string, path winpath.Path, read func(win.File) (T, error)) (T, error) {
	return Ask(ctx, p, kind, path, func() (T, error) {
		f, err := p.open(path)
		if err != nil {
			var zero T
			return zero, err
		}
		v, err := read(f)
		return v, Closed(f, err)
	})
}

func (p *Paths) open(path winpath.Path) (win.File, error) {
	return p.host.Files.Open(nil, path.Extended(), win.OpenFile{
		Access:      win.FileReadAttributes | win.Synchronize,
		Disposition: win.OpenExisting,
	})
}

// Closed closes f after something that ended with err, and returns the first
// error of the two.
func Closed(f win.File, err error) error {
	if closeErr := f.Close(); err == nil {
		return closeErr
	}
	return err
}

// Gone reports whether an open failed because nothing is there: no such name,
// or a disk that has been taken away, which answers with one of several codes
// (windows-api.md 7.4). A file server that does not answer is not gone.
func Gone(path winpath.Path, err error) bool {
	switch {
	case errors.Is(err, win.ERROR_FILE_NOT_FOUND), errors.Is(err, win.ERROR_PATH_NOT_FOUND):
		return true
	case errors.Is(err, win.ERROR_NO_SUCH_DEVICE), errors.Is(err, win.ERROR_DEVICE_NOT_CONNECTED):
		return !path.IsUNC()
	}
	return false
}

// Unknown reports whether a file system refused a class or code because it does
// not know it.
func Unknown(err error) bool {
	return errors.Is(err, win.ERROR_INVALID_FUNCTION) || errors.Is(err, win.ERROR_NOT_SUPPORTED) ||
		errors.Is(err, win.ERROR_INVALID_PARAMETER)
}
