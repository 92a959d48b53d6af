// SPDX-License-Identifier: Apache-2.0

// Package disk is the disk group: find a disk of a Windows node, bring it online,
// partition it, and take it offline again, as CSI drivers need it.
//
// # Which disk
//
// A disk number lasts as long as the disk is attached and then passes to another
// one, so a driver keeps an identifier and looks for the number right before it
// is used: [Disk.FindDisk] and [Disk.WaitForDisk] find the one disk that a
// [Matcher] describes, and none where two do. Identifiers come as the device
// gives them. A change keeps the disk open, proves that it and the storage
// provider's row are of one disk, and compares again afterwards; where the number
// has moved, it is [errdefs.ErrOtherDisk].
//
// # What is never lost
//
// [Disk.PartitionDisk] writes only to a disk whose partition table was read and
// is empty, and whose first 2 MiB and last 1 MiB were read and hold no signature
// of a file system or volume manager. Else it is [errdefs.ErrForeignContent],
// [errdefs.ErrDamaged] or [errdefs.ErrUnknownContent]. Boot, system, page file
// and clustered disks are [errdefs.ErrCriticalDisk] for every change, as is every
// disk while it cannot be told which these are.
//
// It does not keep other programs from the disk: exclusion between processes is
// not promised.
//
// # Errors
//
// [errdefs.KindOf] reads the kind of every error, and the native code is kept. A
// disk that is not there is [errdefs.ErrNotFound]. A response is never nil, also
// beside an error. A nil request is [errdefs.ErrInvalidArgument].
//
// # Repetition, concurrency, time
//
// Everything blocks until Windows answers or its context ends; a context without
// deadline gets one of 30 seconds for questions and 10 minutes for changes. Every
// change may be repeated, also by many at once: callers of one change of one disk
// share its run. A step that must not be cut off runs to its end when its callers
// have left, and the next call joins it. Changes of one disk exclude each other
// within a process, those of its volumes included.
//
// # Rights
//
// None for questions, as far as is known; an administrator to look for signatures
// and for every change.
package disk
