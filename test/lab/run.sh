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
export WINE_TEST_LIMIT=${WINE_TEST_LIMIT:-600}

flags=(-gcflags=-d=checkptr -exec "$PWD/test/wine/exec.sh")
run() { go test -count=1 -vet=off "${flags[@]}" "$@" ./test/lab; }

if (($# > 0)); then
    run "$@"
    exit
fi
run -skip '^TestConformance$'
test/conformance/run.sh "${RESULTS:-$out}/conformance-lab.json" "${flags[@]}" -run '^TestConformance$' ./test/lab

# Drivers may have either of Go's two ways to see links. Three nodes stand for
# the buses: NVMe, SCSI and a SAN's.
for links in 0 1; do
    GODEBUG=winsymlink=$links run -run 'Groups/./(aws-nitro|azure-scsi|san-fibre)$|Network|Files/(aws-nitro|azure-scsi|san-fibre)$'
done
