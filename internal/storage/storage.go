// SPDX-License-Identifier: Apache-2.0

// Package storage is the one home of what the disk and volume groups share:
// which disk a number names, its partition table, what a medium holds, what
// Windows itself needs, and the storage provider's rows. It reports facts and
// makes single changes; the groups decide.
//
// A change through WMI acts on the provider's cache and not on our handle. So
// each such change keeps a handle of the disk, proves that the provider's row
// is of the same disk, and reads the result back natively.
//
// Everything here is safe for concurrent use.
package storage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/hostpath"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/keylock"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/abi"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/win/wmi"
)

// Storage is the storage of one host.
type Storage struct {
	host     *win.Host
	wmi      *wmi.Client
	calls    *blocking.Table
	locks    *keylock.Table
	paths    *hostpath.Paths
	critical criticalCache
	arrivals arrivals
}

// On is the storage of a host, the same for every caller. It asks nothing.
func On(h *win.Host) *Storage {
	// Made before, because Attached must not be called within itself.
	client, calls, locks, paths := wmi.On(h), blocking.On(h), keylock.On(h), hostpath.On(h)
	return win.Attached(h, func() *Storage {
		return &Storage{host: h, wmi: client, calls: calls, locks: locks, paths: paths}
	})
}

// ask runs one whole question about an object, open to close, so that the
// caller can leave when ctx ends.
func ask[T any](ctx context.Context, s *Storage, question, object string, run func() (T, error)) (T, error) {
	ctx, cancel := blocking.WithBudget(ctx, blocking.QueryBudget)
	defer cancel()
	return blocking.Do(ctx, s.calls, blocking.Call{Kind: question, Object: object, Group: object}, run)
}

// finish runs one step of a change that must not be cut off: its caller may
// leave, the step runs to its end.
func finish(ctx context.Context, s *Storage, step, object string, run func() error) error {
	_, err := blocking.Finish(ctx, s.calls, blocking.Call{Kind: step, Object: object, Group: object}, func() (struct{}, error) {
		return struct{}{}, run()
	})
	return err
}

// join runs a change, or joins the unfinished one of the same key.
func join(ctx context.Context, s *Storage, key string, run func(context.Context) error) error {
	ctx, cancel := blocking.WithBudget(ctx, blocking.LongBudget)
	defer cancel()
	_, err := blocking.Join(ctx, s.calls, key, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, run(ctx)
	})
	return err
}

// each asks the same of several objects, some at a time, so that one that hangs
// does not hold up the others.
func each[T, R any](objects []T, ask func(T) R) []R {
	const atOnce = 16
	answers := make([]R, len(objects))
	room := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, object := range objects {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			answers[i] = ask(object)
		})
	}
	all.Wait()
	return answers
}

// ChangeDisk runs a change of a disk under the disk's lock. Calls for the same
// disk and change join the unfinished one. It blocks until the change has
// ended or ctx ends.
func (s *Storage) ChangeDisk(ctx context.Context, number uint32, change string, run func(context.Context) error) error {
	return join(ctx, s, change+" "+diskName(number), func(ctx context.Context) error {
		unlock, err := s.locks.Lock(ctx, diskKey(number))
		if err != nil {
			return err
		}
		defer unlock()
		return run(ctx)
	})
}

func diskName(number uint32) string { return "disk " + strconv.FormatUint(uint64(number), 10) }

func diskKey(number uint32) keylock.Key {
	return keylock.Disk(strconv.FormatUint(uint64(number), 10))
}

// control sends a control code and returns its whole reply of at most size
// bytes.
func control(c win.Controller, code uint32, in []byte, size int) ([]byte, error) {
	out := make([]byte, size)
	n, err := c.Control(code, in, out)
	if n < 0 || n > size {
		return nil, fmt.Errorf("control code 0x%X says that %d bytes of %d are valid", code, n, size)
	}
	return out[:n], err
}

// controlGrowing sends a control code whose reply has no fixed size, with a
// larger buffer until it fits.
func controlGrowing(c win.Controller, code uint32, in []byte, size int) ([]byte, error) {
	const most = 16 << 20
	for {
		out, err := control(c, code, in, size)
		if !errors.Is(err, win.ERROR_MORE_DATA) && !errors.Is(err, win.ERROR_INSUFFICIENT_BUFFER) || size >= most {
			return out, err
		}
		size *= 4
	}
}

// decoded decodes a reply, or passes its error on.
func decoded[T any](reply []byte, err error, decode func([]byte) (T, error)) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return decode(reply)
}

// unsupported reports whether a driver does not know a control code or
// property (windows-api.md 2.1; Wine answers 50, too).
func unsupported(err error) bool {
	return errors.Is(err, win.ERROR_INVALID_FUNCTION) || errors.Is(err, win.ERROR_NOT_SUPPORTED)
}

// property asks a device for a property.
func property(d win.Device, query abi.PropertyQuery, size int) ([]byte, error) {
	return control(d, abi.IOCTL_STORAGE_QUERY_PROPERTY, query.Encode(), size)
}
