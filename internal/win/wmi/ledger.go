// SPDX-License-Identifier: Apache-2.0

package wmi

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/errdefs"
)

// Unfinished is a method that was begun and whose end is not known.
type Unfinished struct {
	Namespace string
	Class     string
	Method    string
	Path      string // of the object; "" for a static method
	On        string // what a static method acts on
	Since     time.Time
	Lost      bool // its worker was left behind
}

func newEntry(namespace string, m Method) Unfinished {
	return Unfinished{Namespace: namespace, Class: m.Class, Method: m.Name, Path: m.Path, On: m.On, Since: time.Now()}
}

// key is what a method acts on: its object, or for a static one itself and On.
// WMI does not tell the case of names apart.
func (u Unfinished) key() string {
	object := relative(u.Path)
	if object == "" {
		object = u.Class + "." + u.Method + "\x00" + u.On
	}
	return strings.ToLower(u.Namespace + "\x00" + object)
}

// Unfinished lists the methods that were begun and have not ended, oldest
// first: those that run, whether or not their callers still wait, and those in
// workers left behind.
func (c *Client) Unfinished() []Unfinished {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]Unfinished, 0, len(c.ledger))
	for _, u := range c.ledger {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b Unfinished) int {
		if n := a.Since.Compare(b.Since); n != 0 {
			return n
		}
		return strings.Compare(a.key(), b.key())
	})
	return list
}

// begin enters a method into the ledger: from here on it is started and cannot
// be withdrawn. It refuses where nobody waits for it any more, and where a lost
// method may still be at work on the same object.
func (c *Client) begin(ctx context.Context, j *job, entry Unfinished) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, u := range c.ledger {
		if u.Lost && u.key() == entry.key() {
			return fmt.Errorf("%w: %s.%s, begun %s ago, has not ended on the same object",
				errdefs.ErrResourceExhausted, u.Class, u.Method, time.Since(u.Since).Round(time.Second))
		}
	}
	j.begun = true
	c.ledger[j] = entry
	return nil
}

func (c *Client) end(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ledger, j)
}

// withdraw takes a job back. It fails for a method that has begun.
func (c *Client) withdraw(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !j.begun
}
