// SPDX-License-Identifier: Apache-2.0

// Package volume is the volume group: format, mount, measure, grow, flush and
// unmount the volumes of a Windows node, as CSI drivers need it.
//
// # Which volume
//
// A volume id reads \\?\Volume{8-4-4-4-12}\, with the backslash at its end. It is
// the same everywhere, stays while the machine runs, and is not that of another
// machine. Requests may spell it in any case and without the backslash.
// [Volume.ListVolumesOnDisk] waits for volumes that Windows has not made yet.
//
// # What is never lost
//
// [Volume.FormatVolume] formats what Windows mounts now, because the caller names
// it, and what Windows calls RAW if its first 2 MiB and last 1 MiB were read and
// hold no signature. Else it is [errdefs.ErrForeignContent], [errdefs.ErrDamaged]
// or [errdefs.ErrUnknownContent]; an error of [Volume.IsVolumeFormatted] never
// reads as "format it". [Volume.UnmountVolume] leaves a volume mounted that could
// not be flushed, and never takes away another one. [Volume.ResizeVolume] never
// shrinks. The boot, system, page file and clustered volumes are
// [errdefs.ErrCriticalDisk] to format, mount and resize; a data volume beside
// Windows is not.
//
// It does not keep other programs from the volume: exclusion between processes is
// not promised.
//
// # Errors
//
// [errdefs.KindOf] reads the kind of every error, and the native code is kept. A
// volume or path that is not there is [errdefs.ErrNotFound]; a path where no live
// volume is mounted is [errdefs.ErrNotMounted], with words that drivers search
// for (consumers.md 2.2). A response is never nil, also beside an error. A nil
// request is [errdefs.ErrInvalidArgument].
//
// # Repetition, concurrency, time
//
// Everything blocks until Windows answers or its context ends; a context without
// deadline gets one of 30 seconds for each question, mount and removal of a mount
// point, 2 minutes for a flush, and 10 minutes to format and grow. Every change may be repeated, also
// by many at once, and goes on where one was cut off. Formatting and growing run
// to their end once begun, also when their callers have left; no volume is
// formatted twice at a time. Changes of one volume and of its disk exclude each
// other within a process.
//
// # Rights
//
// None for questions, as far as is known; an administrator to look for
// signatures and for the dirty mark, to flush, and for every change.
package volume
