// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// maxWQLTerms bounds the comparisons of a query; WMI refuses a query with too
// many as a quota violation (windows-api.md 14.3). The number is ours.
const maxWQLTerms = 100

// wqlQuery is a parsed data query,
//
//	SELECT * | property {, property} FROM class [WHERE condition]
//
// where a condition is made of comparisons with one literal, [NOT] LIKE,
// IS [NOT] NULL, NOT, AND, OR and parentheses.
type wqlQuery struct {
	properties []string // nil for *
	class      string
	where      wqlCondition // nil for none
}

// wqlCondition becomes a predicate over the rows of a class.
type wqlCondition interface {
	bind(c *cimClass) (wqlPredicate, error)
}

type wqlPredicate func(win.Row) bool

type (
	wqlAnd struct{ left, right wqlCondition }
	wqlOr  struct{ left, right wqlCondition }
	wqlNot struct{ condition wqlCondition }

	// wqlComparison compares a property with a literal. The operators are =,
	// <>, <, >, <=, >= and LIKE; with NULL only = and <> have a meaning.
	wqlComparison struct {
		property, operator string
		literal            wqlLiteral
	}
)

// wqlLiteral is a constant of a query.
type wqlLiteral struct {
	kind wqlTokenKind // wqlText, wqlNumber, or wqlWord for TRUE, FALSE and NULL
	text string       // unescaped; words in upper case
}

func (l wqlLiteral) null() bool { return l.kind == wqlWord && l.text == "NULL" }

// parseWQL reads a query. Whatever it cannot read is WBEM_E_INVALID_QUERY.
func parseWQL(text string) (*wqlQuery, error) {
	tokens, ok := scanWQL(text)
	if !ok {
		return nil, win.WBEM_E_INVALID_QUERY
	}
	p := &wqlParser{tokens: tokens}
	q, ok := p.query()
	switch {
	case p.terms > maxWQLTerms:
		return nil, win.WBEM_E_QUOTA_VIOLATION
	case !ok || p.next().kind != wqlEnd:
		return nil, win.WBEM_E_INVALID_QUERY
	}
	return q, nil
}

type wqlTokenKind int

const (
	wqlEnd wqlTokenKind = iota
	wqlWord
	wqlText
	wqlNumber
	wqlSymbol
)

type wqlToken struct {
	kind wqlTokenKind
	text string
}

// scanWQL splits a query. A doubled quote is no escape in WQL: it ends one
// literal and begins another, which no grammar rule takes (windows-api.md 14.6).
func scanWQL(text string) ([]wqlToken, bool) {
	var tokens []wqlToken
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == '\'' || c == '"':
			literal, n, ok := unquote(text[i:])
			if !ok {
				return nil, false
			}
			tokens = append(tokens, wqlToken{wqlText, literal})
			i += n
		case isWordByte(c) && !isDigit(c):
			n := span(text[i:], isWordByte)
			tokens = append(tokens, wqlToken{wqlWord, text[i : i+n]})
			i += n
		case isDigit(c) || c == '-' && i+1 < len(text) && isDigit(text[i+1]):
			n := 1 + span(text[i+1:], func(c byte) bool { return isWordByte(c) || c == '.' })
			tokens = append(tokens, wqlToken{wqlNumber, text[i : i+n]})
			i += n
		default:
			n := symbolLength(text[i:])
			if n == 0 {
				return nil, false
			}
			tokens = append(tokens, wqlToken{wqlSymbol, text[i : i+n]})
			i += n
		}
	}
	return tokens, true
}

