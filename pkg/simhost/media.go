// SPDX-License-Identifier: Apache-2.0

package simhost

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/win"
)

const mediaPage = 4096

// media are the bytes of a medium. Only pages that are not zeros take memory; the
// rest reads as zeros. A nil *media must not be used.
type media struct {
	pages      map[int64]*[mediaPage]byte // by offset / mediaPage
	unreadable []unreadable
}

// unreadable is a range that cannot be read.
type unreadable struct {
	offset, length int64
	code           win.Errno
}

func newMedia() *media { return &media{pages: map[int64]*[mediaPage]byte{}} }

// readAt fills p from offset. A request that touches an unreadable range fails
// as a whole, as a disk's does.
func (m *media) readAt(p []byte, offset int64) error {
	end := offset + int64(len(p))
	for _, u := range m.unreadable {
		if offset < u.offset+u.length && u.offset < end {
			return u.code
		}
	}
	m.bytesAt(p, offset)
	return nil
}

// bytesAt fills p from offset, whether the range can be read or not.
func (m *media) bytesAt(p []byte, offset int64) {
	m.each(offset, int64(len(p)), func(page *[mediaPage]byte, _, from, to, done int64) {
		chunk := p[done : done+to-from]
		clear(chunk)
		if page != nil {
			copy(chunk, page[from:to])
		}
	})
}

// writeAt stores p at offset.
func (m *media) writeAt(p []byte, offset int64) {
	m.each(offset, int64(len(p)), func(page *[mediaPage]byte, index, from, to, done int64) {
		part := p[done:][:to-from]
		if page == nil {
			if isZero(part) {
				return
			}
			page = new([mediaPage]byte)
			m.pages[index] = page
		}
		copy(page[from:to], part)
	})
}

func isZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

// zero clears a range.
func (m *media) zero(offset, length int64) {
	end := offset + length
	for index, page := range m.pages {
		start := index * mediaPage
		from, to := max(offset-start, 0), min(end-start, mediaPage)
		if from == 0 && to == mediaPage {
			delete(m.pages, index)
		} else if from < to {
			clear(page[from:to])
		}
	}
}

// each calls f for the parts of a range: the page (nil where none was written),
// its index, the part's bounds in it, and how much of the range comes before.
func (m *media) each(offset, length int64, f func(page *[mediaPage]byte, index, from, to, done int64)) {
	for done := int64(0); done < length; {
		index, from := (offset+done)/mediaPage, (offset+done)%mediaPage
		to := min(mediaPage, from+length-done)
		f(m.pages[index], index, from, to, done)
		done += to - from
	}
}

// fingerprint tells media apart: a checksum over what is not zero.
func (m *media) fingerprint() string {
	h := fnv.New64a()
	for _, index := range slices.Sorted(maps.Keys(m.pages)) {
		if page := m.pages[index]; *page != [mediaPage]byte{} {
			fmt.Fprintf(h, "%d:", index)
			h.Write(page[:])
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
