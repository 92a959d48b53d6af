#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# command.sh: check csi-proxy.exe under $WINE. run.sh starts it, with GOOS and
# GOARCH set for Windows.
#
# Wine has a C: with real files and sizes, but neither disks with partitions nor
# storage WMI, and mounts nothing at folders (wine.md 3).
set -euo pipefail
cd "$(dirname "$0")/../.."

program=$(mktemp -d)/csi-proxy.exe
trap 'rm -rf "${program%/*}"' EXIT
(cd proxy && go build -o "$program" ./cmd/csi-proxy)

fail() {
    echo "csi-proxy $*" >&2
    cat "$program.errors" >&2
    exit 1
}

# check CODE ARGUMENT...: the command ends with that exit code. What it writes to
# standard output is $output.
check() {
    local want=$1 code=0
    shift
    echo "csi-proxy $*"
    output=$(timeout --kill-after=5 60 "$WINE" "$program" "$@" </dev/null 2>"$program.errors" | tr -d '\r') || code=$?
    if ((code)); then grep -q '^error: ' "$program.errors" || fail "$*: no error is told"; fi
    ((code == want)) || fail "$*: exit code $code, not $want"
}

# says TEXT: the last command wrote it.
says() { [[ $output == *"$1"* ]] || fail "wrote, without '$1': $output"; }

check 0 version
says windows/amd64

# Disks. Wine lists none, but answers some questions about a first one.
check 0 disk list
says "DISK"
check 0 disk ids
check 0 disk locations
check 0 disk stats 0
check 3 disk stats 7
check 2 disk stats C:
check 6 disk state 0
check 1 --yes disk partition 0 # whose critical volumes cannot be told
check 2 disk partition 0       # without a yes

# Volumes: the drives.
volume='\\?\Volume{00000000-0000-0000-0000-000000000043}\'
check 0 volume list
says "$volume"
says ' C:\ '
check 0 volume closest 'C:\windows'
[[ $output == "$volume" ]] || fail "volume closest: $output"
for name in 'C:\' 'c:/' C: "$volume" "${volume%\\}"; do
    check 0 volume stats "$name"
    says 0000-000000000043
    says GiB
done
check 0 volume formatted 'C:\'
[[ $output == yes ]] || fail "volume formatted: $output"
check 3 volume of 'C:\windows'
check 3 volume stats '\\?\Volume{eeeeeeee-0000-4000-8000-000000000001}\'
check 2 volume stats '\\?\Volume{1}\'
check 1 --yes volume format 'C:\' # it is the boot volume, or may be

# Paths, with real effect on C:.
folder='C:\csi-proxy-command'
exists() { # exists PATH yes|no: with the command, and with Windows' own
    check 0 filesystem exists "$1"
    [[ $output == "$2" ]] || fail "filesystem exists $1: $output"
    output=$("$WINE" cmd /c "if exist $1 (echo yes) else (echo no)" | tr -d '\r\n ')
    [[ $output == "$2" ]] || fail "$1 is there: $output, not $2"
}
check 0 --yes fs rmdir "$folder" --force # of a run that was cut off
exists "$folder" no
check 2 fs mkdir "$folder" # without a yes
exists "$folder" no
check 0 --yes fs mkdir "$folder\\a\\b"
exists "$folder\\a\\b" yes
check 0 --yes fs mkdir "$folder\\a\\b" # again
check 1 --yes fs rmdir "$folder"       # is not empty
exists "$folder\\a\\b" yes
check 0 --yes fs rmdir "$folder\\a\\b"
exists "$folder\\a\\b" no
exists "$folder\\a" yes
check 0 --yes fs rmdir-contents "$folder"
exists "$folder\\a" no
exists "$folder" yes
check 3 --yes fs rmdir "$folder\\a"
check 0 --yes fs rmdir "$folder"
exists "$folder" no
check 3 --yes fs link "$folder" 'C:\csi-proxy-link' # the source is missing
check 2 fs exists 'C:\a\..\b'
check 0 fs is-link 'C:\windows'
[[ $output == no ]] || fail "filesystem is-link: $output"
check 0 fs valid C:
[[ $output == yes ]] || fail "filesystem valid: $output"
check 0 fs valid 'Y:\missing'
[[ $output == no ]] || fail "filesystem valid: $output"

# The system.
check 0 system bios
[[ -n $output ]] || fail "system bios: no serial number"
check 0 system service plugplay
says 'plugplay  Running'
check 3 system service 'PlugPl*'
check 0 --yes system start PlugPlay
check 2 system start PlugPlay # without a yes
check 4 --yes system stop RpcSs --force
check 3 --yes system stop no-such-service

# The simulated node is the same here.
check 0 disk list --host sim:vsphere-pvscsi
says 6000c2957a5d0e1b2c3d4e5f60718293
check 0 demo --node vsphere-pvscsi
says 'vsphere-pvscsi'
