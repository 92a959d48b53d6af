// SPDX-License-Identifier: Apache-2.0

// Package filesystem is the filesystem group: directories, links and mount
// folders of a Windows node, as CSI drivers need them.
//
// # Paths
//
// A path is C:\dir, \dir on the system drive (kubelet's own spelling),
// \\host\share\dir, one of these behind \\?\, or \\?\Volume{guid}\dir; a slash
// is a backslash. Relative paths, devices, streams, "..", reserved names such as
// NUL.txt, and names that Windows would change (a dot or blank at their end) are
// [errdefs.ErrInvalidArgument]. Only [ValidatePathWindows] keeps upstream's
// stricter rules.
//
// # Links
//
// [Filesystem.PathExists], [Filesystem.IsSymlink], [Filesystem.LinkState] and
// [Filesystem.CreateSymlink] let Windows follow links among the parents of a
// path. [Filesystem.Mkdir], [Filesystem.Rmdir] and [Filesystem.RmdirContents]
// do not: they go down by handles from the root of the drive, share or volume,
// and where a parent is a link, junction or mount folder they are
// [errdefs.ErrFailedPrecondition] and change nothing, because whoever can write
// to a directory, such as a pod to its volume, could otherwise have this process
// create and delete elsewhere. Where kubelet's directory itself is behind a
// link, name it by its real path, which LinkState tells. What stands at the end
// of a path is another matter: Mkdir accepts a link to a live directory, and
// Rmdir removes a link itself.
//
// # Errors
//
// An error of Windows is an outermost *fs.PathError or *os.LinkError, so that
// os.IsNotExist, os.IsExist and mount-utils' IsCorruptedMnt judge it;
// [errdefs.KindOf] reads the kind of every error. A response is never nil, also
// beside an error. A nil request is [errdefs.ErrInvalidArgument].
//
// # Repetition, concurrency, time
//
// Everything blocks until Windows answers or its context ends; a context
// without deadline gets one of 30 seconds for questions, 2 minutes for Mkdir and
// CreateSymlink, and 10 minutes for removal. A change whose caller has left
// stops before its next step; repeating it goes on from there. Every change may
// be repeated, also by many at once; the exceptions are upstream's, at the
// methods. Changes at one path exclude each other within a process, across
// groups too, but not between processes.
//
// # Rights
//
// Those on the files; SeCreateSymbolicLinkPrivilege to create links; an
// administrator to remove mount folders.
package filesystem
