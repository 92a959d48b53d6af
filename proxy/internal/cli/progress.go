// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// foot is standard error, at whose foot a line may stand that is written anew as
// things go on. It uses nothing but carriage returns and blanks, which every
// terminal knows.
type foot struct {
	mu    sync.Mutex
	out   io.Writer
	shown int // columns of the line that stands there
}

// Write writes above the line.
func (f *foot) Write(text []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.erase()
	return f.out.Write(text)
}

// draw puts a line in the place of that which stands there.
func (f *foot) draw(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	columns := utf8.RuneCountInString(line)
	f.put("\r" + line + strings.Repeat(" ", max(0, f.shown-columns)))
	f.shown = columns
}

// remove takes the line away.
func (f *foot) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.erase()
}

func (f *foot) erase() {
	if f.shown > 0 {
		f.put("\r" + strings.Repeat(" ", f.shown) + "\r")
		f.shown = 0
	}
}

// put writes what nobody misses where it cannot be written.
func (f *foot) put(text string) { _, _ = io.WriteString(f.out, text) }

// line is a line at the foot.
func (f *foot) line() *footLine { return &footLine{foot: f} }

// footLine tells a person who waits what is going on: the operation and what it
// is done to, how long it has taken, and how things stand as far as that is
// known. A nil one tells nothing.
type footLine struct {
	foot *foot
	stop context.CancelFunc
	gone chan struct{} // closed when the line is gone for good
}

// How often the line is written anew, which is also how long a command may take
// without one, and how many columns it has: more would break it on a narrow
// terminal, and a broken one cannot be taken away.
const (
	lineInterval = time.Second
	lineWidth    = 79
)

// show shows the line until ctx ends, or it is cleared. What standing says is
// shown as it comes; nil says nothing.
func (l *footLine) show(ctx context.Context, words string, standing func(context.Context) string) {
	if l == nil {
		return
	}
	l.clear()
	ctx, l.stop = context.WithCancel(ctx)
	l.gone = make(chan struct{})
	go func() {
		defer close(l.gone)
		defer l.foot.remove()
		l.tick(ctx, words, standings(ctx, standing))
	}()
}

// clear takes the line away, if there is one.
func (l *footLine) clear() {
	if l == nil || l.stop == nil {
		return
	}
	l.stop()
	<-l.gone
	l.stop = nil
}

func (l *footLine) tick(ctx context.Context, words string, standings <-chan string) {
	begun, ticker := time.Now(), time.NewTicker(lineInterval)
	defer ticker.Stop()
	var stands string
	for {
		select {
		case <-ctx.Done():
			return
		case stands = <-standings:
		case <-ticker.C:
			l.foot.draw(progressLine(words, time.Since(begun), stands))
		}
	}
}

// standings are what standing says, first before the line is shown, and again a
// while after each answer: what is quick costs no question, and a host that hangs
// is asked once.
func standings(ctx context.Context, standing func(context.Context) string) <-chan string {
	if standing == nil {
		return nil
	}
	said := make(chan string)
	go func() {
		for pause := lineInterval / 2; ; pause = lineInterval {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			select {
			case said <- standing(ctx):
			case <-ctx.Done():
				return
			}
		}
	}()
	return said
}

// progressLine cuts the words, if need be, and nothing else.
func progressLine(words string, elapsed time.Duration, stands string) string {
	rest := "  " + elapsed.Truncate(time.Second).String()
	if stands != "" {
		rest += "  " + cut(stands, lineWidth/2)
	}
	return cut(words, lineWidth-utf8.RuneCountInString(rest)) + rest
}
