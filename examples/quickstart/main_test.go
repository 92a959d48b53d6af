// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

func Example() {
	main()
	// Output:
	// disk 1, serial number vol0123456789abcdef0_00000001.: 10223 MiB at C:\var\lib\kubelet\plugins\data
}

// The README shows this program, word for word.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	shown, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("README.md shows no Go")
	}
	_, want, _ := strings.Cut(string(program), "package main\n\n")
	if body, _, _ := strings.Cut(want, "\nfunc check"); shown != body {
		t.Errorf("README.md shows\n%s\nthe program is\n%s", shown, body)
	}
}
