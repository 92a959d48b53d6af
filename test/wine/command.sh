#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# command.sh: check csi-proxy.exe under $WINE. run.sh starts it, with GOOS and
# GOARCH set for Windows.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(mktemp -d)/csi-proxy.exe
trap 'rm -rf "${program%/*}"' EXIT
(cd proxy && go build -o "$program" ./cmd/csi-proxy)

# check ARGUMENT...: the command succeeds. Its output is $output.
check() {
    echo "csi-proxy $*"
    output=$(timeout --kill-after=5 30 "$WINE" "$program" "$@" | tr -d '\r') || {
        echo "csi-proxy $*: exit code $?" >&2
        exit 1
    }
}

check version
