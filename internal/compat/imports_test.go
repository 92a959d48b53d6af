// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kubernetes-csi/csi-proxy/v2"

// Modules that the library may need, and those that only its tests may.
var (
	productModules = []string{"golang.org/x/sys", "github.com/go-ole/go-ole", "k8s.io/klog/v2"}
	testModules    = []string{"github.com/google/go-cmp", "pgregory.net/rapid"}
)

// goCommand runs the go command at the top of the module, for a system.
func goCommand(t *testing.T, system string, args ...string) []byte {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = filepath.Join("..", "..")
	command.Env = append(os.Environ(), "GOOS="+system, "GOWORK=off", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go %v: %v: %s", args, err, stderr.Bytes())
	}
	return out
}

// goPackage is what go list tells of a package.
type goPackage struct {
	ImportPath string
	Dir        string
	Standard   bool
	GoFiles    []string
	Imports    []string
	Module     struct{ Path string }
}

// dependencies are the packages that a driver gets with all public packages,
// those included.
func dependencies(t *testing.T, system string) []goPackage {
	t.Helper()
	list := json.NewDecoder(bytes.NewReader(goCommand(t, system, "list", "-deps", "-json=ImportPath,Dir,Standard,GoFiles,Imports,Module", "./pkg/...")))
	var all []goPackage
	for {
		var p goPackage
		err := list.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		must(t, err)
		all = append(all, p)
	}
}

// What a driver imports is there on every system (LIB-7, L15), has no means to
// start a process (L17), comes from few modules (L21), and runs nothing when it is
// imported (L01, LIB-8). Package net is there on Windows, because x/sys/windows
// declares types with it; ours do not import it.
func TestImports(t *testing.T) {
	for _, system := range []string{"linux", "windows", "darwin"} {
		t.Run(system, func(t *testing.T) {
			ours := 0
			for _, p := range dependencies(t, system) {
				switch {
				case p.ImportPath == "os/exec", p.ImportPath == "plugin", p.ImportPath == "runtime/cgo":
					t.Errorf("imports %s", p.ImportPath)
				case p.Standard:
				case p.Module.Path == module:
					ours++
					checkSource(t, p)
					if slices.ContainsFunc(p.Imports, connects) {
						t.Errorf("%s imports package net", p.ImportPath)
					}
				case !slices.Contains(productModules, p.Module.Path):
					t.Errorf("imports %s of %s", p.ImportPath, p.Module.Path)
				}
			}
			if ours < 15 {
				t.Errorf("only %d packages of the module are listed", ours)
			}
		})
	}
}

// connects: net/netip has only addresses.
func connects(path string) bool {
	return path == "net" || strings.HasPrefix(path, "net/") && path != "net/netip"
}

// foreign are names in code, and texts, of what is not ours to do: to start a
// program by other means than os/exec (L17), and to set the COM security of the
// whole process (L13).
var foreign = regexp.MustCompile(`(?i)^(StartProcess|ForkExec|CreateProcess\w*|ShellExecute\w*|WinExec|CoInitializeSecurity)$|\b(powershell|pwsh|wmic|diskpart|mklink)\b|\bcmd(\.exe| /c)\b`)

// checkSource: no package runs code when it is imported, nor names what is
// foreign.
func checkSource(t *testing.T, p goPackage) {
	t.Helper()
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		must(t, err)
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "init" && f.Recv == nil {
				t.Errorf("%s/%s has an init function", p.ImportPath, name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			word := ""
			switch n := n.(type) {
			case *ast.Ident:
				word = n.Name
			case *ast.BasicLit:
				if p.ImportPath != module+"/pkg/hosttest" { // whose ledger tells of it
					word = strings.Trim(n.Value, "\"`")
				}
			}
			if foreign.MatchString(word) {
				t.Errorf("%s/%s: %s", p.ImportPath, name, word)
			}
			return true
		})
	}
}

// go.mod asks for nothing else either (L21), and for no newer Go than drivers use.
func TestGoMod(t *testing.T) {
	var mod struct {
		Go      string
		Require []struct{ Path string }
	}
	must(t, json.Unmarshal(goCommand(t, "linux", "mod", "edit", "-json"), &mod))
	if mod.Go != "1.25.0" {
		t.Errorf("go %s, drivers are at 1.25.0 (consumers.md 2.9)", mod.Go)
	}
	allowed := slices.Concat(productModules, testModules)
	required := map[string]bool{}
	for _, r := range mod.Require {
		required[r.Path] = true
		if !slices.Contains(allowed, r.Path) {
			t.Errorf("go.mod requires %s", r.Path)
		}
	}
	if len(required) == 0 {
		t.Error("go.mod requires nothing")
	}
	t.Log(slices.Sorted(maps.Keys(required)))
}
