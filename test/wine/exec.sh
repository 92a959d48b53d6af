#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# exec.sh PROGRAM [ARGUMENT...]: what "go test -exec" starts a test binary with:
# $WINE, and a limit for a call that never returns.
set -euo pipefail

# Go stops a running thread to take its turn away, and changes its registers. One
# run in Wine has ended with a broken heap, and this is what is suspected.
export GODEBUG=asyncpreemptoff=1${GODEBUG:+,$GODEBUG}
exec timeout --kill-after=5 "${WINE_TEST_LIMIT:-180}" "$WINE" "$@"
