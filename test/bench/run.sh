#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh: run all benchmarks, on simulated nodes and under Wine, and write their
# tables to docs/performance.md.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

go test -run '^$' -bench . -benchtime "${BENCHTIME:-50ms}" -timeout 20m ./test/bench | tee "$out/node"
test/wine/run.sh .wine test/bench/wine.sh "$out/wine"
go run ./test/bench/page "$out/node" "$out/wine" >"$out/page"
mv "$out/page" docs/performance.md
