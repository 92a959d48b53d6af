// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// screen is a terminal that knows line feeds and carriage returns.
type screen struct {
	mu     sync.Mutex
	lines  [][]rune
	column int
	writes int
}

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	if s.lines == nil {
		s.lines = [][]rune{nil}
	}
	for _, r := range string(text) {
		last := len(s.lines) - 1
		switch {
		case r == '\n':
			s.lines, s.column = append(s.lines, nil), 0
			continue
		case r == '\r':
			s.column = 0
			continue
		case s.column < len(s.lines[last]):
			s.lines[last][s.column] = r
		default:
			s.lines[last] = append(s.lines[last], r)
		}
		s.column++
	}
	return len(text), nil
}

// String is what a person sees.
func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out strings.Builder
	for i, line := range s.lines {
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(strings.TrimRight(string(line), " "))
	}
	return out.String()
}

func (s *screen) want(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	if got := s.String(); got != want {
		t.Errorf("the screen shows %q, want %q", got, want)
	}
}

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &screen{}
		f := &foot{out: seen}
		line := f.line()
		begun := time.Now()

		line.show(t.Context(), "start service X", func(context.Context) string {
			if time.Since(begun) < 2*time.Second {
				return "a long way to go"
			}
			return "there"
		})
		time.Sleep(900 * time.Millisecond)
		seen.want(t, "") // what is quick is not told of
		time.Sleep(200 * time.Millisecond)
		seen.want(t, "start service X  1s  a long way to go")
		time.Sleep(2 * time.Second)
		seen.want(t, "start service X  3s  there")
		_, _ = io.WriteString(f, "warning: rain\n")
		seen.want(t, "warning: rain\n")
		time.Sleep(57 * time.Second)
		seen.want(t, "warning: rain\nstart service X  1m0s  there")
		line.clear()
		seen.want(t, "warning: rain\n")
		writes := seen.writes
		time.Sleep(time.Minute)
		line.clear()
		if seen.writes != writes {
			t.Error("written to after clear")
		}
	})
}

// Of a host that hangs it is still told how long.
func TestProgress_StandingHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &screen{}
		line := (&foot{out: seen}).line()
		asked := 0
		line.show(t.Context(), "wait", func(ctx context.Context) string {
			asked++
			<-ctx.Done()
			return ""
		})
		time.Sleep(10500 * time.Millisecond)
		seen.want(t, "wait  10s")
		if asked != 1 {
			t.Errorf("asked %d times", asked)
		}
		line.clear()
		seen.want(t, "")
	})
}

// The line goes when its context ends, and a second one takes the place of the
// first.
func TestProgress_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := &screen{}
		line := (&foot{out: seen}).line()
		ctx, cancel := context.WithCancel(t.Context())
		line.show(t.Context(), "first, and long", nil)
		time.Sleep(1500 * time.Millisecond)
		line.show(ctx, "second", nil)
		seen.want(t, "")
		time.Sleep(1500 * time.Millisecond)
		seen.want(t, "second  1s")
		cancel()
		seen.want(t, "")
		line.clear()
	})
	var nobody *footLine
	nobody.show(t.Context(), "nothing", nil)
	nobody.clear()
}

func TestProgressLine(t *testing.T) {
	long := strings.Repeat("é", 200)
	for _, test := range []struct {
		words, stands string
		want          string
	}{
		{"mount", "", "mount  1m5s"},
		{"mount", "soon", "mount  1m5s  soon"},
		{long, "soon", strings.Repeat("é", lineWidth-15) + "...  1m5s  soon"},
		{long, long, ""},
	} {
		got := progressLine(test.words, 65*time.Second+300*time.Millisecond, test.stands)
		if n := utf8.RuneCountInString(got); n > lineWidth || !strings.Contains(got, "  1m5s") {
			t.Errorf("%d columns: %q", n, got)
		}
		if test.want != "" && got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
