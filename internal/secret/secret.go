// SPDX-License-Identifier: Apache-2.0

// Package secret keeps passwords out of texts: logs, errors and whatever
// formats a request.
package secret

import (
	"fmt"
	"io"
)

// mark stands for a secret.
const mark = "***"

// Mark is what stands for a text: nothing for none.
func Mark(s string) string {
	if s == "" {
		return ""
	}
	return mark
}

// Text is a secret. It formats as what stands for it. What holds one must have a
// Format of its own: behind a pointer and a verb that is none for it, package fmt
// asks no field for its methods.
type Text string

// Format writes what stands for the secret, whatever the verb.
func (t Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, Mark(string(t))) }

// MarshalText is what stands for the secret, in JSON too.
func (t Text) MarshalText() ([]byte, error) { return []byte(Mark(string(t))), nil }

// Format writes shown, a copy without secrets of what is to be formatted, with
// the verb and flags that were asked for.
func Format(f fmt.State, verb rune, shown any) { fmt.Fprintf(f, fmt.FormatString(f, verb), shown) }
