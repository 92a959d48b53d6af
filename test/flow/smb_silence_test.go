// SPDX-License-Identifier: Apache-2.0

package flow_test

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/simhost"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
)

// silence is the time in which the server answers nothing at all, and what hangs
// there.
type silence struct {
	end     func()
	looks   []string // of this process
	mapping *claim   // whose mapping is being made by this process
	orphans []claim  // and by processes that have ended
}

// ending is how a call must end in the silence.
type ending struct {
	kind  errdefs.Kind
	after time.Duration
	names []string // in the error
	hangs string   // from then on, "" for nothing
}

// patience is how long a caller waits.
type patience time.Duration

const (
	short     = patience(time.Second)
	unlimited = patience(0) // that of context.Background

	// probeTime is how long a share is waited for, for who would wait longer.
	probeTime = 15 * time.Second
)

func drawPatience(t *rapid.T) patience {
	return rapid.SampledFrom([]patience{short, short, short, unlimited}).Draw(t, "patience")
}

// toggleSilence makes the server answer nothing, or again. Then the mapping that
// hung may be asked for once more.
func (m *smbModel) toggleSilence(t *rapid.T) {
	if m.silence == nil {
		m.fallSilent(t)
		return
	}
	late := m.silence.mapping
	m.answer(t)
	if late != nil && rapid.Bool().Draw(t, "asked again") {
		m.stageWith(t, *late, m.mapping(t, late.share), func() (bool, error) { return false, m.newMapping(t.Context(), *late) })
	}
}

func (m *smbModel) fallSilent(t *rapid.T) {
	end, err := m.node.HangSMBServer(smbServer)
	want(t, err, errdefs.None)
	m.silence = &silence{end: end}
}

// answer makes the server answer again. What hangs ends, if late: also a mapping
// of a process that is gone, as another program's.
func (m *smbModel) answer(t *rapid.T) {
	s := m.silence
	m.silence = nil
	s.end()
	synctest.Wait()
	if s.mapping != nil {
		m.admit(s.mapping.share, s.mapping.tenant, nil, m.mapping(t, s.mapping.share))
	}
	for _, of := range s.orphans {
		if m.mapping(t, of.share) != nil && len(m.users(of.share)) == 0 {
			m.foreign[of.share] = true
		}
	}
}

// silencing makes a call at one of whose boundary calls the server falls silent,
// until the caller has left.
func (m *smbModel) silencing(t *rapid.T, at int, call func(context.Context) error) (struck bool, err error) {
	ctx, cancel := short.context(t.Context())
	defer cancel()
	var made atomic.Int64
	m.node.OnCall(func(_ simhost.Call, do func() error) error {
		if int(made.Add(1)) == at {
			m.fallSilent(t)
		}
		return do()
	})
	err = call(ctx)
	synctest.Wait()
	m.node.OnCall(nil)
	if m.silence != nil {
		m.answer(t)
	}
	return errdefs.KindOf(err) == errdefs.DeadlineExceeded, err
}

// stageInSilence stages while the server does not answer, or until it does: often
// what hangs already, as kubelet asks again.
func (m *smbModel) stageInSilence(t *rapid.T, asked claim) {
	s, p := m.silence, drawPatience(t)
	if s.mapping != nil && rapid.Bool().Draw(t, "asked again") {
		asked = *s.mapping
	}
	call := func(ctx context.Context) error { return m.newMapping(ctx, asked) }
	want := s.wantStage(asked, m.mapping(t, asked.share), m.mapping(t, otherShare(asked.share)), p)
	if want.after > 0 && !s.hangsBeside(asked.share) && rapid.Bool().Draw(t, "answers meanwhile") {
		m.node.Calls().Reset()
		m.stageWith(t, asked, m.onceAnswered(t, asked.share), func() (bool, error) { return false, m.answerTo(t, call) })
		if by := m.node.Calls().ByMethod(); s.joins(asked) && by["Session.Get"]+by["Session.Start"] > 0 {
			t.Fatalf("a call that joins has begun anew: %v", by)
		}
		return
	}
	_ = m.endsSo(t, want, p, call)
	if want.hangs == s.change() {
		s.mapping = &asked
	}
	if m.paths[asked.path] == "" && s.joins(asked) {
		m.paths[asked.path], m.unsure[asked.path] = asked.share, true
	}
}

