// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime"
)

// usage is what the process has.
type usage struct{ goroutines, threads, handles int }

func (u usage) String() string {
	return fmt.Sprintf("%d goroutines, %d threads, %d handles", u.goroutines, u.threads, u.handles)
}

func measure() (usage, error) {
	threads, err := countThreads()
	if err != nil {
		return usage{}, err
	}
	handles, err := countHandles()
	return usage{runtime.NumGoroutine(), threads, handles}, err
}
