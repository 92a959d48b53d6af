// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

// wmiAssociation is what an association class joins. Its objects may share a
// path with others, as target portals of one address do.
type wmiAssociation struct {
	roles   [2]string // the properties that hold the paths
	classes [2]string
	pairs   func(n *Node) [][2]cimObject
}

// associate is an association whose roles are called as its classes.
func associate(one, other string, pairs func(*Node) [][2]cimObject) wmiClass {
	return wmiAssociation{roles: [2]string{one, other}, classes: [2]string{"MSFT_" + one, "MSFT_" + other}, pairs: pairs}.class()
}

// class is the association as a class with instances of its own.
func (a wmiAssociation) class() wmiClass {
	return wmiClass{association: &a, instances: func(n *Node) []cimObject {
		var objects []cimObject
		for _, pair := range a.pairs(n) {
			o := cimObject{}
			for end := range pair {
				o[a.roles[end]] = n.storagePath(a.classes[end], pair[end])
			}
			objects = append(objects, o)
		}
		return objects
	}}
}

// associatorsQuery is a parsed query
//
//	ASSOCIATORS OF {path} WHERE AssocClass = name ResultClass = name
//
// Other keywords, and less, are not modelled.
type associatorsQuery struct {
	path, association, result string
}

// parseAssociators reads the query; false says that it is none.
func parseAssociators(text string) (q associatorsQuery, ok bool) {
	head, rest, found := strings.Cut(text, "{")
	end := strings.LastIndexByte(rest, '}')
	if !found || end < 0 || !strings.EqualFold(strings.Join(strings.Fields(head), " "), "ASSOCIATORS OF") {
		return q, false
	}
	q.path = rest[:end]
	tokens, ok := scanWQL(rest[end+1:])
	p := &wqlParser{tokens: tokens}
	if !ok || !p.word("WHERE") {
		return q, false
	}
	for _, clause := range []struct {
		keyword string
		value   *string
	}{{"AssocClass", &q.association}, {"ResultClass", &q.result}} {
		if !p.word(clause.keyword) || !p.symbol("=") {
			return q, false
		}
		if *clause.value, ok = p.name(); !ok {
			return q, false
		}
	}
	return q, p.next().kind == wqlEnd
}

// runAssociators finds the objects at the other ends.
func (n *Node) runAssociators(namespace string, q associatorsQuery) ([]win.Row, error) {
	path, err := parseWMIPath(q.path)
	if err != nil {
		return nil, err
	}
	if path.keys == nil || path.namespace != "" && !sameNamespace(path.namespace, namespace) {
		return nil, win.WBEM_E_INVALID_OBJECT_PATH
	}
	c, ok := n.schema().class(namespace, path.class)
	association, known := n.schema().class(namespace, q.association)
	result, there := n.schema().class(namespace, q.result)
	if !ok || !known || !there {
		return nil, win.WBEM_E_INVALID_CLASS
	}
	if _, err := n.instance(c, path); err != nil {
		return nil, err
	}
	is, err := path.bind(c)
	if err != nil {
		return nil, err
	}
	class := n.classes()[association.name]
	if class.association == nil {
		return nil, win.WBEM_E_INVALID_QUERY
	}
	return class.association.across(n, c, result, is), nil
}

// across are the objects of a class that are joined to those that is holds for.
func (a *wmiAssociation) across(n *Node, from, to *cimClass, is wqlPredicate) []win.Row {
	var rows []win.Row
	for _, pair := range a.pairs(n) {
		for end := range pair {
			near, far := n.storageClass(a.classes[end]), n.storageClass(a.classes[1-end])
			if near == from && far == to && is(near.row(pair[end])) {
				rows = append(rows, far.row(pair[1-end]))
			}
		}
	}
	return rows
}