// unquote reads the quoted literal at the start of text and returns how long
// it is. Backslash escapes the quotes and itself, and nothing else.
func unquote(text string) (literal string, length int, ok bool) {
	quote := text[0]
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; c {
		case quote:
			return b.String(), i + 1, true
		case '\\':
			i++
			if i == len(text) || !strings.ContainsRune(`\'"`, rune(text[i])) {
				return "", 0, false
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", 0, false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordByte(c byte) bool {
	return c == '_' || isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// span is how many bytes at the start of s satisfy in.
func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

// symbolLength is the length of the operator or mark at the start of s.
func symbolLength(s string) int {
	for _, symbol := range []string{"<>", "<=", ">=", "!=", "=", "<", ">", "(", ")", ",", "*"} {
		if strings.HasPrefix(s, symbol) {
			return len(symbol)
		}
	}
	return 0
}

// wqlParser is a recursive descent over the tokens. Its methods report false
// where the grammar is left.
type wqlParser struct {
	tokens []wqlToken
	terms  int
}

func (p *wqlParser) next() wqlToken {
	if len(p.tokens) == 0 {
		return wqlToken{}
	}
	return p.tokens[0]
}

// take consumes the next token.
func (p *wqlParser) take() wqlToken {
	t := p.next()
	if t.kind != wqlEnd {
		p.tokens = p.tokens[1:]
	}
	return t
}

// word and symbol consume the next token if it is the given one.
func (p *wqlParser) word(text string) bool {
	t := p.next()
	return t.kind == wqlWord && strings.EqualFold(t.text, text) && p.skip()
}

func (p *wqlParser) symbol(text string) bool {
	t := p.next()
	return t.kind == wqlSymbol && t.text == text && p.skip()
}

func (p *wqlParser) skip() bool {
	p.take()
	return true
}

// name consumes an identifier that is no word of the grammar.
func (p *wqlParser) name() (string, bool) {
	t := p.take()
	return t.text, t.kind == wqlWord && !slices.Contains(wqlReserved, strings.ToUpper(t.text))
}

var wqlReserved = []string{"SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IS", "NULL", "LIKE", "TRUE", "FALSE"}

func (p *wqlParser) query() (*wqlQuery, bool) {
	q := &wqlQuery{}
	var ok bool
	if !p.word("SELECT") {
		return nil, false
	}
	if q.properties, ok = p.selection(); !ok || !p.word("FROM") {
		return nil, false
	}
	if q.class, ok = p.name(); !ok {
		return nil, false
	}
	if p.word("WHERE") {
		q.where, ok = p.disjunction()
	}
	return q, ok
}

func (p *wqlParser) selection() ([]string, bool) {
	if p.symbol("*") {
		return nil, true
	}
	var names []string
	for {
		name, ok := p.name()
		if !ok {
			return nil, false
		}
		names = append(names, name)
		if !p.symbol(",") {
			return names, true
		}
	}
}

func (p *wqlParser) disjunction() (wqlCondition, bool) {
	left, ok := p.conjunction()
	for ok && p.word("OR") {
		var right wqlCondition
		right, ok = p.conjunction()
		left = wqlOr{left, right}
	}
	return left, ok
}

func (p *wqlParser) conjunction() (wqlCondition, bool) {
	left, ok := p.negation()
	for ok && p.word("AND") {
		var right wqlCondition
		right, ok = p.negation()
		left = wqlAnd{left, right}
	}
	return left, ok
}

func (p *wqlParser) negation() (wqlCondition, bool) {
	if p.terms++; p.terms > maxWQLTerms {
		return nil, false
	}
	if p.word("NOT") {
		c, ok := p.negation()
		return wqlNot{c}, ok
	}
	if p.symbol("(") {
		c, ok := p.disjunction()
		return c, ok && p.symbol(")")
	}
	return p.comparison()
}

// comparison reads property op literal, literal op property, property IS [NOT]
// NULL and property [NOT] LIKE text.
func (p *wqlParser) comparison() (wqlCondition, bool) {
	if literal, ok := p.literal(); ok {
		operator, ok := p.operator()
		property, named := p.name()
		return wqlComparison{property, mirrored[operator], literal}, ok && named
	}
	property, ok := p.name()
	if !ok {
		return nil, false
	}
	switch {
	case p.word("IS"):
		operator := "="
		if p.word("NOT") {
			operator = "<>"
		}
		return wqlComparison{property, operator, wqlLiteral{wqlWord, "NULL"}}, p.word("NULL")
	case p.word("NOT"):
		c, ok := p.like(property)
		return wqlNot{c}, ok
	case p.next().kind == wqlWord:
		return p.like(property)
	}
	operator, ok := p.operator()
	literal, constant := p.literal()
	return wqlComparison{property, operator, literal}, ok && constant
}

// operator consumes a comparison operator and spells it as wqlComparison does.
func (p *wqlParser) operator() (string, bool) {
	t := p.take()
	if t.text == "!=" {
		t.text = "<>"
	}
	return t.text, t.kind == wqlSymbol && mirrored[t.text] != ""
}

// mirrored is the operator with its sides changed.
var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}

func (p *wqlParser) like(property string) (wqlCondition, bool) {
	if !p.word("LIKE") {
		return nil, false
	}
	t := p.take()
	return wqlComparison{property, "LIKE", wqlLiteral(t)}, t.kind == wqlText
}

// literal consumes a constant, if one is next.
func (p *wqlParser) literal() (wqlLiteral, bool) {
	t := p.next()
	switch t.kind {
	case wqlText, wqlNumber:
		p.take()
		return wqlLiteral(t), true
	case wqlWord:
		if word := strings.ToUpper(t.text); word == "TRUE" || word == "FALSE" || word == "NULL" {
			p.take()
			return wqlLiteral{wqlWord, word}, true
		}
	default: // no constant
	}
	return wqlLiteral{}, false
}

func (c wqlAnd) bind(class *cimClass) (wqlPredicate, error) {
	left, right, err := bindBoth(class, c.left, c.right)
	return func(r win.Row) bool { return left(r) && right(r) }, err
}

func (c wqlOr) bind(class *cimClass) (wqlPredicate, error) {
	left, right, err := bindBoth(class, c.left, c.right)
	return func(r win.Row) bool { return left(r) || right(r) }, err
}

func bindBoth(class *cimClass, a, b wqlCondition) (left, right wqlPredicate, err error) {
	if left, err = a.bind(class); err == nil {
		right, err = b.bind(class)
	}
	return left, right, err
}

func (c wqlNot) bind(class *cimClass) (wqlPredicate, error) {
	inner, err := c.condition.bind(class)
	return func(r win.Row) bool { return !inner(r) }, err
}

// bind resolves the property. An unknown or array property and a literal of
// another type make the query invalid. A NULL property equals NULL, and every
// comparison of it with a value is false, <> too.
func (c wqlComparison) bind(class *cimClass) (wqlPredicate, error) {
	property, ok := class.selectable(c.property)
	if !ok || property.array || property.base == "object" {
		return nil, win.WBEM_E_INVALID_QUERY
	}
	if c.literal.null() {
		return bindNull(property.name, c.operator)
	}
	if c.operator == "LIKE" {
		return bindLike(property, c.literal.text)
	}
	compare, ok := comparer(property.base, c.literal)
	if !ok {
		return nil, win.WBEM_E_INVALID_QUERY
	}
	return func(r win.Row) bool {
		v := r[property.name]
		return v != nil && holds(c.operator, compare(v))
	}, nil
}

func bindNull(name, operator string) (wqlPredicate, error) {
	switch operator {
	case "=":
		return func(r win.Row) bool { return r[name] == nil }, nil
	case "<>":
		return func(r win.Row) bool { return r[name] != nil }, nil
	}
	return nil, win.WBEM_E_INVALID_QUERY
}

func bindLike(property cimProperty, pattern string) (wqlPredicate, error) {
	if !isText(property.base) {
		return nil, win.WBEM_E_INVALID_QUERY
	}
	pattern = strings.ToUpper(pattern)
	return func(r win.Row) bool {
		s, ok := r[property.name].(string)
		return ok && likeMatches(strings.ToUpper(s), pattern)
	}, nil
}

func isText(base string) bool { return base == "string" || base == "reference" || base == "datetime" }

func holds(operator string, order int) bool {
	switch operator {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case ">":
		return order > 0
	case "<=":
		return order <= 0
	}
	return order >= 0
}

// comparer orders values of a type, as rows hold them, against a literal.
// Strings compare without case; numbers and booleans may be written as text.
func comparer(base string, l wqlLiteral) (func(any) int, bool) {
	switch {
	case isText(base):
		text := strings.ToUpper(l.text)
		return func(v any) int { return strings.Compare(strings.ToUpper(v.(string)), text) }, l.kind == wqlText
	case base == "boolean":
		want, ok := map[string]int{"TRUE": 1, "FALSE": 0, "1": 1, "0": 0}[strings.ToUpper(l.text)]
		return func(v any) int { return boolToInt(v.(bool)) - want }, ok
	case base == "char16" && l.kind == wqlText && len(l.text) == 1:
		return func(v any) int { return int(v.(int16)) - int(l.text[0]) }, true
	}
	return numberComparer(base, l.text)
}

func numberComparer(base, text string) (func(any) int, bool) {
	if base == "sint32" {
		want, err := strconv.ParseInt(text, 10, 64)
		return func(v any) int { return cmp.Compare(int64(v.(int32)), want) }, err == nil
	}
	want, err := strconv.ParseUint(text, 10, 64)
	return func(v any) int { return cmp.Compare(unsigned(v), want) }, err == nil
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unsigned reads a value of a uint type, or a char16, from a row.
func unsigned(v any) uint64 {
	switch x := v.(type) {
	case uint8:
		return uint64(x)
	case int16:
		return uint64(uint16(x))
	case int32:
		return uint64(uint32(x))
	case string:
		u, _ := strconv.ParseUint(x, 10, 64) // the engine wrote it
		return u
	}
	return 0
}

// likeMatches matches with the wildcards of LIKE: % for any text, _ for one
// character, [abc], [a-z] and [^…] for one of a set (windows-api.md 14.6). Both
// arguments are in upper case.
func likeMatches(s, pattern string) bool {
	var tail, afterStar string // where to go on when a % must take one byte more
	star := false
	for {
		switch n, ok := likeOne(s, pattern); {
		case strings.HasPrefix(pattern, "%"):
			star, pattern = true, pattern[1:]
			tail, afterStar = s, pattern
		case s == "" && pattern == "":
			return true
		case ok:
			s, pattern = s[1:], pattern[n:]
		case star && tail != "":
			tail = tail[1:]
			s, pattern = tail, afterStar
		default:
			return false
		}
	}
}

// likeOne matches the first byte of s against the first element of the pattern
// and returns the element's length.
func likeOne(s, pattern string) (int, bool) {
	if s == "" || pattern == "" {
		return 0, false
	}
	end := strings.IndexByte(pattern, ']')
	switch {
	case pattern[0] == '_':
		return 1, true
	case pattern[0] != '[' || end < 0:
		return 1, pattern[0] == s[0]
	}
	set := pattern[1:end]
	negated := strings.HasPrefix(set, "^")
	return end + 1, inSet(s[0], strings.TrimPrefix(set, "^")) != negated
}

func inSet(c byte, set string) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return true
			}
			i += 2
		} else if set[i] == c {
			return true
		}
	}
	return false
}
