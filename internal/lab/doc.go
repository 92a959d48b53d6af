// SPDX-License-Identifier: Apache-2.0

// Package lab puts a simulated node behind the real system calls of a process
// that runs under Wine 10, so that tests of internal/win/native go through
// CreateFile, DeviceIoControl, NtCreateFile, the mount manager and COM and end
// at the node. The far side is our model and not Windows: what passes here has
// used Windows' calls as the model understands them, no more.
//
// Three carriers bring the calls to the node, in the process of the test itself,
// and decide nothing:
//
//   - lab.sys, a driver, for devices: control codes, reads and flushes;
//   - labhook.dll, for what Wine sends to no driver: the status of an open,
//     files, directories, reparse points, links, mount points;
//   - COM objects for WMI.
//
// test/lab has the sources of the first two, and the tests. Everything but the
// codecs is for Windows only. One Lab may run at a time on a machine.
package lab
