// SPDX-License-Identifier: Apache-2.0

// Mutants plants mistakes in the library, one at a time, and tells which of them
// no test catches (docs/testing.md, "Mutants").
//
//	mutants                       the hand-written ones
//	mutants -seed 7 -count 20     twenty at random
//
// The work tree is never touched: a mutant is an overlay of one file. It ends
// with "caught N of M", and fails where fewer are caught than must be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	seed := flag.Uint64("seed", 0, "where the random choice begins; 0 takes the hand-written mutants")
	count := flag.Int("count", 20, "how many at random")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *seed, *count); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, seed uint64, count int) (err error) {
	tree, err := loadTree(ctx)
	if err != nil {
		return err
	}
	least, choose := 100, tree.planted
	if seed != 0 {
		least, choose = 90, func() ([]mutant, error) { return tree.random(seed, count) }
	}
	mutants, err := choose()
	if err != nil {
		return err
	}
	runner, err := newRunner(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.close()) }()
	return runner.all(ctx, mutants, least)
}

// all runs the tests on each mutant. least is how many of a hundred must be
// caught.
func (r *runner) all(ctx context.Context, mutants []mutant, least int) error {
	caught := 0
	for i, m := range mutants {
		begin := time.Now()
		by, err := r.catch(ctx, m)
		if err != nil {
			return fmt.Errorf("%s: %w", m, err)
		}
		verdict := "caught by " + by
		if by == "" {
			verdict = "SURVIVED"
		} else {
			caught++
		}
		fmt.Printf("%2d  %s: %s (%.0fs)\n", i+1, m, verdict, time.Since(begin).Seconds())
		if by == "" {
			fmt.Println(r.diff(ctx, m))
		}
	}
	fmt.Printf("caught %d of %d\n", caught, len(mutants))
	if 100*caught < least*len(mutants) {
		return fmt.Errorf("fewer than %d%%", least)
	}
	return nil
}
