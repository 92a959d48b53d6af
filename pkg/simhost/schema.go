// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// cimSchemaJSON is a copy of the fact page cim-schema.json, as it is.
//
//go:embed schema/cim-schema.json
var cimSchemaJSON []byte

// Builds of Windows Server from which on the schema differs (windows-api.md 15).
const (
	build23H2 = 25398
	build2025 = 26100
)

// schema is what WMI knows on one build of Windows: a namespace's or class's
// name is compared without case, and what is not here does not exist.
type schema struct {
	classes map[string]*cimClass // by lower-case name
}

// cimClass is a class with all its properties, inherited ones too.
type cimClass struct {
	name, namespace string
	properties      []cimProperty
	methods         []cimMethod
}

type cimProperty struct {
	name       string
	declaredIn string
	key        bool
	cimType
}

type cimMethod struct {
	name       string
	static     bool
	parameters []cimParameter    // in the order of the schema
	codes      map[string]string // texts of return values, by number
}

type cimParameter struct {
	name string
	out  bool
	cimType
}

// schemaOf is the schema of builds from one on.
type schemaOf struct {
	from uint32
	made func() *schema
}

// schemas are those that builds have, from the newest on, each made once.
var schemas = []schemaOf{
	{build2025, sync.OnceValue(func() *schema { return newSchema(build2025) })},
	{build23H2, sync.OnceValue(func() *schema { return newSchema(build23H2) })},
	{0, sync.OnceValue(func() *schema { return newSchema(0) })},
}

// schemaFor is the schema of a build. It must not be changed.
func schemaFor(build uint32) *schema {
	i := slices.IndexFunc(schemas, func(s schemaOf) bool { return build >= s.from })
	return schemas[i].made()
}

func newSchema(build uint32) *schema {
	s := &schema{classes: map[string]*cimClass{}}
	for name, described := range cimFacts() {
		s.classes[strings.ToLower(name)] = described.on(build, name)
	}
	return s
}

// class finds a class of a namespace.
func (s *schema) class(namespace, name string) (*cimClass, bool) {
	c, ok := s.classes[strings.ToLower(name)]
	if !ok || !sameNamespace(c.namespace, namespace) {
		return nil, false
	}
	return c, true
}

// hasNamespace reports whether a namespace has classes.
func (s *schema) hasNamespace(namespace string) bool {
	for _, c := range s.classes {
		if sameNamespace(c.namespace, namespace) {
			return true
		}
	}
	return false
}

