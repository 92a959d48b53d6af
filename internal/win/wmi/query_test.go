// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func TestQuery_Text(t *testing.T) {
	const id = `\\?\Volume{8d2d2a52-0000-0000-0000-100000000000}\`
	tests := []struct {
		query Query
		want  string
	}{
		{Select().From("MSFT_Disk"), `SELECT * FROM MSFT_Disk`},
		{Select("Number", "Path").From("MSFT_Disk").Where(Eq("Number", 3)), `SELECT Number, Path FROM MSFT_Disk WHERE Number = 3`},
		{Select("Path").From("MSFT_Volume").Where(Eq("UniqueId", id)), `SELECT Path FROM MSFT_Volume WHERE UniqueId = '\\\\?\\Volume{8d2d2a52-0000-0000-0000-100000000000}\\'`},
		{Select("LocalPath").From("MSFT_SmbGlobalMapping").Where(Eq("RemotePath", `\\server\share`)), `SELECT LocalPath FROM MSFT_SmbGlobalMapping WHERE RemotePath = '\\\\server\\share'`},
		{Select("A").From("B").Where(Eq("S", `it's`)), `SELECT A FROM B WHERE S = 'it\'s'`},
		{Select("A").From("B").Where(Eq("S", `x' OR '1'='1`)), `SELECT A FROM B WHERE S = 'x\' OR \'1\'=\'1'`},
		{Select("A").From("B").Where(Eq("S", `a"b%_[c]`)), `SELECT A FROM B WHERE S = 'a"b%_[c]'`},
		{Select("A").From("B").Where(Eq("S", "")), `SELECT A FROM B WHERE S = ''`},
		{Select("A").From("B").Where(Eq("P", true), Eq("Q", false)), `SELECT A FROM B WHERE P = TRUE AND Q = FALSE`},
		{Select("A").From("B").Where(Eq("P", uint64(1<<64-1))).Where(Eq("Q", int64(-1))), `SELECT A FROM B WHERE P = 18446744073709551615 AND Q = -1`},
		{Select("A").From("B").Where(Eq("P", uint32(1<<31)), Eq("Q", uint16(7)), Eq("R", int32(-7))), `SELECT A FROM B WHERE P = 2147483648 AND Q = 7 AND R = -7`},
		{Select("__PATH").From("MSFT_Disk"), `SELECT __PATH FROM MSFT_Disk`},
		{
			Associated(`MSFT_iSCSITarget.NodeAddress="iqn.2020-01.a:b"`, "MSFT_iSCSITargetToiSCSISession", "MSFT_iSCSISession"),
			`ASSOCIATORS OF {MSFT_iSCSITarget.NodeAddress="iqn.2020-01.a:b"} WHERE AssocClass = MSFT_iSCSITargetToiSCSISession ResultClass = MSFT_iSCSISession`,
		},
		{Associated(`\\S\root\a:MSFT_Disk.ObjectId="{1}\\\"{"`, "A", "B"), `ASSOCIATORS OF {\\S\root\a:MSFT_Disk.ObjectId="{1}\\\"{"} WHERE AssocClass = A ResultClass = B`},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			if got := tt.query.String(); got != tt.want {
				t.Errorf("text\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The text of a query that cannot be asked says so, and is no query.
func TestQuery_TextOfNone(t *testing.T) {
	if got := Select("a b").From("MSFT_Disk").String(); !strings.HasPrefix(got, "invalid query: ") || !strings.Contains(got, `"a b"`) {
		t.Errorf("text %s", got)
	}
}

func TestAssociated_RefusesWhatIsNoPath(t *testing.T) {
	for _, path := range []string{
		"", "a b", `A.K="x"} WHERE AssocClass = Z`, `A.K="x`, `A.K="x\"`, "A.K=\"\x00\"", "A.K=\"\xff\"", `A.K={1}`, `A.K="x"}`,
	} {
		t.Run(strconv.Quote(path), func(t *testing.T) {
			if text, err := Associated(path, "A", "B").text(); !errors.Is(err, errdefs.ErrInvalidArgument) || text != "" {
				t.Errorf("text = %q, %v", text, err)
			}
		})
	}
	for _, q := range []Query{Associated(`A.K="x"`, "B c", "B"), Associated(`A.K="x"`, "A", "1"), Associated(`A.K="x"`, "A", "B").Where(Eq("P", 1))} {
		if text, err := q.text(); !errors.Is(err, errdefs.ErrInvalidArgument) || text != "" {
			t.Errorf("text = %q, %v", text, err)
		}
	}
}

func TestQuery_WhereDoesNotChangeItsReceiver(t *testing.T) {
	base := Select("A").From("B").Where(Eq("P", 1))
	one, two := base.Where(Eq("Q", 1)), base.Where(Eq("Q", 2))
	for want, q := range map[string]Query{
		`SELECT A FROM B WHERE P = 1`:           base,
		`SELECT A FROM B WHERE P = 1 AND Q = 1`: one,
		`SELECT A FROM B WHERE P = 1 AND Q = 2`: two,
	} {
		if got := q.String(); got != want {
			t.Errorf("text = %s, want %s", got, want)
		}
	}
}

var notNames = []string{"", " ", "a b", "1a", "a.b", "a-b", "*", "a,b", "a;", "a'", `a"`, `a\`, "(a)", "MSFT_Disk WHERE 1=1", "a\x00", "é", "a\n", "[", "@", "`", "{", "\xff"}

func TestQuery_RefusesWhatIsNoName(t *testing.T) {
	for _, bad := range notNames {
		t.Run(strconv.Quote(bad), func(t *testing.T) {
			for _, q := range []Query{
				Select(bad).From("MSFT_Disk"),
				Select("A", bad).From("MSFT_Disk"),
				Select("A").From(bad),
				Select("A").From("MSFT_Disk").Where(Eq("A", 1), Eq(bad, 1)),
			} {
				if text, err := q.text(); !errors.Is(err, errdefs.ErrInvalidArgument) || text != "" {
					t.Errorf("text = %q, %v", text, err)
				}
			}
			if path, err := PathOf(bad, "ObjectId", "x"); !errors.Is(err, errdefs.ErrInvalidArgument) || path != "" {
				t.Errorf("PathOf = %q, %v", path, err)
			}
			if path, err := PathOf("MSFT_Disk", bad, "x"); !errors.Is(err, errdefs.ErrInvalidArgument) || path != "" {
				t.Errorf("PathOf = %q, %v", path, err)
			}
		})
	}
}

func TestPathOfKeys(t *testing.T) {
	const want = `MSFT_SmbGlobalMapping.LocalPath="",RemotePath="\\\\host\\sh\"are"`
	got, err := PathOfKeys("MSFT_SmbGlobalMapping", Key{"LocalPath", ""}, Key{"RemotePath", `\\host\sh"are`})
	if got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	for _, keys := range [][]Key{{{"LocalPath", ""}, {"Remote Path", "x"}}, {{"LocalPath", ""}, {"RemotePath", "x\x00"}}} {
		if got, err := PathOfKeys("MSFT_SmbGlobalMapping", keys...); !errors.Is(err, errdefs.ErrInvalidArgument) || got != "" {
			t.Errorf("%q: %s, %v", keys, got, err)
		}
	}
}

func TestPathOf(t *testing.T) {
	for value, want := range map[string]string{
		`{1}\\SRV\root/x:WSP_Disk.ObjectId="y"`: `MSFT_Disk.ObjectId="{1}\\\\SRV\\root/x:WSP_Disk.ObjectId=\"y\""`,
		`it's`:                                  `MSFT_Disk.ObjectId="it's"`,
		``:                                      `MSFT_Disk.ObjectId=""`,
	} {
		if got, err := PathOf("MSFT_Disk", "ObjectId", value); got != want || err != nil {
			t.Errorf("PathOf(%s) = %s, %v, want %s", value, got, err, want)
		}
	}
	for _, bad := range []string{"\x00", "a\x00", "\xff"} {
		if got, err := PathOf("MSFT_Disk", "ObjectId", bad); !errors.Is(err, errdefs.ErrInvalidArgument) || got != "" {
			t.Errorf("PathOf(%q) = %s, %v", bad, got, err)
		}
	}
}

func TestClassOf(t *testing.T) {
	for path, want := range map[string]string{
		`MSFT_Disk`:                                     "MSFT_Disk",
		`MSFT_Disk.ObjectId="a.b=c"`:                    "MSFT_Disk",
		`MSFT_StorageSetting=@`:                         "MSFT_StorageSetting",
		`\\SRV\ROOT\x:MSFT_Disk.ObjectId="\\\\a:b.c=d"`: "MSFT_Disk",
		`\\SRV\ROOT\x`:                                  "",
		``:                                              "",
		`.ObjectId="x"`:                                 "",
	} {
		if got := classOf(path); got != want {
			t.Errorf("classOf(%s) = %q, want %q", path, got, want)
		}
	}
}

// parsed is what a reader of WQL, or of an object path, understands.
type parsed struct {
	properties []string
	class      string
	conditions []Condition
}

// parser reads WQL and object paths by their grammar, knowing nothing of the
// builder.
type parser struct {
	rest string
	err  error
}

func (p *parser) fail() { p.err = fmt.Errorf("does not parse at %q", p.rest) }

func (p *parser) expect(token string) {
	if !strings.HasPrefix(p.rest, token) {
		p.fail()
		return
	}
	p.rest = p.rest[len(token):]
}

func (p *parser) accept(token string) bool {
	rest, ok := strings.CutPrefix(p.rest, token)
	if p.err == nil && ok {
		p.rest = rest
		return true
	}
	return false
}

func (p *parser) word() string {
	n := 0
	for n < len(p.rest) && (p.rest[n] == '_' || p.rest[n] >= '0' && p.rest[n] <= '9' || p.rest[n] >= 'A' && p.rest[n] <= 'Z' || p.rest[n] >= 'a' && p.rest[n] <= 'z') {
		n++
	}
	if n == 0 || p.rest[0] >= '0' && p.rest[0] <= '9' {
		p.fail()
		return ""
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func (p *parser) literal() any {
	switch {
	case p.rest == "":
		p.fail()
		return nil
	case p.rest[0] == '\'' || p.rest[0] == '"':
		return p.text()
	case p.accept("TRUE"):
		return true
	case p.accept("FALSE"):
		return false
	}
	end := strings.IndexByte(p.rest+" ", ' ')
	n, err := strconv.ParseInt(p.rest[:end], 10, 64)
	if err != nil {
		p.fail()
	}
	p.rest = p.rest[end:]
	return n
}

func (p *parser) text() string {
	var b strings.Builder
	mark := p.rest[0]
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == mark:
			p.rest = p.rest[i+1:]
			return b.String()
		case c == '\\' && i+1 < len(p.rest):
			i++
			b.WriteByte(p.rest[i])
		default:
			b.WriteByte(c)
		}
	}
	p.fail()
	return ""
}

func parseQuery(s string) (parsed, error) {
	p, q := &parser{rest: s}, parsed{}
	p.expect("SELECT ")
	if !p.accept("*") {
		q.properties = append(q.properties, p.word())
		for p.accept(", ") {
			q.properties = append(q.properties, p.word())
		}
	}
	p.expect(" FROM ")
	q.class = p.word()
	for joint := " WHERE "; p.accept(joint); joint = " AND " {
		name := p.word()
		p.expect(" = ")
		q.conditions = append(q.conditions, Condition{name, p.literal()})
	}
	if p.rest != "" {
		p.fail()
	}
	return q, p.err
}

func parsePath(s string) (parsed, error) {
	p, q := &parser{rest: s}, parsed{}
	q.class = p.word()
	p.expect(".")
	name := p.word()
	p.expect("=")
	q.conditions = []Condition{{name, p.literal()}}
	if p.rest != "" {
		p.fail()
	}
	return q, p.err
}

// hostile draws strings out of what matters to a parser, and any others.
func hostile() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{`'`, `"`, `\`, ` OR `, `=`, `%`, `\\`, `''`, "\x00", "\n", " FROM ", "*", ",", "MSFT_Disk", "é", "\U0001F4BE", "\xff", "WHERE", "_", "1", "a"})
	return rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(pieces), func(s []string) string { return strings.Join(s, "") }))
}

// Every string that reaches the text is read back as it is.
func TestQuery_LiteralsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkLiterals(t, hostile().Draw(t, "s"), rapid.Int64().Draw(t, "n"), rapid.Bool().Draw(t, "b"))
	})
}

// FuzzQuery_Literals is the same for any text: parse(escape(s)) == s, or s is
// refused because it is none.
func FuzzQuery_Literals(f *testing.F) {
	for _, s := range []string{"", `'`, `\`, `\'`, `x' OR '1'='1`, `\\srv\o'brien`, "\x00", "\xff", `"`} {
		f.Add(s, int64(-1), true)
	}
	f.Fuzz(func(t *testing.T, s string, n int64, b bool) { checkLiterals(t, s, n, b) })
}

func checkLiterals(t rapid.TB, s string, n int64, b bool) {
	t.Helper()
	want := parsed{properties: []string{"A"}, class: "C", conditions: []Condition{{"S", s}, {"N", n}, {"B", b}, {"T", s}}}
	text, err := Select("A").From("C").Where(Eq("S", s), Eq("N", n), Eq("B", b), Eq("T", s)).text()
	path, pathErr := PathOf("C", "S", s)
	if strings.Contains(s, "\x00") || !utf8.ValidString(s) {
		if !errors.Is(err, errdefs.ErrInvalidArgument) || !errors.Is(pathErr, errdefs.ErrInvalidArgument) || text+path != "" {
			t.Fatalf("%q is no text but gives %q, %v and %q, %v", s, text, err, path, pathErr)
		}
		return
	}
	if err != nil || pathErr != nil {
		t.Fatalf("%q: %v, %v", s, err, pathErr)
	}
	checkParsed(t, text, want, parseQuery)
	checkParsed(t, path, parsed{class: "C", conditions: want.conditions[:1]}, parsePath)
}

// A name that is taken is read back as that one name; all others are refused.
func TestQuery_HostileNamesSelectNothingElse(t *testing.T) {
	names := rapid.OneOf(hostile(), rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]*`))
	rapid.Check(t, func(t *rapid.T) {
		want := parsed{
			properties: rapid.SliceOf(names).Draw(t, "properties"),
			class:      names.Draw(t, "class"),
			conditions: []Condition{{names.Draw(t, "property"), int64(1)}},
		}
		text, err := Select(want.properties...).From(want.class).Where(Eq(want.conditions[0].property, 1)).text()
		if err == nil {
			checkParsed(t, text, want, parseQuery)
		} else if !errors.Is(err, errdefs.ErrInvalidArgument) || text != "" {
			t.Fatalf("text = %q, %v", text, err)
		}
		path, err := PathOf(want.class, want.conditions[0].property, "x")
		if err == nil {
			checkParsed(t, path, parsed{class: want.class, conditions: []Condition{{want.conditions[0].property, "x"}}}, parsePath)
		} else if !errors.Is(err, errdefs.ErrInvalidArgument) || path != "" {
			t.Fatalf("PathOf = %q, %v", path, err)
		}
	})
}

func checkParsed(t rapid.TB, text string, want parsed, parse func(string) (parsed, error)) {
	t.Helper()
	got, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(want.properties) == 0 {
		want.properties = nil
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(parsed{}, Condition{})); diff != "" {
		t.Fatalf("%s is read as something else (-want +got):\n%s", text, diff)
	}
}
