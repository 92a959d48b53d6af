// SPDX-License-Identifier: Apache-2.0

package hosttest

func iscsiCases() []Case {
	return nil
}
