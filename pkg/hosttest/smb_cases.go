// SPDX-License-Identifier: Apache-2.0

package hosttest

func smbCases() []Case {
	return nil
}
