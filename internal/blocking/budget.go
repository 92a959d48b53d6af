// SPDX-License-Identifier: Apache-2.0

package blocking

import (
	"context"
	"time"
)

// How long an operation takes at most where its caller names no deadline.
const (
	QueryBudget  = 30 * time.Second
	ChangeBudget = 2 * time.Minute  // flush, mount, attributes
	LongBudget   = 10 * time.Minute // partition, format, grow
)

// WithBudget gives a context without a deadline one; most drivers pass
// context.Background(). cancel must be called when the operation has ended.
//
// Budgets bound how long a caller waits. So each caller of [Join] brings its
// own, and the flight has none: it goes on while somebody waits. A step in a
// flight gets a budget only where it must end before its callers' do.
func WithBudget(ctx context.Context, budget time.Duration) (bounded context.Context, cancel context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, budget)
}
