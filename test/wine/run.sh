#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh [DIR [COMMAND [ARGUMENT...]]]: run what can run of the Windows build
# under Wine: the tests of the packages listed in ./packages, the checks of
# command.sh and the lab; or a command with $WINE. Wine stays in DIR (by default
# .wine in the top folder) for the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."

dir=$(realpath -m "${1:-.wine}")
mkdir -p "$dir"
exec 9>"$dir/.lock"
flock 9 # one run at a time in one prefix
test/wine/setup.sh "$dir"

export WINE=$dir/bin/wine GOOS=windows GOARCH=amd64 CGO_ENABLED=0

# Programs start faster while another one runs in the prefix.
keep=$(mktemp -d)
go build -o "$keep/keep.exe" ./test/wine/keep
mkfifo "$keep/input"
"$WINE" "$keep/keep.exe" <"$keep/input" >/dev/null 2>&1 9>&- &
exec 8>"$keep/input"
finish() {
    exec 8>&-
    "$dir/bin/wineserver" -k || true
    "$dir/bin/wineserver" -w || true
    rm -rf "$keep"
}
trap finish EXIT

if (($# > 1)); then
    "${@:2}"
    exit
fi
# Pointers into COM's and Windows' memory are checked (field-reports.md L14).
mapfile -t packages < <(grep -v '^#' test/wine/packages)
go test -count=1 -vet=off -gcflags=-d=checkptr -exec "$PWD/test/wine/exec.sh" "${packages[@]}"
export RESULTS=$dir # of the conformance suite, for its page
test/conformance/run.sh "$RESULTS/conformance-wine.json" -exec "$PWD/test/wine/exec.sh" ./test/conformance
test/wine/command.sh
test/lab/run.sh
