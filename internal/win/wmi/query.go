// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Query is a WQL query. Its zero value is not valid; begin with [Select] or
// [Associated]. A name or value that WQL cannot express is an error of
// [Client.Query].
type Query struct {
	properties []string
	class      string
	conditions []Condition

	of          string // the object at one end of an association
	association string
}

// Select begins a query for some properties, or for all without any. The others
// read as NULL; __PATH needs the key properties too (windows-api.md 14.3).
func Select(properties ...string) Query { return Query{properties: properties} }

// Associated asks for the objects of a class that an association class joins to
// the object at a path, as [PathOf] or a row's __PATH gives it. It takes no
// conditions.
func Associated(path, association, class string) Query {
	return Query{of: path, association: association, class: class}
}

// From says which class is asked.
func (q Query) From(class string) Query {
	q.class = class
	return q
}

// Where narrows the query; all conditions must hold. Array properties cannot be
// asked for.
func (q Query) Where(conditions ...Condition) Query {
	q.conditions = append(q.conditions[:len(q.conditions):len(q.conditions)], conditions...)
	return q
}

// Condition compares a property with a value. [Eq] makes one.
type Condition struct {
	property string
	value    any
}

// Literal is a value that WQL can express.
type Literal interface {
	string | bool | int | int32 | int64 | uint16 | uint32 | uint64
}

// Eq holds where a property equals a value. Strings compare regardless of case.
func Eq[T Literal](property string, value T) Condition { return Condition{property, value} }

// String is the query's text, for tests and messages.
func (q Query) String() string {
	text, err := q.text()
	if err != nil {
		return "invalid query: " + err.Error()
	}
	return text
}

func (q Query) text() (string, error) {
	if q.association != "" {
		return q.associators()
	}
	for _, name := range append([]string{q.class}, q.properties...) {
		if err := checkName(name); err != nil {
			return "", err
		}
	}
	list := "*"
	if len(q.properties) > 0 {
		list = strings.Join(q.properties, ", ")
	}
	text, joint := "SELECT "+list+" FROM "+q.class, " WHERE "
	for _, c := range q.conditions {
		condition, err := c.text()
		if err != nil {
			return "", err
		}
		text, joint = text+joint+condition, " AND "
	}
	return text, nil
}

func (q Query) associators() (string, error) {
	for _, name := range []string{q.class, q.association, classOf(q.of)} {
		if err := checkName(name); err != nil {
			return "", err
		}
	}
	if len(q.conditions) > 0 || checkText("path", q.of) != nil || !inBraces(q.of) {
		return "", fmt.Errorf("%w: associators of %q", errdefs.ErrInvalidArgument, q.of)
	}
	return "ASSOCIATORS OF {" + q.of + "} WHERE AssocClass = " + q.association + " ResultClass = " + q.class, nil
}

// inBraces reports whether an object path between braces ends where it should:
// its own braces are within its literals, and these end.
func inBraces(path string) bool {
	quoted := false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case !quoted && (c == '{' || c == '}'):
			return false
		}
	}
	return !quoted
}

func (c Condition) text() (string, error) {
	if err := checkName(c.property); err != nil {
		return "", err
	}
	var literal string
	switch v := c.value.(type) {
	case string:
		if err := checkText(c.property, v); err != nil {
			return "", err
		}
		literal = quote('\'', v)
	case bool:
		literal = strings.ToUpper(fmt.Sprint(v))
	default:
		literal = fmt.Sprint(v)
	}
	return c.property + " = " + literal, nil
}

// PathOf is the path of the object of a class whose only key has a value, for
// example MSFT_Disk.ObjectId="…". A class or key that is no name, and a value
// that no path can hold, are InvalidArgument.
func PathOf(class, key, value string) (string, error) {
	return PathOfKeys(class, Key{key, value})
}

// Key is a key property of an object path with its value.
type Key struct{ Name, Value string }

// PathOfKeys is [PathOf] for a class with several keys, all of which must be
// given: MSFT_SmbGlobalMapping.LocalPath="",RemotePath="…".
func PathOfKeys(class string, keys ...Key) (string, error) {
	if err := checkName(class); err != nil {
		return "", err
	}
	pairs := make([]string, len(keys))
	for i, k := range keys {
		if err := checkName(k.Name); err != nil {
			return "", err
		}
		if err := checkText(k.Name, k.Value); err != nil {
			return "", err
		}
		pairs[i] = k.Name + "=" + quote('"', k.Value)
	}
	return class + "." + strings.Join(pairs, ","), nil
}

// relative is an object path without \\server\namespace: before it.
func relative(path string) string {
	if strings.HasPrefix(path, `\\`) {
		_, path, _ = strings.Cut(path, ":")
	}
	return path
}

// classOf is the class in an object path: Class, Class.Key="…" or Class=@.
func classOf(path string) string {
	path = relative(path)
	if end := strings.IndexAny(path, ".="); end >= 0 {
		path = path[:end]
	}
	return path
}

// quote makes a literal: the backslash escapes the mark and itself
// (windows-api.md 14.6). Upstream doubles the mark, which is not WQL
// (behaviour.md LIB-11).
func quote(mark byte, s string) string {
	var b strings.Builder
	b.WriteByte(mark)
	for i := range len(s) {
		if s[i] == mark || s[i] == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	b.WriteByte(mark)
	return b.String()
}

// checkText refuses what would not reach WMI as it is: NUL ends a string, and
// bytes that are not UTF-8 become other characters.
func checkText(name, s string) error {
	if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
		return fmt.Errorf("%w: %s is not text", errdefs.ErrInvalidArgument, name)
	}
	return nil
}

func checkName(s string) error {
	if !isName(s) {
		return fmt.Errorf("%w: %q is not a WMI name", errdefs.ErrInvalidArgument, s)
	}
	return nil
}

// isName tells names of classes, properties and methods: letters, digits and
// underscores, not beginning with a digit.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		letter := 'a' <= c && c <= 'z' || s[i] == '_'
		if !letter && (i == 0 || s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return s != ""
}
