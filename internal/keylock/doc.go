// SPDX-License-Identifier: Apache-2.0

// Package keylock locks the things of a host by name, under a context.
//
// The order is disk, volume, path, share, service, iSCSI. [Table.Lock] takes
// several keys in that order, and those of a kind by name, so that two callers
// cannot wait for each other. An operation therefore names all that it needs in
// one call. It may take more while it holds locks only where every further key
// comes later in the order than all that it holds.
//
// Locks are exclusive and not reentrant, hold within one process only, and are
// given in the order in which they were asked for.
package keylock
