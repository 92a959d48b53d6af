// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	fs "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
)

// group is one group as it is here. Every type that upstream exports, but for
// the concrete one, is reachable from its Interface.
type group struct {
	name     string
	face     reflect.Type
	concrete reflect.Type
	new      any               // New
	funcs    map[string]any    // other functions
	consts   map[string]any    // constants
	extra    map[string]string // fields that upstream has not: "Type.Field" to its type
}

var groups = []group{
	{
		name: "disk", face: reflect.TypeFor[disk.Interface](), concrete: reflect.TypeFor[disk.Disk](), new: disk.New,
		extra: map[string]string{"PartitionDiskRequest.Overwrite": "bool"},
	},
	{
		name: "filesystem", face: reflect.TypeFor[fs.Interface](), concrete: reflect.TypeFor[fs.Filesystem](), new: fs.New,
		funcs: map[string]any{"ValidatePathWindows": fs.ValidatePathWindows},
		extra: map[string]string{"CreateSymlinkRequest.AllowMissing": "bool"},
	},
	{
		name: "volume", face: reflect.TypeFor[volume.Interface](), concrete: reflect.TypeFor[volume.Volume](), new: volume.New,
		extra: map[string]string{
			"FormatVolumeRequest.Overwrite":          "bool",
			"FormatVolumeRequest.FileSystem":         "string",
			"FormatVolumeRequest.Label":              "string",
			"FormatVolumeRequest.AllocationUnitSize": "uint32",
			"FormatVolumeRequest.Full":               "bool",
			"FormatVolumeRequest.Compress":           "bool",
			"GetVolumeStatsResponse.AvailableBytes":  "int64",
			"ResizeVolumeResponse.OldSizeBytes":      "int64",
			"ResizeVolumeResponse.NewSizeBytes":      "int64",
			"ResizeVolumeResponse.LargestSizeBytes":  "int64",
			"ResizeVolumeResponse.Grew":              "bool",
		},
	},
	{
		name: "smb", face: reflect.TypeFor[smb.Interface](), concrete: reflect.TypeFor[smb.SMB](), new: smb.New,
		extra: map[string]string{
			"NewSMBGlobalMappingRequest.Domain":           "string",
			"NewSMBGlobalMappingRequest.Anonymous":        "bool",
			"NewSMBGlobalMappingRequest.WithoutPrivacy":   "bool",
			"NewSMBGlobalMappingRequest.RequireIntegrity": "bool",
			"NewSMBGlobalMappingRequest.ReuseUnverified":  "bool",
		},
	},
	{
		name: "iscsi", face: reflect.TypeFor[iscsi.Interface](), concrete: reflect.TypeFor[iscsi.ISCSI](), new: iscsi.New,
		funcs:  map[string]any{"AuthTypeToString": iscsi.AuthTypeToString},
		consts: map[string]any{"NONE": iscsi.NONE, "ONE_WAY_CHAP": iscsi.ONE_WAY_CHAP, "MUTUAL_CHAP": iscsi.MUTUAL_CHAP},
	},
	{
		name: "system", face: reflect.TypeFor[system.Interface](), concrete: reflect.TypeFor[system.System](), new: system.New,
		consts: map[string]any{
			"SERVICE_STATUS_UNKNOWN":          system.SERVICE_STATUS_UNKNOWN,
			"SERVICE_STATUS_STOPPED":          system.SERVICE_STATUS_STOPPED,
			"SERVICE_STATUS_START_PENDING":    system.SERVICE_STATUS_START_PENDING,
			"SERVICE_STATUS_STOP_PENDING":     system.SERVICE_STATUS_STOP_PENDING,
			"SERVICE_STATUS_RUNNING":          system.SERVICE_STATUS_RUNNING,
			"SERVICE_STATUS_CONTINUE_PENDING": system.SERVICE_STATUS_CONTINUE_PENDING,
			"SERVICE_STATUS_PAUSE_PENDING":    system.SERVICE_STATUS_PAUSE_PENDING,
			"SERVICE_STATUS_PAUSED":           system.SERVICE_STATUS_PAUSED,
			"START_TYPE_BOOT":                 system.START_TYPE_BOOT,
			"START_TYPE_SYSTEM":               system.START_TYPE_SYSTEM,
			"START_TYPE_AUTOMATIC":            system.START_TYPE_AUTOMATIC,
			"START_TYPE_MANUAL":               system.START_TYPE_MANUAL,
			"START_TYPE_DISABLED":             system.START_TYPE_DISABLED,
		},
		extra: map[string]string{"GetServiceResponse.DelayedStart": "bool"},
	},
}

