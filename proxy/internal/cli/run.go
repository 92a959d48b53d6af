// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// run is one verb at work.
type run struct {
	*app
	host   *host
	line   *footLine // what a person is shown meanwhile
	begun  *change   // what was agreed to; nil: nothing was changed
	plan   *table    // what --dry-run tells
	dryRun bool
}

// runVerb opens the host, runs the verb and writes its answer.
func (a *app) runVerb(cmd *cobra.Command, v verb, args []string, how doing) error {
	ctx, cancel := a.context(cmd)
	defer cancel()
	h, err := a.open(a.host)
	if err != nil {
		return err
	}
	h.warn, h.in = a.warn, a.In
	r := &run{app: a, host: h, dryRun: how.dryRun}
	if a.Watched && how.output.forPeople() {
		r.line = a.foot.line()
	}
	answer, err := r.do(ctx, v, args, how.of)
	if err != nil {
		return err
	}
	return how.output.write(a.Out, answer)
}

// do runs the verb and gives its answer.
func (r *run) do(ctx context.Context, v verb, args []string, of string) (*table, error) {
	if v.read != nil {
		r.line.show(ctx, strings.Join(append([]string{of}, args...), " "), r.standing(v))
		defer r.line.clear()
		return v.read(ctx, r.host, args)
	}
	answer, err := v.change(ctx, askBefore(r.host, r.begin), args)
	r.line.clear()
	if r.host.sim != nil {
		r.showChanges(r.host.sim.changes())
	}
	switch {
	case errors.Is(err, errPlanned):
		return r.plan, nil
	case err != nil:
		r.tellUnfinished(ctx, err)
	}
	return answer, err
}

func (r *run) standing(v verb) func(context.Context) string {
	if v.standing == nil {
		return nil
	}
	return func(ctx context.Context) string { return v.standing(ctx, r.host) }
}

// begin is asked before each change.
func (r *run) begin(ctx context.Context, c change) error {
	var err error
	switch {
	case r.dryRun:
		err = r.tell(ctx, c)
	case r.host.sim == nil:
		err = r.confirm(ctx, c)
	}
	if err == nil {
		r.begun = &c
		r.line.show(ctx, c.words, r.host.standing(c.about))
	}
	return err
}

// errPlanned ends a change that was only to be told.
var errPlanned = errors.New("planned")

// tell is confirm for those who only want to know: what would be done, and what
// it is done to.
func (r *run) tell(ctx context.Context, c change) error {
	now, drawn, err := asItIs(ctx, r.host, c.about)
	if err != nil && !(c.mayBeGone && errors.Is(err, errdefs.ErrNotFound)) {
		return err
	}
	r.plan = one(planObject{c.words, now.kind(), now}, "would %s", c.words)
	r.plan.tree = drawn
	return errPlanned
}

// aftermath is how long a command that was interrupted looks at what it left.
const aftermath = 5 * time.Second

// tellUnfinished tells of a change that was interrupted, or took too long, how
// things are.
func (r *run) tellUnfinished(ctx context.Context, err error) {
	kind := errdefs.KindOf(err)
	if r.begun == nil || kind != errdefs.Canceled && kind != errdefs.DeadlineExceeded {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), aftermath)
	defer cancel()
	_, drawn, err := asItIs(ctx, r.host, r.begun.about)
	r.note(fmt.Sprintf("not finished: %s; it may still go on\n", r.begun.words))
	switch {
	case err != nil:
		r.note(fmt.Sprintf("how it is now cannot be told: %v\n", err))
	case drawn != nil:
		r.note("as it is now:\n" + (&table{tree: drawn}).text(false, false))
	}
}
