// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
)

//go:generate go test -run TestDocs . -update

// pages are docs/cli, by file: one for each command of the first level, and an
// index.
func pages() map[string]string {
	root := (&app{}).rootCommand()
	var index strings.Builder
	fmt.Fprintf(&index, "# csi-proxy\n\n%s```text\n%s\n```\n\n", generated, root.Long)
	all := map[string]string{}
	for _, cmd := range root.Commands() {
		fmt.Fprintf(&index, "- [%s](%s.md): %s\n", cmd.CommandPath(), cmd.Name(), cmd.Short)
		var page strings.Builder
		page.WriteString("# " + cmd.CommandPath() + "\n\n" + generated)
		section(&page, cmd)
		all[cmd.Name()+".md"] = page.String()
	}
	fmt.Fprintf(&index, "\n## Flags of all commands\n\n```text\n%s```\n", root.PersistentFlags().FlagUsages())
	all["README.md"] = index.String()
	return all
}

const generated = "<!-- Generated from the commands: go generate ./proxy/internal/cli -->\n\n"

// section describes a command and those below it.
func section(out *strings.Builder, cmd *cobra.Command) {
	about := cmd.Short + "."
	if cmd.Long != "" {
		about = cmd.Long
	}
	fmt.Fprintf(out, "```text\n%s\n```\n", strings.TrimSpace(about))
	if cmd.Runnable() && !cmd.HasSubCommands() {
		fmt.Fprintf(out, "\n    %s\n", cmd.UseLine())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(out, "\nAlso: %s\n", strings.Join(cmd.Aliases, ", "))
	}
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(out, "\nFlags:\n\n```text\n%s```\n", flags.FlagUsages())
	}
	if cmd.Example != "" {
		fmt.Fprintf(out, "\nExample:\n\n```text\n%s\n```\n", cmd.Example)
	}
	for _, below := range cmd.Commands() {
		fmt.Fprintf(out, "\n## %s\n\n", below.CommandPath())
		section(out, below)
	}
}

// kinds are an object of each kind.
var kinds = []struct {
	about  string
	object object
}{
	{"A disk, by its number.", diskObject{}},
	{"A volume, by its id.", volumeObject{}},
	{"A path.", pathObject{}},
	{"A share, or a directory of it; most verbs tell of its mapping for the whole machine.", mappingObject{}},
	{"An iSCSI target portal.", portalObject{}},
	{"An iSCSI target.", targetObject{}},
	{"A service.", serviceObject{}},
	{"The machine.", machineObject{}},
	{"What a verb with --dry-run would do.", planObject{}},
}

const jsonHelp = `# Formats of answers

%sEvery verb of a group, and tree, takes -o:

| -o | for |
|---|---|
| table | people (default); --no-headers leaves the header out |
| wide | people with room: more columns |
| json | programs: one document, as below |
| yaml | programs and people: the same document |
| name | shells: the names by which other verbs take the objects, one a line |

Tables are not stable: their columns and words may change with any release. A
document is one object:

| field | |
|---|---|
| apiVersion | %s |
| kind | the kind of its items, and List: DiskList |
| items | the objects, also if there is only one, or none |

A verb that changes something answers with the object that it changed, as far as
the change tells; with --dry-run it answers with a Plan.

Within an apiVersion fields are added, never taken away or changed, and so are
values of those that are in words. Sizes are in bytes. A field is left out where
the verb does not ask for it, where Windows does not tell it and where it could not
be read; then a warning stands on standard error, or problems says so. Errors are
no documents: they stand on standard error, and the exit code tells their kind.
`

// formatsPage is docs/json.md.
func formatsPage() string {
	var out strings.Builder
	fmt.Fprintf(&out, jsonHelp, generated, apiVersion)
	for _, k := range kinds {
		fmt.Fprintf(&out, "\n## %s\n\n%s\n", k.object.kind(), k.about)
		fieldTable(&out, reflect.TypeOf(k.object))
	}
	return out.String()
}

// fieldTable lists the fields of an object, and after it those of what it holds.
// A volume has its own section.
func fieldTable(out *strings.Builder, object reflect.Type) {
	out.WriteString("\n| field | type | |\n|---|---|---|\n")
	type held struct {
		field  string
		object reflect.Type
	}
	var below []held
	for i := range object.NumField() {
		f := object.Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fmt.Fprintf(out, "| %s | %s | %s |\n", name, jsonType(f.Type), strings.ReplaceAll(f.Tag.Get("doc"), `\`, `\\`))
		switch inner := f.Type; {
		case inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct:
			below = append(below, held{"Each of " + name, inner.Elem()})
		case inner.Kind() == reflect.Pointer && jsonType(inner) == "object":
			below = append(below, held{name, inner.Elem()})
		}
	}
	for _, b := range below {
		fmt.Fprintf(out, "\n%s:\n", b.field)
		fieldTable(out, b.object)
	}
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.Slice:
		return "list of " + jsonType(t.Elem())
	case reflect.Interface:
		return "object of that kind"
	case reflect.Struct:
		if t == reflect.TypeFor[volumeObject]() {
			return kindVolume
		}
		return "object"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	default:
		return "number"
	}
}
