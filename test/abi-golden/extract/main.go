// SPDX-License-Identifier: Apache-2.0

// Command extract writes the records that golden.h put into the section
// .golden of object files as JSON. It only reads them: nothing of Windows is
// run.
package main

import (
	"bytes"
	"debug/pe"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// golden is the file that the tests of internal/win/abi read.
type golden struct {
	Source   string            `json:"source"`
	HandMade []string          `json:"handMade"` // in no header, from documentation
	Numbers  map[string]uint64 `json:"numbers"`
	Bytes    map[string]string `json:"bytes"` // hexadecimal
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
}

func run(objects []string) error {
	g := golden{
		Source:  "made by test/abi-golden/run.sh from mingw-w64's headers",
		Numbers: map[string]uint64{},
		Bytes:   map[string]string{},
	}
	for _, name := range objects {
		records, err := section(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := g.read(records); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	slices.Sort(g.HandMade)
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(g)
}

// section returns the bytes of .golden.
func section(object string) ([]byte, error) {
	b, err := os.ReadFile(object)
	if err != nil {
		return nil, err
	}
	f, err := pe.NewFile(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	s := f.Section(".golden")
	if s == nil {
		return nil, fmt.Errorf("no section .golden")
	}
	return s.Data()
}

// read adds the records of a section.
//
//	char label[96]; unsigned char kind; unsigned int use, size; type value;
func (g *golden) read(b []byte) error {
	const (
		labelSize = 96
		header    = labelSize + 1 + 4 + 4
	)
	for {
		b = bytes.TrimLeft(b, "\x00") // padding
		if len(b) == 0 {
			return nil
		}
		if len(b) < header {
			return fmt.Errorf("cut record %q", b)
		}
		label, _, _ := bytes.Cut(b[:labelSize], []byte{0})
		use, size := binary.LittleEndian.Uint32(b[labelSize+1:]), binary.LittleEndian.Uint32(b[labelSize+5:])
		if uint64(size) > uint64(len(b)-header) || use > size {
			return fmt.Errorf("record %q of %d bytes", label, size)
		}
		value := b[header : header+use]
		switch b[labelSize] {
		case 'B':
			g.Bytes[string(label)] += hex.EncodeToString(value)
		case 'N':
			g.Numbers[string(label)] = binary.LittleEndian.Uint64(value)
		case 'H':
			g.HandMade = append(g.HandMade, string(label))
		default:
			return fmt.Errorf("record %q of kind %q", label, b[labelSize])
		}
		b = b[header+size:]
	}
}