// types are the structs that the methods of the group take and return.
func (g group) types() map[string]reflect.Type {
	found := map[string]reflect.Type{}
	var visit func(reflect.Type)
	visit = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			visit(t.Elem())
		case reflect.Struct:
			found[t.Name()] = t
			for i := range t.NumField() {
				visit(t.Field(i).Type)
			}
		default:
		}
	}
	for i := range g.face.NumMethod() {
		method := g.face.Method(i).Type
		visit(method.In(1))
		visit(method.Out(0))
	}
	return found
}

// text is a type as upstream's page writes it: names of its own package bare.
func (g group) text(t reflect.Type) string {
	return strings.ReplaceAll(strings.ReplaceAll(t.String(), g.name+".", ""), "interface {}", "any")
}

// page is upstream's declarations of a group.
type page struct {
	structs map[string]map[string]string // type to field to its type
	methods map[string]string            // of Interface
	funcs   map[string]string
	consts  map[string]constant
	kinds   map[string]string // a type that is no struct to what it is
}

// constant is a constant of upstream's: its type, "int" for none, and its value,
// which is its place in its block.
type constant struct {
	kind  string
	value int
}

// upstream reads the page.
func upstream(t *testing.T, pkg string) page {
	t.Helper()
	text, err := os.ReadFile("../../docs/facts/v2-api.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## pkg/"+pkg+"  ")
	if !ok {
		t.Fatalf("the page has no package %s", pkg)
	}
	_, code, _ := strings.Cut(section, "```go\n")
	code, _, _ = strings.Cut(code, "```")
	file, err := parser.ParseFile(token.NewFileSet(), pkg, "package upstream\n"+code, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p := page{
		structs: map[string]map[string]string{}, methods: map[string]string{}, funcs: map[string]string{},
		consts: map[string]constant{}, kinds: map[string]string{},
	}
	for _, decl := range file.Decls {
		p.add(decl)
	}
	return p
}

func (p *page) add(decl ast.Decl) {
	if f, ok := decl.(*ast.FuncDecl); ok {
		p.funcs[f.Name.Name] = signature(f.Type)
		return
	}
	kind := "int"
	for i, spec := range decl.(*ast.GenDecl).Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			if spec.Type != nil {
				kind = source(spec.Type)
			}
			p.consts[spec.Names[0].Name] = constant{kind, i}
		case *ast.TypeSpec:
			switch body := spec.Type.(type) {
			case *ast.Ident:
				p.kinds[spec.Name.Name] = body.Name
			case *ast.InterfaceType:
				for _, m := range body.Methods.List {
					p.methods[m.Names[0].Name] = signature(m.Type.(*ast.FuncType))
				}
			case *ast.StructType:
				fields := map[string]string{}
				for _, f := range body.Fields.List {
					for _, name := range f.Names {
						fields[name.Name] = source(f.Type)
					}
				}
				p.structs[spec.Name.Name] = fields
			}
		}
	}
}

// signature writes a function's type as reflect does, without names.
func signature(f *ast.FuncType) string {
	list := func(fields *ast.FieldList) string {
		var types []string
		for _, field := range fields.List {
			for range max(1, len(field.Names)) {
				types = append(types, source(field.Type))
			}
		}
		return strings.Join(types, ", ")
	}
	results := list(f.Results)
	if strings.Contains(results, ",") {
		results = "(" + results + ")"
	}
	return "func(" + list(f.Params) + ") " + results
}

// source writes a type as reflect does, which knows a package by its name and
// not by upstream's alias.
func source(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + source(e.X)
	case *ast.ArrayType:
		return "[]" + source(e.Elt)
	case *ast.MapType:
		return "map[" + source(e.Key) + "]" + source(e.Value)
	case *ast.SelectorExpr:
		switch name := source(e.X) + "." + e.Sel.Name; {
		case e.Sel.Name == "HostAPI":
			return "hostapi.HostAPI"
		case name == "fs.Interface":
			return "filesystem.Interface"
		default:
			return name
		}
	}
	return "?"
}

