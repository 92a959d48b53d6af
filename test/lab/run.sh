#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [FLAG...]: build the lab and run its tests under $WINE, with the flags
# for go test. test/wine/run.sh starts it, with GOOS and GOARCH set for Windows.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
make -s -C test/lab/src OUT="$out"
export LAB_FILES=Z:${out//\//\\}
go test -count=1 -vet=off -gcflags=-d=checkptr -exec "$PWD/test/wine/exec.sh" "$@" ./test/lab
