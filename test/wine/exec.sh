#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# exec.sh PROGRAM [ARGUMENT...]: what "go test -exec" starts a test binary with:
# $WINE, and a limit for a call that never returns.
set -euo pipefail

exec timeout --kill-after=5 "${WINE_TEST_LIMIT:-180}" "$WINE" "$@"
