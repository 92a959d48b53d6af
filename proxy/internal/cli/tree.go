// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

func (a *app) treeCommand() *cobra.Command {
	return a.command("", verb{
		use:     "tree",
		aliases: []string{"overview"},
		short:   "Draw the disks with their partitions, volumes and mount paths",
		long: `What is wrong is marked with !: a disk that does not answer, is offline or
read-only, a volume without file system, with a foreign or damaged one or one to be
checked, a path of the mount manager where the volume is not mounted any more.

It fits 100 columns; -o wide cuts nothing.`,
		example: "tree --host sim:azure-scsi",
		read:    readTree,
	})
}

func readTree(ctx context.Context, h *host, _ []string) (*table, error) {
	disks, err := h.disk.ListDisks(ctx)
	if err != nil {
		return nil, err
	}
	root := &branch{}
	t := &table{kind: kindDisk, tree: root}
	for _, d := range disks {
		if d.Number == diskapi.NoNumber { // by which it would be an item
			root.below = append(root.below, &branch{words: []string{"disk " + unknown, d.Path}, wrong: []string{unanswered(d.Err)}})
			continue
		}
		o, err := listedInFull(ctx, h, d)
		switch {
		case errors.Is(err, errdefs.ErrNotFound):
			continue // gone since it was listed
		case err != nil:
			return nil, err
		}
		t.items = append(t.items, o)
		root.below = append(root.below, diskBranch(o))
	}
	return t, nil
}

// listedInFull is a disk of a list with its partitions and volumes, as far as it
// answers. One that has just not answered is not waited for again.
func listedInFull(ctx context.Context, h *host, d disk.Description) (diskObject, error) {
	err := d.Err
	if !errors.Is(err, context.DeadlineExceeded) {
		var o diskObject
		if o, err = diskInFull(ctx, h, d.Number); err == nil || ctx.Err() != nil || errors.Is(err, errdefs.ErrNotFound) {
			return o, err
		}
	}
	o := described(d)
	o.Problems = append(o.Problems, unanswered(err))
	return o, nil
}

func unanswered(err error) string { return "does not answer: " + problem(err) }

// diskInFull is a disk with its partitions and volumes.
func diskInFull(ctx context.Context, h *host, number uint32) (diskObject, error) {
	details, err := h.disk.DescribeDisk(ctx, number)
	if err != nil {
		return diskObject{}, err
	}
	o := detailed(details)
	if o.State == stateName(true) && len(o.Partitions) > 0 {
		addVolumes(ctx, h, &o)
	}
	return o, nil
}

// treePatience is how long a tree waits for volumes that Windows has not made.
const treePatience = 2 * time.Second

// addVolumes puts a disk's volumes into its partitions.
func addVolumes(ctx context.Context, h *host, o *diskObject) {
	waiting, cancel := context.WithTimeout(ctx, treePatience)
	defer cancel()
	ids, err := volumesOn(waiting, h, o.Number, 0)
	if err != nil {
		o.Problems = append(o.Problems, err.Error())
		return
	}
	for _, id := range ids {
		d, err := h.volume.DescribeVolume(ctx, id)
		if err != nil {
			o.Problems = append(o.Problems, err.Error())
			continue
		}
		v := describedVolume(d)
		for _, e := range d.Extents {
			at := slices.IndexFunc(o.Partitions, func(p partitionObject) bool { return e.Disk == o.Number && e.Offset == p.OffsetBytes })
			if at >= 0 {
				o.Partitions[at].Volume = &v
			}
		}
	}
}

// branch is a node of a tree: some words, what is wrong, and what is below.
type branch struct {
	words []string
	wrong []string
	below []*branch
}

func (b *branch) say(words ...string) {
	for _, w := range words {
		if w != "" {
			b.words = append(b.words, w)
		}
	}
}

// leaf is a branch with nothing below it.
func leaf(words ...string) *branch {
	b := &branch{}
	b.say(words...)
	return b
}

// treeWidth is what fits a terminal.
const treeWidth = 100

