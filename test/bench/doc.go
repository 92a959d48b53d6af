// SPDX-License-Identifier: Apache-2.0

// Package bench measures the six groups: time, allocations and boundary calls of
// each operation, on simulated nodes of 1 to 1,000 disks, through the Wine lab,
// and on Wine's own files and services. "make bench" runs all of it and writes
// docs/performance.md. Its tests, which are no benchmarks, check that what an
// operation costs does not grow with the node.
package bench
