// SPDX-License-Identifier: Apache-2.0

package hosttest

func systemCases() []Case {
	return nil
}