// sameNamespace compares without case; both separators are good.
func sameNamespace(a, b string) bool {
	return strings.EqualFold(strings.ReplaceAll(a, "/", `\`), strings.ReplaceAll(b, "/", `\`))
}

func (c *cimClass) property(name string) (cimProperty, bool) {
	i := slices.IndexFunc(c.properties, func(p cimProperty) bool { return strings.EqualFold(p.name, name) })
	if i < 0 {
		return cimProperty{}, false
	}
	return c.properties[i], true
}

func (c *cimClass) method(name string) (cimMethod, bool) {
	i := slices.IndexFunc(c.methods, func(m cimMethod) bool { return strings.EqualFold(m.name, name) })
	if i < 0 {
		return cimMethod{}, false
	}
	return c.methods[i], true
}

// keys are the key properties in the order of the class.
func (c *cimClass) keys() []cimProperty {
	var keys []cimProperty
	for _, p := range c.properties {
		if p.key {
			keys = append(keys, p)
		}
	}
	return keys
}

// inherits reports whether c is a subclass of base as the schema tells it: by
// the properties that base declares.
func (c *cimClass) inherits(base *cimClass) bool {
	return c != base && slices.ContainsFunc(c.properties, func(p cimProperty) bool { return p.declaredIn == base.name })
}

func (m cimMethod) parameter(name string) (cimParameter, bool) {
	i := slices.IndexFunc(m.parameters, func(p cimParameter) bool { return strings.EqualFold(p.name, name) })
	if i < 0 {
		return cimParameter{}, false
	}
	return m.parameters[i], true
}

// The forms below are those of the fact page.

type classFacts struct {
	Namespace      string          `json:"namespace"`
	Keys           []string        `json:"keys"`
	Properties     []propertyFacts `json:"properties"`
	Methods        []methodFacts   `json:"methods"`
	LaterAdditions struct {
		Properties   []propertyFacts  `json:"properties"`
		CreateAppend []parameterFacts `json:"create_parameters_appended_after_UseWriteThrough"`
	} `json:"later_additions"`
}

type propertyFacts struct {
	Name       string   `json:"name"`
	Type       string   `json:"cim_type"`
	Array      bool     `json:"array"`
	DeclaredIn string   `json:"declared_in"`
	SeenIn     []string `json:"seen_in"`
}

type methodFacts struct {
	Name           string           `json:"name"`
	Static         bool             `json:"static"`
	PresentIn      []string         `json:"present_in"`
	Parameters     []parameterFacts `json:"parameters"`
	Parameters23H2 []parameterFacts `json:"parameters_server23h2"`

	ReturnCodes map[string]string `json:"return_codes"`
}

type parameterFacts struct {
	Name      string `json:"name"`
	Direction string `json:"direction"`
	Type      string `json:"cim_type"`
	Array     bool   `json:"array"`
	Embedded  string `json:"embedded_instance"`
}

// cimFacts reads the fact page once.
var cimFacts = sync.OnceValue(mustReadCIMFacts)

func mustReadCIMFacts() map[string]classFacts {
	var page struct {
		Classes map[string]classFacts `json:"classes"`
	}
	if err := json.Unmarshal(cimSchemaJSON, &page); err != nil {
		panic("simhost: schema/cim-schema.json: " + err.Error())
	}
	return page.Classes
}

// on is the class as a build has it: what was only seen on a page but in no
// live schema is left out (windows-api.md 16).
func (f classFacts) on(build uint32, name string) *cimClass {
	c := &cimClass{name: name, namespace: f.Namespace}
	for _, p := range f.Properties {
		if seenOn(build, p.SeenIn) {
			c.properties = append(c.properties, p.property(f.Keys))
		}
	}
	for _, m := range f.Methods {
		if seenOn(build, m.PresentIn) {
			c.methods = append(c.methods, m.on(build))
		}
	}
	if build >= build2025 {
		f.addLater(c)
	}
	return c
}

// addLater adds what only Server 2025 was seen with.
func (f classFacts) addLater(c *cimClass) {
	for _, p := range f.LaterAdditions.Properties {
		c.properties = append(c.properties, p.property(nil))
	}
	for i := range c.methods {
		if m := &c.methods[i]; m.name == "Create" && len(f.LaterAdditions.CreateAppend) > 0 {
			after := slices.IndexFunc(m.parameters, func(p cimParameter) bool { return p.name == "UseWriteThrough" })
			m.parameters = slices.Insert(m.parameters, after+1, parametersOf(f.LaterAdditions.CreateAppend)...)
		}
	}
}

// seenOn says whether a dump that stands for the build has it.
func seenOn(build uint32, dumps []string) bool {
	dump := "server2019"
	if build >= build23H2 {
		dump = "server23h2"
	}
	return slices.Contains(dumps, dump)
}

func (f propertyFacts) property(keys []string) cimProperty {
	return cimProperty{
		name: f.Name, declaredIn: f.DeclaredIn, key: slices.Contains(keys, f.Name),
		cimType: cimType{base: baseOf(f.Type, ""), array: f.Array},
	}
}

func (f methodFacts) on(build uint32) cimMethod {
	m := cimMethod{name: f.Name, static: f.Static, parameters: parametersOf(f.Parameters), codes: f.ReturnCodes}
	if build >= build23H2 && f.Parameters23H2 != nil {
		m.parameters = parametersOf(f.Parameters23H2)
	}
	return m
}

func parametersOf(facts []parameterFacts) []cimParameter {
	var parameters []cimParameter
	for _, f := range facts {
		parameters = append(parameters, cimParameter{
			name: f.Name, out: f.Direction == "out",
			cimType: cimType{base: baseOf(f.Type, f.Embedded), array: f.Array},
		})
	}
	return parameters
}
