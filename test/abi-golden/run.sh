#!/bin/sh
# run.sh: write internal/win/abi/testdata/golden.json from mingw-w64's headers.
# The bytes are read from the object files; nothing of Windows is run.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
out=$top/internal/win/abi/testdata/golden.json
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# The constants that Go spells as C does.
constants() {
  sed -nE "s/^[[:space:]]*([A-Z][A-Z0-9]*_[A-Z0-9_]+) +$1 *= .*/\\1/p" "$top"/internal/win/abi/*.go "$top/internal/win/codes.go" "$top/internal/win/services.go" | sort -u
}
{
  constants '(uint32|byte|ReparseTag|Errno|HRESULT)' | sed 's/.*/CONSTANT(&)/'
  constants 'uint64' | sed 's/.*/CONSTANT64(&)/'
} >"$tmp/constants.inc"

# In the order of the source, and no section padded beyond what C asks for.
compile() {
  x86_64-w64-mingw32-gcc -std=gnu11 -Wall -Werror -O0 -fno-toplevel-reorder -malign-data=abi -I "$tmp" -I "$here" "$@"
}
compile -c "$here/golden.c" -o "$tmp/golden.o"
ddk=$(echo '#include <ddk/mountmgr.h>' | compile -E -x c - | sed -n 's|^# 1 "\(.*/ddk\)/mountmgr.h".*|\1|p')
compile -I "$ddk" -c "$here/golden_ddk.c" -o "$tmp/golden_ddk.o"

mkdir -p "$(dirname "$out")"
(cd "$top" && go run ./test/abi-golden/extract "$tmp/golden.o" "$tmp/golden_ddk.o") >"$tmp/golden.json"
mv "$tmp/golden.json" "$out"
