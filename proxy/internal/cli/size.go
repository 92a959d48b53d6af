// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

var sizeUnits = []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}

// size is a number of bytes, as people read and write it.
type size int64

// String is the size in its largest unit: "10.0GiB", "512B".
func (s size) String() string {
	if s < 1024 {
		return fmt.Sprintf("%dB", int64(s))
	}
	value, unit := float64(s)/1024, 0
	for value >= 1024 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f%s", value, sizeUnits[unit])
}

// exact is the size in bytes and in its largest unit.
func (s size) exact() string { return fmt.Sprintf("%d (%s)", int64(s), s) }

// Set reads whole bytes, or whole units: "10737418240", "10GiB".
func (s *size) Set(text string) error {
	digits, factor := strings.TrimSuffix(text, "B"), int64(1)
	for i, unit := range sizeUnits {
		if number, ok := strings.CutSuffix(text, unit); ok {
			digits, factor = number, 1<<(10*(i+1))
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/factor {
		return fmt.Errorf("no size; write bytes, or a number and one of %s", strings.Join(sizeUnits, ", "))
	}
	*s = size(n * factor)
	return nil
}

// Type is what help calls it.
func (s *size) Type() string { return "size" }
