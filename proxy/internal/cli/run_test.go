// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
)

// watch runs a command on the node while a person looks on, in its own time.
func (s *site) watch(ctx context.Context, seen *screen, in io.Reader, args ...string) <-chan result {
	ended := make(chan result, 1)
	go func() {
		var out strings.Builder
		a := newApp(Streams{In: in, Out: &out, Err: seen, Terminal: in != nil, Watched: true}, s.open)
		code := a.run(ctx, args)
		ended <- result{out: out.String(), code: code}
	}()
	return ended
}

// newSlowSite is a node where a service takes its time.
func newSlowSite(t *testing.T) *site {
	t.Helper()
	node, err := startNode(simhost.NodeSpec{Version: 1, Name: "slow", Services: []simhost.ServiceSpec{{
		Name:     "Slow",
		Starting: simhost.TransitionSpec{Takes: simhost.Duration(20 * time.Second), Step: simhost.Duration(4 * time.Second), Hint: simhost.Duration(5 * time.Second)},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Close)
	return &site{t: t, node: node}
}

func TestRun_ShowsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newSlowSite(t), &screen{}
		s.local = true
		ended := s.watch(t.Context(), seen, nil, "system", "start", "slow", "--yes")
		time.Sleep(10500 * time.Millisecond)
		seen.want(t, "start service slow  10s  Start Pending, check point 3")
		if r := <-ended; r.code != 0 || r.out != "slow is running\n" {
			t.Errorf("%s", r.transcript(nil))
		}
		seen.want(t, "")
	})
}

// While a person is asked, nothing is under way.
func TestRun_NoProgressWhileAsking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newSlowSite(t), &screen{}
		s.local = true
		in, person := io.Pipe()
		ended := s.watch(t.Context(), seen, in, "system", "start", "slow")
		time.Sleep(5500 * time.Millisecond)
		const question = "About to start service slow on this machine. Go on? [y/N] "
		seen.want(t, strings.TrimSpace(question))
		_, _ = io.WriteString(seen, "y\n") // the terminal's echo
		_, _ = io.WriteString(person, "y\n")
		time.Sleep(2500 * time.Millisecond)
		seen.want(t, question+"y\nstart service slow  2s  Start Pending, check point 1")
		if r := <-ended; r.code != 0 {
			t.Errorf("%s", r.transcript(nil))
		}
		seen.want(t, question+"y\n")
	})
}

func TestRun_NoProgressForPrograms(t *testing.T) {
	for _, format := range []string{"json", "yaml", "name"} {
		t.Run(format, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, seen := newSlowSite(t), &screen{}
				s.local = true
				if r := <-s.watch(t.Context(), seen, nil, "system", "start", "slow", "--yes", "-o", format); r.code != 0 || !strings.Contains(r.out, "slow") {
					t.Errorf("%s", r.transcript(nil))
				}
				seen.want(t, "")
				if seen.writes > 0 {
					t.Error("something was shown meanwhile")
				}
			})
		})
	}
	t.Run("unwatched", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newSlowSite(t)
			s.local = true
			if r := s.run("system", "start", "slow", "--yes"); r.code != 0 || r.err != "" {
				t.Errorf("%s", r.transcript(nil))
			}
		})
	})
}

func TestRun_ShowsProgressOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := newSlowSite(t), &screen{}
		ended := s.watch(t.Context(), seen, nil, "disk", "wait", "serial", "nobody's", "--timeout", "10s")
		time.Sleep(5500 * time.Millisecond)
		seen.want(t, "disk wait serial nobody's  5s  disks there: 1")
		if r := <-ended; r.code != 5 || r.out != "" {
			t.Errorf("%s", r.transcript(nil))
		}
	})
}

// A command that is interrupted, or takes too long, says how things are then.
func TestRun_Interrupted(t *testing.T) {
	partition := func(c simhost.Call) bool { return strings.Contains(c.Subject, "CreatePartition") }
	for _, test := range []struct {
		name  string
		args  []string
		hangs func(simhost.Call) bool
		code  int
		took  time.Duration
		want  string // "" is nothing but the error
	}{
		{
			"partition",
			[]string{"disk", "partition", "1"},
			partition, 130, 5 * time.Second,
			"not finished: partition disk 1; it may still go on\nas it is now:\n└─ disk 1  10.0GiB  GPT",
		},
		{
			"timeout",
			[]string{"disk", "partition", "1", "--timeout", "3s"},
			partition, 5, 3 * time.Second,
			"not finished: partition disk 1; it may still go on\nas it is now:\n└─ disk 1  10.0GiB  GPT",
		},
		{
			"nothing answers",
			[]string{"disk", "partition", "1"},
			func(simhost.Call) bool { return true }, 130, 10 * time.Second,
			"not finished: partition disk 1; it may still go on\nhow it is now cannot be told: ",
		},
		{"question", []string{"disk", "wait", "serial", "nobody's"}, func(simhost.Call) bool { return false }, 130, 5 * time.Second, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, seen := newSite(t), &screen{}
				repaired := make(chan struct{})
				s.node.OnCall(func(c simhost.Call, do func() error) error {
					if test.hangs(c) {
						<-repaired
					}
					return do()
				})
				ctx, interrupt := context.WithCancel(t.Context())
				time.AfterFunc(5*time.Second, interrupt)
				start := time.Now()
				r := <-s.watch(ctx, seen, nil, test.args...)
				took := time.Since(start)
				close(repaired)
				text := seen.String()
				if r.code != test.code || r.out != "" || took != test.took || !strings.Contains("\n"+text, "\nerror: ") {
					t.Errorf("exit code %d after %s\n%s", r.code, took, text)
				}
				if !strings.Contains(text, test.want) || strings.Contains(text, "not finished") != (test.want != "") {
					t.Errorf("no %q in\n%s", test.want, text)
				}
			})
		})
	}
	t.Run("service", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, seen := newSlowSite(t), &screen{}
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(5*time.Second, interrupt)
			r := <-s.watch(ctx, seen, nil, "system", "start", "Slow")
			if want := "as it is now:\n└─ Slow  Start Pending  Manual\n"; r.code != 130 || !strings.Contains(seen.String(), want) {
				t.Errorf("exit code %d\n%s", r.code, seen)
			}
		})
	})
}
