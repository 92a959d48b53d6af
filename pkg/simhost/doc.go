// SPDX-License-Identifier: Apache-2.0

// Package simhost is a simulated Windows node, on which the six groups, and the
// tests of drivers, run on any operating system. It is experimental until v2.1.
//
// A node is made from a description ([NodeSpec], in Go or JSON; [Named] for
// those that are shipped, with the identity strings of real platforms). It
// models disks with their media bytes and partition tables, volumes, NTFS names
// and reparse points, the mount manager, file servers, iSCSI targets, services,
// firmware, and WMI with its stale cache, and answers at the boundary of native
// calls with the bytes and codes that Windows documents. Tests act as the cloud
// ([Node.AttachDisk], [Node.DetachDisk], [Node.GrowDisk]), break single calls
// ([Node.OnCall]), and compare whole states ([Node.Snapshot], [Diff]).
//
// The node is awkward on purpose: volumes arrive late, a SAN policy leaves disks
// offline and read-only, Windows makes its reserved partition itself, disk
// numbers pass to other disks, sizes stay old until Windows looks again, mount
// points outlive their volumes. Where nobody has verified what Windows does, a
// switch puts the node into the other position ([Switches], [AllSwitches]).
//
// A node behaves the same in every run: generated identifiers depend on nothing
// but the description and the order of changes. Time is package time, so that
// late arrivals can be tested under testing/synctest. All methods are safe for
// concurrent use, and none blocks but for the calls that OnCall holds up.
package simhost