// answerTo makes the server answer while a call waits for it.
func (m *smbModel) answerTo(t *rapid.T, call func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- call(t.Context()) }()
	synctest.Wait()
	m.answer(t)
	return <-done
}

// onceAnswered is a share's mapping when the server has answered.
func (m *smbModel) onceAnswered(t *rapid.T, share string) *simhost.SMBMapping {
	is := m.mapping(t, share)
	if late := m.silence.mapping; is == nil && late != nil && late.share == share && !m.down && m.right(late.tenant) {
		return &simhost.SMBMapping{RemotePath: share, Credential: late.tenant}
	}
	return is
}

// unstageInSilence unstages while the server does not answer.
func (m *smbModel) unstageInSilence(t *rapid.T, share string, last bool, call func(context.Context) error) error {
	p := drawPatience(t)
	return m.endsSo(t, m.silence.wantUnstage(share, last, m.mapping(t, share), p), p, call)
}

// look looks for paths on the server, which does not answer.
func (m *smbModel) look(t *rapid.T) {
	if m.silence == nil {
		t.Skip("the server answers")
	}
	remote := rapid.SampledFrom([]string{`\\files\one`, `\\files\one\dir`, `\\files\two`, `\\files\two\dir`})
	p := drawPatience(t)
	for _, path := range rapid.SliceOfN(remote, 1, 5).Draw(t, "remote paths") {
		want := m.silence.ifRoom("look up of "+path, p.outlasted(blocking.QueryBudget))
		_ = m.endsSo(t, want, p, func(ctx context.Context) error {
			_, err := m.Filesystem.PathExists(ctx, &filesystem.PathExistsRequest{Path: path})
			return err
		})
	}
}

// endsSo makes a call in the silence, and notes what of it hangs.
func (m *smbModel) endsSo(t *rapid.T, want ending, p patience, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := p.context(t.Context())
	defer cancel()
	begun := time.Now()
	err := call(ctx)
	took := time.Since(begun)
	synctest.Wait()
	if kind := errdefs.KindOf(err); kind != want.kind || took != want.after {
		t.Fatalf("error of kind %v after %v, want %v after %v: %v", kind, took, want.kind, want.after, err)
	}
	for _, name := range want.names {
		if !strings.Contains(err.Error(), name) {
			t.Fatalf("%v does not name %s", err, name)
		}
	}
	if want.hangs != "" && want.hangs != m.silence.change() {
		m.silence.looks = append(m.silence.looks, want.hangs)
	}
	return err
}

// elsewhere uses a server that nothing is wrong with: without a wait, and at the
// usual cost (docs/architecture.md).
func (m *smbModel) elsewhere(t *rapid.T) {
	calm := claim{"", calmShare, simhost.SMBCredential{User: modelUsers[0], Password: calmPassword}}
	mapped := func() error { return m.newMapping(t.Context(), calm) }
	unmapped := func() error {
		_, err := m.SMB.RemoveSMBGlobalMapping(t.Context(), &smb.RemoveSMBGlobalMappingRequest{RemotePath: calmShare})
		return err
	}
	for _, call := range []func() error{mapped, mapped, unmapped} {
		begun := time.Now()
		m.node.Calls().Reset()
		want(t, call(), errdefs.None)
		by := m.node.Calls().ByMethod()
		if cost := m.node.Calls().Total() - by["WMI.Enter"] - by["WMI.Connect"]; cost > 2 || time.Since(begun) > 0 {
			t.Fatalf("another server took %v and calls %v", time.Since(begun), by)
		}
	}
}

