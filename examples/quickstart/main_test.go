// SPDX-License-Identifier: Apache-2.0

package main

func Example() {
	main()
	// Output:
	// disk 1, serial number vol0123456789abcdef0_00000001.: 10223 MiB at C:\var\lib\kubelet\plugins\data
}
