// SPDX-License-Identifier: Apache-2.0

// Package blocking runs calls that cannot be interrupted under a context that
// can.
//
// A system call on a sick disk or a dead file server may never return. So each
// runs on a goroutine of its own, its result travels in a channel, and the
// caller leaves when its context ends. A call whose result nobody waits for any
// more is abandoned: it runs on, owns what it opened, and must close it. The
// [Table] of a host bounds what may be left behind like that; beyond it calls
// are refused, with an error that names what hangs.
//
//   - [Do] runs a question (open, ask, close), or one step that may be left
//     behind.
//   - [Join] runs a change as a flight: callers with the same key share one
//     run, so that a caller who comes back joins what is unfinished and never
//     starts it twice.
//   - [Alone] runs a change as a flight that nobody joins.
//   - [Finish] runs a step of a flight that must reach its end whatever
//     happens to the callers, such as a format. While it runs the flight, and
//     every lock that the flight holds, outlives its callers.
//
// Calls of different objects never wait for each other. Everything is safe for
// concurrent use, and no goroutine is left when the calls have ended.
package blocking
