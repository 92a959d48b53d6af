// SPDX-License-Identifier: Apache-2.0

// Package system is the system group: the machine's serial number, and the
// services of a Windows node.
//
// # Services
//
// A service is named by its key name, such as MSiSCSI, in any case; names are
// never patterns. StartService and StopService return when the service runs or
// is stopped. They wait by Windows' own rule, which asks for the status after a
// tenth of the service's wait hint, within 1 s and 10 s (sooner at first), and
// give up where its check point stands still for as long as the hint says, at
// least 30 s. A context without deadline gets one of 30 seconds, StopService
// with Force one of 2 minutes.
//
// # Protected services
//
// StopService never stops the services of [ProtectedServices], without which
// Windows, its defences or the node's containers do not go on, nor any driver,
// whether asked for by name or reached as a dependent with Force. It refuses
// before it changes anything. This guards against mistakes; a process with the
// rights to stop a service can do so by other means.
//
// # Errors
//
// [errdefs.KindOf] reads the kind of every error, and the native code is kept. A
// response is never nil, also beside an error. A nil request, and a name that no
// service can have, are [errdefs.ErrInvalidArgument].
//
// # Repetition and concurrency
//
// Everything may be repeated, also by many at once: starting a service that
// runs and stopping one that is stopped do nothing, and a retry goes on where a
// caller has left. Changes of one service exclude each other within a process,
// but not between processes.
//
// # Rights
//
// None for the serial number and for questions; an administrator to start and
// stop services.
package system
