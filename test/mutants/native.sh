#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# native.sh: plant mistakes in internal/win/native, one at a time, and see that
# the lab catches each. test/wine/run.sh starts it: test/wine/run.sh .wine
# test/mutants/native.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
export WINE_TEST_LIMIT=90

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
native=internal/win/native

# lab [FLAG...]: the tests that see all of the native layer, on one node.
lab() { test/lab/run.sh -short -failfast -run 'Disks|Access|Files|WMI|Groups' "$@" >"$out/log" 2>&1; }

lab || { cat "$out/log"; echo "the lab does not pass as it is" >&2; exit 1; }

planted=0 missed=0
# plant NAME FILE SED-SCRIPT
plant() {
    sed -E "$3" "$native/$2" >"$out/$2"
    cmp -s "$native/$2" "$out/$2" && { echo "$1: the script changes nothing in $2" >&2; exit 1; }
    printf '{"Replace": {"%s": "%s"}}' "$PWD/$native/$2" "$out/$2" >"$out/overlay.json"
    go build -overlay="$out/overlay.json" "./$native" || { echo "$1: does not compile" >&2; exit 1; }
    planted=$((planted + 1))
    if lab -overlay="$out/overlay.json"; then
        missed=$((missed + 1))
        echo "MISSED: $1"
    else
        echo "caught: $1: $(grep -m1 -oE '(_test.go:[0-9]+: .*|panic: .*)' "$out/log" | cut -c1-100 || echo 'the process died')"
    fi
}

plant 'swapped halves of an offset' devices_windows.go \
    's/Offset: uint32\(offset\), OffsetHigh: uint32\(offset >> 32\)/Offset: uint32(offset >> 32), OffsetHigh: uint32(offset)/'
plant 'wrong length of a buffer' handle_windows.go \
    's/first\(out\), uint32\(len\(out\)\)/first(out), uint32(len(in))/'
plant 'more access than asked for' devices_windows.go \
    's/CreateFile\(&name\[0\], uint32\(access\)/CreateFile(\&name[0], uint32(access)|windows.GENERIC_READ/'
plant 'start of the path in a structure' devices_windows.go \
    's/detail\[start:\]/detail[start+1:]/'
plant 'handle that is not closed' handle_windows.go \
    's/^\treturn windows\.CloseHandle\(h\.value\)$/\treturn nil/'
plant 'missing flag of an open' files_windows.go \
    's/windows\.FILE_OPEN_REPARSE_POINT \| //'
plant 'dropped backslash' files_windows.go \
    's/name = `\\\?\?\\` \+ rest/name = `\\??` + rest/'
plant 'code that stays an NTSTATUS' files_windows.go \
    's/return nil, win32\(err\)/return nil, err/'
plant 'list that goes on instead of anew' files_windows.go \
    's/class = abi\.FileIDBothDirectoryRestartClass/class = abi.FileIDBothDirectoryInfoClass/'
plant 'swapped arguments of a mount' mounts_windows.go \
    's/SetVolumeMountPoint\(&point\[0\], &name\[0\]\)/SetVolumeMountPoint(\&name[0], \&point[0])/'
plant 'missed error' mounts_windows.go \
    's/return windows\.DeleteVolumeMountPoint\(&point\[0\]\)/_ = windows.DeleteVolumeMountPoint(\&point[0])\n\treturn nil/'
plant 'wrong vtable slot' wmi_windows.go \
    's/^(\tslotServicesExecQuery +=) 20/\1 22/'
plant 'wrong method name' wmi_windows.go \
    's/name, err := s\.com\.newString\(method\)/name, err := s.com.newString(path)/'
plant 'parameters for a method that takes none' wmi_windows.go \
    's/if signature == nil \{/if signature == nil \&\& len(in) > 0 {/'
plant 'missing Release' wmi_windows.go \
    's/^\tr\.com\.release\(r\.enum\)$//'
plant 'string that is not freed' wmi_windows.go \
    's/^\tdefer s\.com\.free\(text\)$/\t_ = text/'
plant 'less than packet privacy' com_windows.go \
    's/packetPrivacy( +)= 6/packetPrivacy\1= 5/'
plant 'wrong width of a number' variant_windows.go \
    's/return \*\(\*int32\)\(p\), nil/return int32(*(*int16)(p)), nil/'

echo "$planted planted, $((planted - missed)) caught"
((missed == 0))
