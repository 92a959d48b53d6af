#!/bin/sh
# fuzz.sh TIME: run each fuzz target of the library for a time. What one finds
# stands in testdata/fuzz of its package then, and is committed with the fix.
set -eu
cd "$(dirname "$0")/.."
grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u | while read -r package; do
  grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/^func //' | while read -r target; do
    echo "fuzz $package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 1s
  done
done
