// SPDX-License-Identifier: Apache-2.0

package hosttest

func flowCases() []Case {
	return nil
}
