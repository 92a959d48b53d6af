// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/blocking"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// ListDisks describes every disk, by number. What a disk did not tell, or not
// within 5 s, is in its Err; if that is its number, it stands at the end.
func (d *Disk) ListDisks(ctx context.Context) ([]Description, error) {
	disks, err := d.host.ListDisks(ctx)
	return disks, errdefs.Wrap("disk.ListDisks", "", err)
}

// FindDisk is the one disk that matches. None is ErrNotFound, or ErrUnavailable
// where a disk did not tell all of itself, because that may be the one. Several
// are ErrFailedPrecondition: none of them is picked. A matcher without a value
// is ErrInvalidArgument. Each of these errors lists the disks that came into
// question.
//
// The number lasts only while the disk is attached, so look again rather than
// keep it.
func (d *Disk) FindDisk(ctx context.Context, m Matcher) (Description, error) {
	const op = "disk.FindDisk"
	if m.empty() {
		return Description{}, errdefs.Wrap(op, m.String(), d.noValue(ctx))
	}
	found, err := d.find(ctx, m)
	return found, errdefs.Wrap(op, m.String(), err)
}

// WaitForDisk is FindDisk for a disk that may not have arrived yet: where none
// matches it rescans, and looks again when Windows tells of an arrival, or every
// second where it tells of none, until ctx ends, at most 2 minutes if ctx has no
// deadline. The error is then the context's and says what was found last.
// Rescanning is no more than a help: its errors do not end the wait.
func (d *Disk) WaitForDisk(ctx context.Context, m Matcher) (Description, error) {
	const op = "disk.WaitForDisk"
	if m.empty() {
		return Description{}, errdefs.Wrap(op, m.String(), d.noValue(ctx))
	}
	ctx, cancel := blocking.WithBudget(ctx, blocking.ChangeBudget)
	defer cancel()
	arrived, stop := d.host.DiskArrivals(ctx)
	defer stop()
	w := wait{rescan: d.host.Rescan, arrived: arrived, soon: looksAtArrival}
	var last error
	for {
		found, err := d.find(ctx, m)
		switch {
		case err == nil:
			return found, nil
		case ctx.Err() != nil && last != nil: // err says no more than that
		case !errors.Is(err, errdefs.ErrNotFound) && !errors.Is(err, errdefs.ErrUnavailable):
			return found, errdefs.Wrap(op, m.String(), err)
		default:
			last = err
		}
		if w.next(ctx); ctx.Err() != nil {
			last = errors.Join(last, w.rescanErr)
			return found, errdefs.As(errdefs.KindOf(ctx.Err()), op, m.String(), fmt.Errorf("%w: %w", ctx.Err(), last))
		}
	}
}

// empty reports that the matcher has no value to look for, and so could match
// anything.
func (m Matcher) empty() bool { return m.want == "" || m.matches == nil }

// noValue is the error of an empty matcher.
func (d *Disk) noValue(ctx context.Context) error {
	disks, err := d.host.ListDisks(ctx)
	if err != nil {
		return errdefs.New(errdefs.InvalidArgument, "", "", "the matcher has no value to look for, and the disks cannot be listed: %w", err)
	}
	return fmt.Errorf("%w: the matcher has no value to look for; there are %s", errdefs.ErrInvalidArgument, candidates(disks))
}

// find is FindDisk without the checks of its argument.
func (d *Disk) find(ctx context.Context, m Matcher) (Description, error) {
	disks, err := d.host.ListDisks(ctx)
	if err != nil {
		return Description{}, err
	}
	var found []Description
	var unread []error
	for _, disk := range disks {
		switch {
		case m.matches(disk):
			found = append(found, disk)
		case !disk.Identified():
			unread = append(unread, fmt.Errorf("%s: %w", disk.Path, disk.Err))
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Description{}, fmt.Errorf("%w: %d disks match: %s", errdefs.ErrFailedPrecondition, len(found), candidates(found))
	case len(unread) > 0:
		return Description{}, fmt.Errorf("%w: no disk matches, but not all could be read: %w", errdefs.ErrUnavailable, errors.Join(unread...))
	}
	return Description{}, fmt.Errorf("%w: no disk matches; there are %s", errdefs.ErrNotFound, candidates(disks))
}