// wantStage is how staging ends in the silence.
func (s *silence) wantStage(asked claim, before, beside *simhost.SMBMapping, p patience) ending {
	switch {
	case s.mapping != nil && s.mapping.share == asked.share: // joins it, or waits for it
		return p.outlasted(blocking.ChangeBudget)
	case before != nil:
		return s.wantProbe(asked.share, p)
	}
	made := s.ifRoom(s.change(), p.outlasted(blocking.ChangeBudget))
	if made.hangs == "" || beside == nil || beside.Credential == asked.tenant {
		return made
	}
	// 1219, before the server is asked: does the other mapping work?
	probed := s.wantProbe(beside.RemotePath, p)
	switch {
	case probed.kind == errdefs.DeadlineExceeded:
	case probed.hangs != "" && len(s.hanging())+1 == blocking.MaxPerGroup: // no room to try again
		probed.kind = errdefs.ResourceExhausted
	default:
		probed.kind, probed.names = errdefs.FailedPrecondition, nil
	}
	return probed
}

// wantProbe is how a look at a share ends, which gives up before its caller.
func (s *silence) wantProbe(share string, p patience) ending {
	waits := p.outlasted(probeTime)
	if p == unlimited {
		waits.kind = errdefs.Unavailable
	}
	return s.ifRoom("probe of "+share, waits)
}

// wantUnstage is how unstaging ends in the silence: it does not ask the server.
func (s *silence) wantUnstage(share string, last bool, before *simhost.SMBMapping, p patience) ending {
	switch {
	case last && s.mapping != nil && s.mapping.share == share: // waits for it
		return p.outlasted(blocking.ChangeBudget)
	case last && before != nil:
		removed := s.ifRoom(s.change(), ending{})
		removed.hangs = ""
		return removed
	}
	return ending{}
}

// ifRoom is the ending of a call that hangs, which is begun if there is room: one
// of a kind for each object, and four for the server.
func (s *silence) ifRoom(call string, waits ending) ending {
	hanging := s.hanging()
	switch {
	case slices.Contains(hanging, call):
		return ending{kind: errdefs.ResourceExhausted, names: []string{call}}
	case len(hanging) >= blocking.MaxPerGroup:
		return ending{kind: errdefs.ResourceExhausted, names: hanging}
	}
	waits.hangs = call
	return waits
}

// hanging names the calls of this process that hang.
func (s *silence) hanging() []string {
	if s.mapping == nil {
		return s.looks
	}
	return append(slices.Clone(s.looks), s.change())
}

// change names the making and the removing of the server's mappings, of which
// there is one at a time.
func (*silence) change() string { return `change of a mapping of \\` + smbServer }

// hangsBeside reports whether more hangs than a mapping of the share: all of it
// ends at once when the server answers.
func (s *silence) hangsBeside(share string) bool {
	return len(s.looks)+len(s.orphans) > 0 || s.mapping != nil && s.mapping.share != share
}

// beingMade is how many mappings are.
func (s *silence) beingMade() int {
	switch {
	case s == nil:
		return 0
	case s.mapping == nil:
		return len(s.orphans)
	}
	return len(s.orphans) + 1
}

// endProcess: what hangs counts no more, but a mapping is made all the same.
func (s *silence) endProcess() {
	if s.mapping != nil {
		s.orphans = append(s.orphans, *s.mapping)
	}
	s.mapping, s.looks = nil, nil
}

// joins reports whether what is asked for is being made.
func (s *silence) joins(asked claim) bool {
	return s.mapping != nil && s.mapping.share == asked.share && s.mapping.tenant == asked.tenant
}

// outlasted is the ending of a call that waits as long as its caller.
func (p patience) outlasted(budget time.Duration) ending {
	return ending{kind: errdefs.DeadlineExceeded, after: cmp.Or(time.Duration(p), budget)}
}

func (p patience) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if p == unlimited {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Duration(p))
}