// draw draws what is below a branch, behind an indent. Where it is not wide, lines
// are cut, and those that tell what is wrong are broken.
func (b *branch) draw(out *strings.Builder, indent string, wide bool) {
	for i, child := range b.below {
		fork, next := "├─ ", "│  "
		if i == len(b.below)-1 {
			fork, next = "└─ ", "   "
		}
		bar := "   "
		if len(child.below) > 0 {
			bar = "│  "
		}
		text := strings.Join(child.words, "  ")
		if !wide {
			text = cut(text, treeWidth-utf8.RuneCountInString(indent+fork))
		}
		out.WriteString(indent + fork + text + "\n")
		for _, wrong := range child.wrong {
			mark(out, indent+next+bar, wrong, wide)
		}
		child.draw(out, indent+next, wide)
	}
}

// mark writes what is wrong.
func mark(out *strings.Builder, indent, wrong string, wide bool) {
	lines := []string{wrong}
	if !wide {
		lines = wrap(wrong, treeWidth-utf8.RuneCountInString(indent+"! "))
	}
	for i, line := range lines {
		sign := "! "
		if i > 0 {
			sign = "  "
		}
		out.WriteString(indent + sign + line + "\n")
	}
}

// wrap breaks a text between words.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line+" "+w) > width {
			lines, line = append(lines, line), ""
		}
		line = cut(strings.TrimPrefix(line+" "+w, " "), width)
	}
	return append(lines, line)
}

func diskBranch(o diskObject) *branch {
	b := &branch{}
	// What tells it from its likes comes before what may be cut.
	b.say(fmt.Sprintf("disk %d", o.Number), sizeWord(o.SizeBytes), o.Style, serialWord(o), o.Bus, o.Product)
	switch {
	case o.State == "":
		b.wrong = append(b.wrong, "state unknown")
	case o.State == stateName(false) && o.OfflineReason != "" && o.OfflineReason != "none":
		b.wrong = append(b.wrong, "offline: "+o.OfflineReason)
	case o.State == stateName(false):
		b.wrong = append(b.wrong, "offline")
	}
	if o.ReadOnly != nil && *o.ReadOnly {
		b.wrong = append(b.wrong, "read-only")
	}
	b.wrong = append(b.wrong, o.Problems...)
	for _, p := range o.Partitions {
		b.below = append(b.below, partitionBranch(p))
	}
	return b
}

func sizeWord(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return size(bytes).String()
}

// serialWord is the shortest that tells a disk from its likes.
func serialWord(o diskObject) string {
	if serial := strings.TrimSpace(o.Serial); serial != "" {
		return "serial " + serial
	}
	if o.Page83 != "" {
		return "page 83 " + strings.TrimSpace(o.Page83)
	}
	return ""
}

func partitionBranch(p partitionObject) *branch {
	b := &branch{}
	b.say(fmt.Sprintf("partition %d", p.Number), sizeWord(p.SizeBytes), p.Type)
	if p.Volume != nil {
		b.below = append(b.below, volumeBranch(*p.Volume))
	}
	return b
}

func volumeBranch(v volumeObject) *branch {
	b := &branch{}
	b.say(v.ID, v.FileSystem, quoted(v.Label))
	if v.UsedBytes > 0 {
		b.say(size(v.UsedBytes).String() + " used")
	}
	switch {
	case v.Formatted == nil:
		b.wrong = append(b.wrong, "file system unknown")
	case !*v.Formatted && v.Content == contentEmpty:
		b.wrong = append(b.wrong, "RAW: not formatted")
	case !*v.Formatted:
		b.wrong = append(b.wrong, "RAW")
	}
	if v.ReadOnly != nil && *v.ReadOnly {
		b.wrong = append(b.wrong, "read-only")
	}
	if v.Dirty != nil && *v.Dirty {
		b.wrong = append(b.wrong, "dirty: Windows wants to check it")
	}
	b.wrong = append(b.wrong, v.Problems...)
	for _, m := range v.Mounts {
		mount := &branch{words: []string{m.Path}}
		if m.Stale {
			mount.wrong = []string{"stale: the volume is not mounted there any more"}
		}
		b.below = append(b.below, mount)
	}
	return b
}
