// SPDX-License-Identifier: Apache-2.0

package hosttest

import "testing"

func TestSimulated(t *testing.T) { Run(t, Simulated()) }
