#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# wine.sh FILE: build the lab and write to a file what the benchmarks under $WINE
# say. test/wine/run.sh starts it, with GOOS and GOARCH set for Windows.
set -euo pipefail
file=$(realpath -m "$1")
cd "$(dirname "$0")/../.."

lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT
make -s -C test/lab/src OUT="$lab"
export LAB_FILES=Z:${lab//\//\\} WINE_TEST_LIMIT=600

go test -vet=off -exec "$PWD/test/wine/exec.sh" -run '^$' -bench 'Lab|Wine' -benchtime "${LABTIME:-5x}" ./test/bench | tee "$file"
