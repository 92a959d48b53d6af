// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// format is how the answer of a verb is written.
type format string

// The formats.
const (
	formatTable format = "table"
	formatWide  format = "wide"
	formatJSON  format = "json"
	formatYAML  format = "yaml"
	formatName  format = "name"
)

var formats = []string{string(formatTable), string(formatWide), string(formatJSON), string(formatYAML), string(formatName)}

// String is the format's name.
func (f *format) String() string { return string(*f) }

// Type is what help calls it.
func (f *format) Type() string { return "format" }

// Set takes a format's name.
func (f *format) Set(text string) error {
	if !slices.Contains(formats, text) {
		return fmt.Errorf("no format; there are %s", strings.Join(formats, ", "))
	}
	*f = format(text)
	return nil
}

// output is what the flags of a verb say of its answer.
type output struct {
	format    format
	noHeaders bool
}

func (o *output) flags(f *pflag.FlagSet) {
	o.format = formatTable
	f.VarP(&o.format, "output", "o", "how to write the answer: "+strings.Join(formats, ", "))
	f.BoolVar(&o.noHeaders, "no-headers", false, "write tables without their header")
}

// forPeople reports whether a person reads the answer.
func (o output) forPeople() bool { return o.format == formatTable || o.format == formatWide }

// apiVersion is that of the documents; fields are added to it, never taken away
// or changed (docs/json.md).
const apiVersion = "csi-proxy/v1"

// document is an answer for programs.
type document struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Items      []object `json:"items"`
}

// write writes an answer as wanted.
func (o output) write(w io.Writer, t *table) error {
	var text []byte
	var err error
	switch o.format {
	case formatJSON:
		text, err = t.json()
	case formatYAML:
		text, err = t.yaml()
	case formatName:
		text = []byte(t.names())
	default:
		text = []byte(t.text(o.format == formatWide, !o.noHeaders))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

func (t *table) json() ([]byte, error) {
	doc := document{apiVersion, t.kind + "List", t.items}
	if doc.Items == nil {
		doc.Items = []object{}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(doc)
	return out.Bytes(), err
}

// yaml is the JSON in another dress, which YAML reads as it is: the fields keep
// their names and their order.
func (t *table) yaml() ([]byte, error) {
	text, err := t.json()
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	undress(&doc)
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// undress takes JSON's braces and quotes away.
func undress(node *yaml.Node) {
	if len(node.Content) > 0 || node.Kind == yaml.ScalarNode {
		node.Style = 0 // an empty list stays []
	}
	for _, child := range node.Content {
		undress(child)
	}
}

// names are those by which other verbs take the objects.
func (t *table) names() string {
	var out strings.Builder
	for _, item := range t.items {
		out.WriteString(item.name() + "\n")
	}
	return out.String()
}