// Nothing of upstream's is missing, and nothing that a driver can meet differs:
// constructors (LIB-1), methods (LIB-2) and spellings (LIB-3).
func TestAPI(t *testing.T) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			up, here := upstream(t, g.name), g.types()
			checkMethods(t, g, up)
			for name, fields := range up.structs {
				if name != g.concrete.Name() {
					checkStruct(t, g, name, fields, here[name])
				}
			}
			for name, want := range up.funcs {
				f := g.funcs[name]
				if name == "New" {
					f = g.new
				}
				if f == nil || g.text(reflect.TypeOf(f)) != want {
					t.Errorf("%s: %s, upstream has %s", name, g.text(reflect.TypeOf(f)), want)
				}
			}
			if !reflect.PointerTo(g.concrete).Implements(g.face) {
				t.Errorf("*%s is no Interface", g.concrete)
			}
			checkConstants(t, g, up)
			if len(up.structs) < g.face.NumMethod()*2 || len(up.funcs) == 0 {
				t.Errorf("read %d types and %d functions: the page has changed", len(up.structs), len(up.funcs))
			}
		})
	}
}

// checkMethods: exactly upstream's, so that upstream's mocks stay Interfaces.
func checkMethods(t *testing.T, g group, up page) {
	t.Helper()
	for i := range g.face.NumMethod() {
		method := g.face.Method(i)
		if got, want := g.text(method.Type), up.methods[method.Name]; got != want {
			t.Errorf("%s: %s, upstream has %q", method.Name, got, want)
		}
	}
	if g.face.NumMethod() != len(up.methods) {
		t.Errorf("Interface has %d methods, upstream's %d", g.face.NumMethod(), len(up.methods))
	}
}

// checkConstants: the same names, values and types, and types of the same kind.
func checkConstants(t *testing.T, g group, up page) {
	t.Helper()
	for name, want := range up.consts {
		got := reflect.ValueOf(g.consts[name])
		if !got.IsValid() || g.text(got.Type()) != want.kind || !got.Equal(reflect.ValueOf(want.value).Convert(got.Type())) {
			t.Errorf("%s is %v, upstream has %+v", name, got, want)
			continue
		}
		if kind, named := up.kinds[want.kind]; named && got.Kind().String() != kind {
			t.Errorf("%s is a %s, upstream's a %s", want.kind, got.Kind(), kind)
		}
	}
	if len(g.consts) != len(up.consts) {
		t.Errorf("%d constants, upstream has %d", len(g.consts), len(up.consts))
	}
}

func checkStruct(t *testing.T, g group, name string, fields map[string]string, here reflect.Type) {
	t.Helper()
	if here == nil {
		t.Errorf("no type %s", name)
		return
	}
	for field, want := range fields {
		if got, ok := here.FieldByName(field); !ok || g.text(got.Type) != want {
			t.Errorf("%s.%s: %v, upstream has %s", name, field, got.Type, want)
		}
	}
	for i := range here.NumField() {
		field := here.Field(i)
		if _, ok := fields[field.Name]; !ok && g.extra[name+"."+field.Name] != g.text(field.Type) {
			t.Errorf("%s.%s is neither upstream's nor listed as ours", name, field.Name)
		}
	}
}

// What the driver-shaped file does not use, it does not prove.
func TestDriverUsesEverything(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "driver_test.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var used []string // pkg.Name, .Name of fields and methods, Name: of keys
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			used = append(used, "."+n.Sel.Name, source(n.X)+"."+n.Sel.Name)
		case *ast.KeyValueExpr:
			used = append(used, source(n.Key)+":")
		}
		return true
	})
	for _, g := range groups {
		alias := strings.Replace(g.name, "filesystem", "fs", 1)
		up := upstream(t, g.name)
		want := []string{alias + ".Interface", alias + ".New"}
		for name := range up.funcs {
			want = append(want, alias+"."+name)
		}
		for name := range up.methods {
			want = append(want, "."+name)
		}
		for name := range up.consts {
			want = append(want, alias+"."+name)
		}
		for name := range up.kinds {
			want = append(want, alias+"."+name)
		}
		for name, fields := range up.structs {
			want = append(want, alias+"."+name)
			for field := range fields {
				if strings.HasSuffix(name, "Request") {
					want = append(want, field+":")
				} else {
					want = append(want, "."+field)
				}
			}
		}
		for _, name := range want {
			if !slices.Contains(used, name) {
				t.Errorf("driver_test.go does not use %s (%s)", name, g.name)
			}
		}
	}
}
