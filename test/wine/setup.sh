#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh DIR: put a private Wine 10 with a ready prefix into DIR.
#
# It takes Debian trixie's packages, with their own C library, from the mirror
# that apt is configured with. Nothing is installed on the machine, nothing is
# mounted, root is not needed. A finished DIR is left as it is.
#
#   DIR/bin/wine PROGRAM [ARGUMENT...]   runs a Windows program
#   DIR/bin/wineserver -k                ends all that runs in the prefix
set -euo pipefail

target=$(realpath -m "${1:?usage: setup.sh DIR}")
stamp=$target/.ready-1
[[ -e $stamp ]] && exit 0

fail() { echo "setup.sh: $*" >&2; exit 1; }
[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || fail "needs Debian on amd64"
uri=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Identifier: Packages' 'Component: main' |
    awk '$2 == "bookworm" || $2 == "trixie" { print $1; exit }')
[[ -n $uri ]] || fail "apt knows no mirror of Debian 12 or 13"

root=$target/root
libraries=$root/usr/lib/x86_64-linux-gnu
loaders=$root/usr/lib/wine

download() {
    local apt=$target/apt
    mkdir -p "$apt"/{lists/partial,cache/archives/partial,state} "$target/packages"
    : >"$apt/status"
    echo "deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri trixie main" >"$apt/sources.list"
    local options=(
        -qq
        -o APT::Architecture=amd64 -o APT::Sandbox::User=root
        -o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State="$apt/state" -o Dir::State::lists="$apt/lists" -o Dir::State::status="$apt/status"
        -o Dir::Cache="$apt/cache"
        -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Retries=3
    )
    apt-get "${options[@]}" update
    (cd "$target/packages" && apt-get "${options[@]}" download \
        wine64 libwine libc6 libunwind8 liblzma5 libgcc-s1 libstdc++6 libz-mingw-w64 patchelf)
}

unpack() {
    mkdir -p "$root"
    local package
    for package in "$target"/packages/*.deb; do
        dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" \
            --exclude='*/i386-windows/*' --exclude='./usr/share/doc/*' --exclude='./usr/share/locale/*'
    done
}

# What the package's own installation does: zlib1.dll, marked as Wine's.
mark_zlib() {
    local dll=$root/usr/x86_64-w64-mingw32/lib/zlib1.dll
    { head -c 64 "$dll"; printf 'Wine builtin DLL'; head -c 16 /dev/zero; tail -c +97 "$dll"; } \
        >"$libraries/wine/x86_64-windows/zlib1.dll"
}

# The programs shall run on the C library beside them.
bind_libraries() {
    local loader=$libraries/ld-linux-x86-64.so.2 program
    for program in "$loaders/wine64" "$loaders/wineserver64"; do
        "$loader" --library-path "$libraries" "$root/usr/bin/patchelf" \
            --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$program"
    done
    printf '#!/bin/sh\nexec %q -p15 "$@"\n' "$loaders/wineserver64" >"$loaders/wineserver"
    ln -sfn . "$root/usr/share/wine/wine" # where wineserver looks for its nls files
}

# command NAME PROGRAM: a start script that brings its whole environment.
command_script() {
    cat >"$target/bin/$1" <<SCRIPT
#!/bin/sh
unset DISPLAY WAYLAND_DISPLAY WINESERVER WINELOADER WINEDLLPATH LD_LIBRARY_PATH
export WINEPREFIX="\${WINEPREFIX:-$target/prefix}" HOME="$target/home" XDG_RUNTIME_DIR="$target/home"
export WINEDEBUG="\${WINEDEBUG:--all}" WINEDLLOVERRIDES="\${WINEDLLOVERRIDES:-winemenubuilder.exe,mscoree,mshtml=}"
exec "$2" "\$@"
SCRIPT
    chmod +x "$target/bin/$1"
}

# A prefix without a display driver, for which each start of a service would
# wait, and without drivers for hardware that is not there.
make_prefix() {
    local wine=$target/bin/wine service
    "$wine" wineboot -i 2>/dev/null
    "$wine" reg add 'HKCU\Software\Wine\Drivers' /v Graphics /d null /f >/dev/null
    for service in winebth winebus wineusb winehid; do
        "$wine" reg add "HKLM\\System\\CurrentControlSet\\Services\\$service" /v Start /t REG_DWORD /d 4 /f >/dev/null
    done
    "$target/bin/wineserver" -k || true
    "$target/bin/wineserver" -w || true
    [[ $("$wine" cmd /c 'echo ok' | tr -d '\r') == ok ]] || fail "Wine does not run"
}

rm -rf "$target"/{root,apt,packages,prefix,home,bin}
mkdir -p "$target"/{home,bin}
chmod 700 "$target/home"
download
unpack
mark_zlib
bind_libraries
command_script wine "$loaders/wine64"
command_script wineserver "$loaders/wineserver64"
make_prefix
rm -rf "$target"/{packages,apt}
touch "$stamp"
