// SPDX-License-Identifier: Apache-2.0

package keylock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Key names what is locked. Names are compared byte by byte: the caller brings
// paths, volumes and shares into one form.
type Key struct {
	kind kind
	name string
}

type kind int

const (
	disk kind = iota
	volume
	path
	share
	service
	iscsi
)

var kindNames = [...]string{disk: "disk", volume: "volume", path: "path", share: "share", service: "service", iscsi: "iSCSI"}

// Disk is the key of a disk.
func Disk(name string) Key { return Key{disk, name} }

// Volume is the key of a volume.
func Volume(name string) Key { return Key{volume, name} }

// Path is the key of a file or directory.
func Path(name string) Key { return Key{path, name} }

// Share is the key of a network share.
func Share(name string) Key { return Key{share, name} }

// Service is the key of a service.
func Service(name string) Key { return Key{service, name} }

// ISCSI is the key of an iSCSI target, a target portal or the initiator's
// secret: "target iqn…", "portal …".
func ISCSI(name string) Key { return Key{iscsi, name} }

// String reads "disk 3".
func (k Key) String() string { return kindNames[k.kind] + " " + k.name }

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.kind, other.kind), cmp.Compare(k.name, other.name))
}

// Table holds the locks of one host.
type Table struct {
	mu     sync.Mutex
	queues map[Key][]ticket // the holder of each lock, then those that wait
}

// ticket is closed when its owner holds the lock.
type ticket chan struct{}

// On is the table of a host, shared by all that is built on it.
func On(h *win.Host) *Table {
	return win.Attached(h, func() *Table { return &Table{queues: map[Key][]ticket{}} })
}

// Lock takes the locks of all keys, each once, and returns what releases them,
// which may be called again without effect. It blocks until it has them or ctx
// ends; then it holds none and the error wraps ctx.Err(). A ctx that has ended
// takes no lock.
func (t *Table) Lock(ctx context.Context, keys ...Key) (unlock func(), err error) {
	keys = slices.Clone(keys)
	slices.SortFunc(keys, Key.compare)
	keys = slices.Compact(keys)

	var held []func()
	release := sync.OnceFunc(func() {
		for _, unlock := range slices.Backward(held) {
			unlock()
		}
	})
	for _, key := range keys {
		unlock, err := t.lock(ctx, key)
		if err != nil {
			release()
			return nil, err
		}
		held = append(held, unlock)
	}
	return release, nil
}

func (t *Table) lock(ctx context.Context, key Key) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	turn := t.enqueue(key)
	select {
	case <-turn:
		return func() { t.leave(key, turn) }, nil
	case <-ctx.Done():
		t.leave(key, turn)
		return nil, fmt.Errorf("another operation on %s has not ended: %w", key, ctx.Err())
	}
}

func (t *Table) enqueue(key Key) ticket {
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := make(ticket)
	if len(t.queues[key]) == 0 {
		close(turn)
	}
	t.queues[key] = append(t.queues[key], turn)
	return turn
}

// leave takes a holder or a waiter off the queue.
func (t *Table) leave(key Key, turn ticket) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queues[key], turn)
	queue := slices.Delete(t.queues[key], i, i+1)
	if len(queue) == 0 {
		delete(t.queues, key)
		return
	}
	t.queues[key] = queue
	if i == 0 {
		close(queue[0])
	}
}
