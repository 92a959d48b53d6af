// SPDX-License-Identifier: Apache-2.0

package hosttest_test

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/hosttest"
)

// What a harness will leave out is known before its cases run. In a test,
// hosttest.Run(t, harness) runs them.
func ExampleHarness() {
	harness := hosttest.Simulated()
	for _, c := range hosttest.Cases() {
		for _, need := range c.Needs {
			if !slices.Contains(harness.Can, need) {
				fmt.Println(c.Name(), "is left out: it needs", need)
			}
		}
	}
	fmt.Println(harness.Name)
	// Output: simulated node
}
