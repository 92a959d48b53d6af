// SPDX-License-Identifier: Apache-2.0

// Package iscsi is the iSCSI group: target portals, sessions and their disks, by
// the initiator that Windows brings. Its service, MSiSCSI, is stopped on a new
// Windows Server: start it with system.StartService, else every method is
// [errdefs.ErrISCSIStopped].
//
// # From a portal to a disk
//
// [ISCSI.AddTargetPortal] registers a portal and asks it for its targets,
// [ISCSI.ConnectTarget] logs in, [ISCSI.GetTargetDisks] tells which disks came
// of it. Windows may leave them offline and read-only: disk.SetDiskState brings
// them online. Before [ISCSI.DisconnectTarget], unmount their volumes and take
// them offline again.
//
// # Restarts
//
// Portals stay registered, sessions do not: after a restart, ConnectTarget again
// with the same request. A session that somebody has made persistent is taken
// out of those that Windows makes again before it is closed.
//
// # Several portals
//
// A session belongs to the portal to which its connection leads. Where a portal
// has sent the login on to an address that is no registered portal, it belongs
// to the portal that is asked about. Two sessions of one target show the same
// disk twice, which destroys it, unless the Microsoft multipath driver runs and
// claims iSCSI disks. Then sessions allow multipath, and a target may be
// connected through several portals; else a second one is
// [errdefs.ErrISCSIOtherPortal]. Register a portal under one address only: a
// host name and its IP address are two portals here.
//
// # Secrets
//
// CHAP secrets have 12 to 16 bytes of ASCII (windows-api.md 10.3). They and the
// CHAP user never show in an error or where a request is formatted, logged or
// written as JSON.
//
// # Errors, repetition, rights
//
// [errdefs.KindOf] reads the kind of every error, and the initiator's status is
// kept. A response is never nil, also beside an error. What cannot be right is
// [errdefs.ErrInvalidArgument] before anything is asked. All may be repeated,
// also by many at once, but for RemoveTargetPortal of a portal that is not
// registered. Changes of one portal or target exclude each other within a
// process, and one that has begun runs to its end, whatever becomes of its
// caller. All of it needs an administrator.
package iscsi
