// SPDX-License-Identifier: Apache-2.0

package intercept

import (
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// Counter counts boundary calls, failed ones too. Its zero value is ready for
// use, by many goroutines at once.
type Counter struct {
	mu    sync.Mutex
	calls []Call
}

// Host is h with its calls counted.
func (c *Counter) Host(h *win.Host) *win.Host { return Host(h, c.Around) }

// Around counts a call and makes it.
func (c *Counter) Around(call Call, do func() error) error {
	c.mu.Lock()
	c.calls = append(c.calls, call.Bare())
	c.mu.Unlock()
	return do()
}

// Total is the number of calls, without those that continue another.
func (c *Counter) Total() int {
	total := 0
	for _, n := range c.ByMethod() {
		total += n
	}
	return total
}

// ByMethod counts as Total does, for each method.
func (c *Counter) ByMethod() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[string]int{}
	for _, call := range c.calls {
		if !call.Continues {
			counts[call.Method]++
		}
	}
	return counts
}

// Calls lists the calls as they came, those that continue another too.
func (c *Counter) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// Reset forgets the calls.
func (c *Counter) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}
