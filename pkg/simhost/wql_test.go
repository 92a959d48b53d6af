// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

func TestParseWQL(t *testing.T) {
	for _, tt := range []struct {
		text       string
		properties []string
		class      string
		where      bool
	}{
		{"SELECT * FROM MSFT_Disk", nil, "MSFT_Disk", false},
		{"select Number,Size from MSFT_Disk where Number=1", []string{"Number", "Size"}, "MSFT_Disk", true},
		{" SELECT\tObjectId , Path\r\nFROM MSFT_Volume ", []string{"ObjectId", "Path"}, "MSFT_Volume", false},
		{"SELECT * FROM C WHERE ((a = 1) AND NOT (b <> 'x' OR c IS NOT NULL))", nil, "C", true},
		{`SELECT * FROM C WHERE a = "it's"`, nil, "C", true},
		{"SELECT * FROM C WHERE 1 < a AND b NOT LIKE 'x%'", nil, "C", true},
		{"SELECT __PATH FROM C WHERE __CLASS = 'C'", []string{"__PATH"}, "C", true},
		{"SELECT * FROM C WHERE a = -1 OR a != NULL OR b = TRUE", nil, "C", true},
		{"SELECT * FROM C WHERE a = ''", nil, "C", true},
	} {
		q, err := parseWQL(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if q.class != tt.class || !cmp.Equal(q.properties, tt.properties) || (q.where != nil) != tt.where {
			t.Errorf("%s: got %+v", tt.text, q)
		}
	}
}

func TestParseWQL_Invalid(t *testing.T) {
	for name, text := range map[string]string{
		"empty":                     "",
		"no class":                  "SELECT * FROM",
		"no list":                   "SELECT FROM C",
		"open list":                 "SELECT a, FROM C",
		"two classes":               "SELECT * FROM C, D",
		"open where":                "SELECT * FROM C WHERE",
		"no operator":               "SELECT * FROM C WHERE a",
		"two literals":              "SELECT * FROM C WHERE 1 = 1",
		"two properties":            "SELECT * FROM C WHERE a = b",
		"open parenthesis":          "SELECT * FROM C WHERE (a = 1",
		"open literal":              "SELECT * FROM C WHERE a = 'x",
		"doubled quote":             "SELECT * FROM C WHERE a = 'it''s'",
		"unescaped backslash":       `SELECT * FROM C WHERE a = '\\?\Volume'`,
		"backslash at the end":      `SELECT * FROM C WHERE a = 'x\`,
		"escaped end":               `SELECT * FROM C WHERE a = 'x\'`,
		"like without text":         "SELECT * FROM C WHERE a LIKE 1",
		"not without like":          "SELECT * FROM C WHERE a NOT = 1",
		"is without null":           "SELECT * FROM C WHERE a IS 1",
		"trailing words":            "SELECT * FROM C WHERE a = 1 ORDER BY a",
		"two statements":            "SELECT * FROM C; DELETE FROM C",
		"reserved name":             "SELECT * FROM C WHERE AND = 1",
		"event query":               "SELECT * FROM C WITHIN 1",
		"associators":               "ASSOCIATORS OF {C.a='x'}",
		"letter outside of a quote": "SELECT * FROM C WHERE a = ä",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parseWQL(text); !errors.Is(err, win.WBEM_E_INVALID_QUERY) {
				t.Errorf("%s: got %v, want %v", text, err, win.WBEM_E_INVALID_QUERY)
			}
		})
	}
}

func TestParseWQL_TooManyTerms(t *testing.T) {
	text := "SELECT * FROM C WHERE a = 1" + strings.Repeat(" OR a = 1", maxWQLTerms)
	if _, err := parseWQL(text); !errors.Is(err, win.WBEM_E_QUOTA_VIOLATION) {
		t.Errorf("got %v, want %v", err, win.WBEM_E_QUOTA_VIOLATION)
	}
}

// wqlTestClass has a property of each kind.
var wqlTestClass = &cimClass{name: "C", namespace: `root\n`, properties: []cimProperty{
	{name: "Id", key: true, cimType: cimType{base: "string"}},
	{name: "Number", cimType: cimType{base: "uint32"}},
	{name: "Size", cimType: cimType{base: "uint64"}},
	{name: "Delta", cimType: cimType{base: "sint32"}},
	{name: "Offline", cimType: cimType{base: "boolean"}},
	{name: "Letter", cimType: cimType{base: "char16"}},
	{name: "Missing", cimType: cimType{base: "string"}},
	{name: "List", cimType: cimType{base: "uint16", array: true}},
	{name: "Inner", cimType: cimType{base: "object"}},
}}

