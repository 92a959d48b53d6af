// SPDX-License-Identifier: Apache-2.0

// Package abi holds the numbers and memory layouts that Windows and a program
// exchange: control codes, and a decoder and an encoder for each structure.
//
// A decoder takes the bytes that a call returned, no more than it said were
// valid, and gives plain values that share no memory with them. It never
// panics and never allocates much more than it was given, whatever a device, a
// driver or a server put there. An error is [ErrMalformed] or a
// [*TruncatedError]. Encoders are the exact other end; the simulated node
// speaks through them.
//
// Layouts are those of 64-bit Windows, little-endian, the same on amd64 and
// arm64. They are compared with mingw-w64's headers through
// testdata/golden.json (test/abi-golden). Nothing here blocks, logs or keeps
// state.
package abi
