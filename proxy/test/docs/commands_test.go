// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/proxy/v2/internal/cli"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// elsewhere are the commands that run in other places: in which file, and what
// stands there.
var elsewhere = map[string]struct{ file, text string }{
	"make demo":        {".ci/run", "\nmake demo\n"},
	"make test":        {".ci/run", "\nmake test\n"},
	"make test-wine":   {".ci/run", "\nmake test-wine\n"},
	"make conformance": {".ci/run", "\nmake conformance\n"},
	"make test-lab":    {"test/wine/run.sh", "\ntest/lab/run.sh\n"}, // the end of make test-wine
	"csi-proxy demo":   {"Makefile", "\ndemo:\n\t$(GO) run ./proxy/cmd/csi-proxy demo\n"},

	"test/wine/run.sh .wine test/lab/run.sh -v -run Groups": {"Makefile", "\ttest/wine/run.sh .wine test/lab/run.sh\n"},

	// By hand, for they take long.
	"make fuzz FUZZTIME=1m":        {"Makefile", "\ttest/fuzz.sh $(FUZZTIME)\n"},
	"make faults":                  {"Makefile", "\nfaults:\n"},
	"make bench":                   {"Makefile", "\nbench:\n"},
	"make mutants":                 {"Makefile", "\nmutants:\n"},
	"make mutants SEED=7 COUNT=20": {"Makefile", "$(if $(SEED),-seed $(SEED) -count $(COUNT))"},
	"test/wine/run.sh .wine test/mutants/native.sh": {"test/mutants/native.sh", "test/wine/run.sh"},

	"go run ./examples/quickstart":                 {"examples/quickstart/main_test.go", "func Example() {\n\tmain()\n"},
	"go test ./pkg/simhost -run NodesPage -update": {"pkg/simhost/nodes_doc_test.go", "func TestNodesPage("},
}

// given is what is done on the machine before a command that needs it.
var given = []struct{ command, before string }{
	{`^volume (mount|of|resize|unmount) .*C:\\mnt`, `filesystem mkdir C:\mnt`},
	{`^volume (of|resize|unmount) .*C:\\mnt`, `volume mount '\\?\Volume{0b1e…}\' C:\mnt`},
	{`^smb (of|show) .*\\globalmount`, `smb map \\files\data --user CORP\alice --password-file - --link C:\var\lib\kubelet\plugins\smb\globalmount <password`},
}

// comment is at the end of a line: in a shell, and in the command's help.
var comment = regexp.MustCompile(`\s+#.*$|\s{3,}.*$`)

// runLines runs a block of one command a line, on one machine.
func runLines(t *testing.T, b block) {
	t.Helper()
	node := newNode(t)
	for _, line := range b.lines {
		if line = comment.ReplaceAllString(strings.TrimSpace(line), ""); line != "" {
			runLine(t, node, line)
		}
	}
}

// runHelp runs the commands in a text of the command's own help. Its words are
// compared with the page by the tests of the command.
func runHelp(t *testing.T, b block) {
	t.Helper()
	for _, line := range b.lines {
		if strings.HasPrefix(line, "  csi-proxy ") {
			runLine(t, newNode(t), comment.ReplaceAllString(strings.TrimSpace(line), ""))
		}
	}
}

// runSession runs the commands behind each $, on one machine, and compares what
// they write with the lines that follow.
func runSession(t *testing.T, b block) {
	t.Helper()
	node := newNode(t)
	shown := slices.Clone(b.lines)
	for len(shown) > 0 {
		line, ok := strings.CutPrefix(shown[0], "$ ")
		if !ok {
			t.Fatalf("%q is not what a command writes", shown[0])
		}
		end := 1
		for end < len(shown) && !strings.HasPrefix(shown[end], "$ ") {
			end++
		}
		want := strings.Join(shown[1:end], "\n") + "\n"
		if got := runLine(t, node, line); got != want {
			t.Errorf("%s writes\n%sthe page shows\n%s", line, got, want)
		}
		shown = shown[end:]
	}
}

// runLine runs a command and returns what it writes.
func runLine(t *testing.T, node *simhost.Node, line string) string {
	t.Helper()
	if at, ok := elsewhere[line]; ok {
		if !strings.Contains(read(t, filepath.Join(top, at.file)), at.text) {
			t.Errorf("%s does not run %s: %q is not there", at.file, line, at.text)
		}
		return ""
	}
	command, ok := strings.CutPrefix(line, "csi-proxy ")
	if !ok {
		t.Errorf("%q is no command of csi-proxy, and nothing says where it is run", line)
		return ""
	}
	for _, g := range given {
		if regexp.MustCompile(g.command).MatchString(command) {
			run(t, node, g.before)
		}
	}
	return run(t, node, command)
}

// newNode is the machine of commands that name no host.
func newNode(t *testing.T) *simhost.Node {
	t.Helper()
	spec, err := simhost.Load("testdata/node.json")
	if err != nil {
		t.Fatal(err)
	}
	node, err := simhost.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return node
}

// run runs a command of csi-proxy, which must succeed.
func run(t *testing.T, node *simhost.Node, command string) string {
	t.Helper()
	args, in := parse(t, command)
	var out, err strings.Builder
	code := cli.RunOn(t.Context(), node, args, cli.Streams{In: in, Out: &out, Err: &err})
	if code != 0 {
		t.Errorf("csi-proxy %s: exit code %d\n%s%s", command, code, out.String(), err.String())
	}
	return out.String()
}

// placeholders stand on pages for what differs between machines.
var placeholders = strings.NewReplacer("sim:NAME", "sim:aws-nitro", "{0b1e…}", "{0b1e0000-0000-4000-8000-000000000001}")

// parse splits a command line as the shells of Windows do, and opens the file of
// testdata that is its standard input.
func parse(t *testing.T, command string) (args []string, in io.Reader) {
	t.Helper()
	in = strings.NewReader("")
	for _, word := range strings.Fields(placeholders.Replace(command)) {
		name, isInput := strings.CutPrefix(word, "<")
		if !isInput {
			args = append(args, strings.Trim(word, "'\""))
			continue
		}
		file, err := os.Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		in = file
	}
	return args, in
}

// checkUsage: a usage line of a page is that of its command.
func checkUsage(t *testing.T, b block) {
	t.Helper()
	usage := strings.TrimSpace(strings.Join(b.lines, "\n"))
	var verb []string
	for _, word := range strings.Fields(usage)[1:] {
		if word != strings.ToLower(word) || strings.HasPrefix(word, "[") {
			break
		}
		verb = append(verb, word)
	}
	if help := run(t, newNode(t), strings.Join(append(verb, "--help"), " ")); !strings.Contains(help, "\n  "+usage) {
		t.Errorf("the command's usage is not %q:\n%s", usage, help)
	}
}

// What is said to run elsewhere, or to need something, stands on a page.
func TestTables(t *testing.T) {
	var lines []string
	for _, b := range blocks(t) {
		for _, line := range b.lines {
			line = comment.ReplaceAllString(strings.TrimSpace(line), "")
			lines = append(lines, strings.TrimPrefix(line, "$ "))
		}
	}
	for line := range elsewhere {
		if !slices.Contains(lines, line) {
			t.Errorf("no page shows %q", line)
		}
	}
	for _, g := range given {
		needs := func(line string) bool {
			command, ok := strings.CutPrefix(line, "csi-proxy ")
			return ok && regexp.MustCompile(g.command).MatchString(command)
		}
		if !slices.ContainsFunc(lines, needs) {
			t.Errorf("no page shows a command like %s", g.command)
		}
	}
}
