#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh FILE [ARGUMENT...]: go test -json of conformance cases into FILE. Of
# those that fail it prints what they said.
set -euo pipefail
if ! go test -count=1 -vet=off -json "${@:2}" >"$1"; then
    sed -n 's/.*"Action":"output".*"Output":"\(.*\)"}$/\1/p' "$1" | grep -vE "=== |--- (PASS|SKIP)| lacks " | sed 's/\\n$//; s/\\t/\t/g; s/\\"/"/g' >&2
    exit 1
fi
tail -n 1 "$1" | grep -q '"Action":"pass"'
echo "ok  	conformance: $(grep -c '"Action":"pass"' "$1") passed"
