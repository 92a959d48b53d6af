// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// wmiServer is the name of the node in WMI's object paths.
const wmiServer = "SIMNODE"

// wmiPath is a parsed object path,
//
//	[[\\server\]namespace:]Class[.Key=value{,Key=value}]
//
// A class with one key also takes Class=value.
type wmiPath struct {
	namespace string // "" where the path has none
	class     string
	keys      []wmiPathKey // nil for the path of a class
}

type wmiPathKey struct {
	name  string // "" in the short form
	value wqlLiteral
}

// parseWMIPath reads an object path; strings in it are quoted and escaped as
// in WQL. Whatever it cannot read is WBEM_E_INVALID_OBJECT_PATH.
func parseWMIPath(text string) (wmiPath, error) {
	namespace, local, ok := splitNamespace(text)
	name := local[:span(local, isWordByte)]
	if !ok || name == "" || isDigit(name[0]) {
		return wmiPath{}, win.WBEM_E_INVALID_OBJECT_PATH
	}
	p := wmiPath{namespace: namespace, class: name}
	rest := local[len(name):]
	if rest == "" {
		return p, nil
	}
	if rest[0] == '=' {
		rest = "." + rest
	}
	if rest[0] != '.' {
		return wmiPath{}, win.WBEM_E_INVALID_OBJECT_PATH
	}
	if p.keys, ok = parsePathKeys(rest[1:]); !ok {
		return wmiPath{}, win.WBEM_E_INVALID_OBJECT_PATH
	}
	return p, nil
}

// splitNamespace cuts \\server\namespace: or namespace: from the front. The
// server is this node, whatever it is called.
func splitNamespace(text string) (namespace, local string, ok bool) {
	head, local, found := strings.Cut(text, ":")
	if !found || strings.ContainsAny(head, `="`) {
		return "", text, true
	}
	if server, isUNC := strings.CutPrefix(head, `\\`); isUNC {
		if _, head, ok = strings.Cut(server, `\`); !ok {
			return "", "", false
		}
	}
	return head, local, true
}

func parsePathKeys(text string) ([]wmiPathKey, bool) {
	tokens, ok := scanWQL(text)
	if !ok {
		return nil, false
	}
	p := &wqlParser{tokens: tokens}
	var keys []wmiPathKey
	for {
		key := wmiPathKey{}
		if p.next().kind == wqlWord {
			key.name = p.take().text
		}
		if !p.symbol("=") {
			return nil, false
		}
		if key.value, ok = p.literal(); !ok || key.value.null() {
			return nil, false
		}
		keys = append(keys, key)
		if !p.symbol(",") {
			return keys, p.next().kind == wqlEnd
		}
	}
}

// bind makes a predicate of the path's keys, which must be the class's.
func (p wmiPath) bind(c *cimClass) (wqlPredicate, error) {
	keys := c.keys()
	if len(keys) != len(p.keys) {
		return nil, win.WBEM_E_INVALID_OBJECT_PATH
	}
	var all []wqlPredicate
	for _, key := range keys {
		i := slices.IndexFunc(p.keys, func(k wmiPathKey) bool {
			return strings.EqualFold(k.name, key.name) || k.name == "" && len(keys) == 1
		})
		if i < 0 || isText(key.base) != (p.keys[i].value.kind == wqlText) {
			return nil, win.WBEM_E_INVALID_OBJECT_PATH
		}
		equal, err := wqlComparison{key.name, "=", p.keys[i].value}.bind(c)
		if err != nil {
			return nil, win.WBEM_E_INVALID_OBJECT_PATH
		}
		all = append(all, equal)
	}
	return func(r win.Row) bool {
		return !slices.ContainsFunc(all, func(equal wqlPredicate) bool { return !equal(r) })
	}, nil
}

// relativePath is the __RELPATH of a row, nil where a key is NULL.
func (c *cimClass) relativePath(row win.Row) any {
	var b strings.Builder
	b.WriteString(c.name)
	for i, key := range c.keys() {
		if row[key.name] == nil {
			return nil
		}
		b.WriteByte(".,"[min(i, 1)])
		b.WriteString(key.name + "=" + key.literal(row[key.name]))
	}
	return b.String()
}

// keyEscapes are those of text in an object path.
var keyEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// literal writes a key's value into an object path. Keys are text or unsigned
// numbers.
func (p cimProperty) literal(v any) string {
	if isText(p.base) {
		return `"` + keyEscapes.Replace(v.(string)) + `"`
	}
	return decimal(unsigned(v))
}

// absolutePath is the __PATH that belongs to a __RELPATH.
func (c *cimClass) absolutePath(relative any) any {
	if relative == nil {
		return nil
	}
	return `\\` + wmiServer + `\` + c.namespace + ":" + relative.(string)
}