func wqlTestRow() win.Row {
	return wqlTestClass.row(cimObject{
		"Id": `\\?\Volume{1}\`, "Number": uint32(0xFFFF_FFFF), "Size": uint64(1) << 63, "Delta": int32(-3),
		"Offline": true, "Letter": 'C', "List": []uint16{2},
	})
}

func TestWQL_Where(t *testing.T) {
	for _, tt := range []struct {
		where string
		want  bool
	}{
		{`Id = '\\\\?\\Volume{1}\\'`, true},
		{`id = "\\\\?\\VOLUME{1}\\"`, true},
		{`Id = '\\\\?\\Volume{2}\\'`, false},
		{`Id <> '\\\\?\\Volume{2}\\'`, true},
		{`Id > '\\\\?\\Volume{0}\\'`, true},
		{`Id LIKE '%volume%'`, true},
		{`Id LIKE 'volume%'`, false},
		{`Id NOT LIKE 'volume%'`, true},
		{"Number = 4294967295", true},
		{"Number = '4294967295'", true},
		{"Number <> 0", true},
		{"Size = 9223372036854775808", true},
		{"Size = '9223372036854775808'", true},
		{"Size > 9", true}, // and not as text
		{"9 < Size", true},
		{"Size <= 9", false},
		{"Size >= 9", true},
		{"Size >= 9223372036854775808", true},
		{"Size <= 9223372036854775808", true},
		{"Delta > -3", false},
		{"Delta >= -2", false},
		{"Offline > FALSE", true},
		{"Offline < 'TRUE'", false},
		{"Delta = -3", true},
		{"Delta < 0", true},
		{"Offline = TRUE", true},
		{"Offline = false", false},
		{"Offline = 'True'", true},
		{"Offline <> FALSE", true},
		{"Letter = 'C'", true},
		{"Letter = 67", true},
		{"Letter = 'D'", false},
		{"Missing IS NULL", true},
		{"Missing IS NOT NULL", false},
		{"Missing = NULL", true},
		{"Missing <> 'x'", false}, // a comparison with NULL is false
		{"NOT Missing = 'x'", true},
		{"Id IS NOT NULL", true},
		{"Number = 0 OR Offline = TRUE AND Delta = -3", true},
		{"(Number = 0 OR Offline = TRUE) AND Delta = 0", false},
		{"NOT Number = 0 AND Offline = TRUE", true},
		{"__CLASS = 'c'", true},
	} {
		t.Run(tt.where, func(t *testing.T) {
			q, err := parseWQL("SELECT * FROM C WHERE " + tt.where)
			if err != nil {
				t.Fatal(err)
			}
			matches, err := q.where.bind(wqlTestClass)
			if err != nil {
				t.Fatal(err)
			}
			if got := matches(wqlTestRow()); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWQL_WhereRefused(t *testing.T) {
	for _, where := range []string{
		"Unknown = 1", "List = 2", "List IS NULL", "Inner IS NULL", "Id = 1", "Number = 'x'", "Number = -1", "Number = 1.5",
		"Offline = 2", "Offline = 'yes'", "Letter = 'CD'", "Number LIKE '1%'", "Size < NULL", "Missing LIKE 'x' AND Unknown IS NULL",
	} {
		q, err := parseWQL("SELECT * FROM C WHERE " + where)
		if err != nil {
			t.Errorf("%s: %v", where, err)
			continue
		}
		if _, err := q.where.bind(wqlTestClass); !errors.Is(err, win.WBEM_E_INVALID_QUERY) {
			t.Errorf("%s: got %v, want %v", where, err, win.WBEM_E_INVALID_QUERY)
		}
	}
}

func TestLikeMatches(t *testing.T) {
	for _, tt := range []struct {
		s, pattern string
		want       bool
	}{
		{"", "", true},
		{"", "%", true},
		{"A", "", false},
		{"ABC", "A%C", true},
		{"ABCBC", "A%BC", true},
		{"ABC", "A_C", true},
		{"AC", "A_C", false},
		{"ABC", "A[A-C]C", true},
		{"ABC", "A[XB]C", true},
		{"ABC", "A[^B]C", false},
		{"AXC", "A[B-DX]C", true},
		{"ADC", "A[B-CE-F]C", false},
		{"A%C", "A[%]C", true},
		{"ABC", "A[%]C", false},
		{"A[C", "A[C", true}, // no set without an end
		{"ABC", "%%%", true},
		{"ABC", "%D", false},
		{strings.Repeat("A", 200), strings.Repeat("%A", 20) + "B", false},
	} {
		if got := likeMatches(tt.s, tt.pattern); got != tt.want {
			t.Errorf("%q like %q: got %v, want %v", tt.s, tt.pattern, got, tt.want)
		}
	}
}

func TestParseWMIPath(t *testing.T) {
	text := func(name, value string) wmiPathKey { return wmiPathKey{name, wqlLiteral{wqlText, value}} }
	for _, tt := range []struct {
		text string
		want wmiPath
	}{
		{"MSFT_StorageSetting", wmiPath{class: "MSFT_StorageSetting"}},
		{`C.Id="a\\b\"c"`, wmiPath{class: "C", keys: []wmiPathKey{text("Id", `a\b"c`)}}},
		{`C="x"`, wmiPath{class: "C", keys: []wmiPathKey{text("", "x")}}},
		{`C.A='x',B=7`, wmiPath{class: "C", keys: []wmiPathKey{text("A", "x"), {"B", wqlLiteral{wqlNumber, "7"}}}}},
		{`\\HOST\root\n:C.Id="a:b"`, wmiPath{namespace: `root\n`, class: "C", keys: []wmiPathKey{text("Id", "a:b")}}},
		{`root/n:C`, wmiPath{namespace: "root/n", class: "C"}},
	} {
		got, err := parseWMIPath(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
		} else if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(wmiPath{}, wmiPathKey{}, wqlLiteral{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
	for _, bad := range []string{
		"", ".Id=1", "1C", "C.", "C.Id", "C.Id=", `C.Id="x`, `C.Id="x" y`, `C.Id="x",`, "C.Id=NULL", `C.Id="\\?\Volume"`,
		`C Id="x"`, `\\HOST:C`, `C.Id=x`,
	} {
		if _, err := parseWMIPath(bad); !errors.Is(err, win.WBEM_E_INVALID_OBJECT_PATH) {
			t.Errorf("%q: got %v, want %v", bad, err, win.WBEM_E_INVALID_OBJECT_PATH)
		}
	}
}

// Every row is found by the path that it carries.
func TestWMIPath_RoundTrip(t *testing.T) {
	row := wqlTestRow()
	if got, want := row[sysRelPath], `C.Id="\\\\?\\Volume{1}\\"`; got != want {
		t.Errorf("__RELPATH: got %v, want %v", got, want)
	}
	if got, want := row[sysPath], `\\`+wmiServer+`\root\n:`+row[sysRelPath].(string); got != want {
		t.Errorf("__PATH: got %v, want %v", got, want)
	}
	for _, name := range []string{sysRelPath, sysPath} {
		p, err := parseWMIPath(row[name].(string))
		if err != nil {
			t.Fatal(err)
		}
		is, err := p.bind(wqlTestClass)
		if err != nil {
			t.Fatal(err)
		}
		if !is(row) {
			t.Errorf("%s does not name its row", name)
		}
	}
}

func TestWMIPath_NumberKey(t *testing.T) {
	bios, ok := schemaFor(build2022).class(`root\cimv2`, "Win32_BIOS")
	if !ok {
		t.Fatal("no Win32_BIOS")
	}
	row := bios.row(cimObject{
		"Name": "BIOS", "Version": "1", "SoftwareElementID": "BIOS", "SoftwareElementState": uint16(3), "TargetOperatingSystem": uint16(0),
	})
	p, err := parseWMIPath(row[sysRelPath].(string))
	if err != nil {
		t.Fatal(err)
	}
	is, err := p.bind(bios)
	if err != nil {
		t.Fatal(err)
	}
	if !is(row) {
		t.Errorf("%v does not name its row", row[sysRelPath])
	}
	if row["SoftwareElementState"] = int32(2); is(row) {
		t.Error("another state is the same row")
	}
}

func TestWMIPath_BindRefused(t *testing.T) {
	for _, text := range []string{`C.Number=1`, `C.Id="x",Number=1`, `C.Id=7`, `C.Id=TRUE`} {
		p, err := parseWMIPath(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.bind(wqlTestClass); !errors.Is(err, win.WBEM_E_INVALID_OBJECT_PATH) {
			t.Errorf("%s: got %v, want %v", text, err, win.WBEM_E_INVALID_OBJECT_PATH)
		}
	}
}

// A query either is refused with a code of WMI, or each of its parts can be
// asked of a row.
func FuzzWQL(f *testing.F) {
	for _, seed := range []string{
		"SELECT * FROM C WHERE Number = 1 AND (Id LIKE '%x[a-z]_' OR NOT Missing IS NULL)",
		`SELECT Id FROM C WHERE Id = '\\\\?\\Volume{1}\\'`, "SELECT * FROM C WHERE a = 'it''s'", "SELECT", "((((", `"\`,
	} {
		f.Add(seed)
	}
	row := wqlTestRow()
	f.Fuzz(func(t *testing.T, text string) {
		q, err := parseWQL(text)
		if err != nil {
			if !errors.Is(err, win.WBEM_E_INVALID_QUERY) && !errors.Is(err, win.WBEM_E_QUOTA_VIOLATION) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if q.class == "" {
			t.Fatalf("%q: no class", text)
		}
		if q.where == nil {
			return
		}
		if matches, err := q.where.bind(wqlTestClass); err == nil {
			matches(row)
		}
	})
}

// What escape writes, unquote reads: parse(escape(s)) == s.
func FuzzWQLLiteral(f *testing.F) {
	f.Add(`\\?\Volume{1}\`)
	f.Add(`it's "quoted"`)
	f.Fuzz(func(t *testing.T, s string) {
		for _, quote := range []string{"'", `"`} {
			literal := quote + strings.NewReplacer(`\`, `\\`, quote, `\`+quote).Replace(s) + quote
			got, n, ok := unquote(literal)
			if !ok || got != s || n != len(literal) {
				t.Fatalf("%s: got %q, %d, %v, want %q, %d", literal, got, n, ok, s, len(literal))
			}
		}
	})
}
