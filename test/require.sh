#!/bin/sh
# require.sh COMMAND...: make sure that each command is there, from Debian's
# packages where it is not.
set -eu
for command; do
  command -v "$command" >/dev/null && continue
  case $command in
    x86_64-w64-mingw32-gcc) package=gcc-mingw-w64-x86-64 ;;
    gcc) package='gcc libc6-dev' ;;
    *) package=$command ;;
  esac
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "$command is needed: install $package" >&2
    exit 1
  fi
  echo "installing $package for $command" >&2
  apt-get update -qq
  # shellcheck disable=SC2086 # a list of packages
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $package >/dev/null
done
