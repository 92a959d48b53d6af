// SPDX-License-Identifier: Apache-2.0

package hosttest

func libraryCases() []Case {
	return nil
}
