#!/bin/sh
# cross.sh OS/ARCH...: build, vet and compile the tests of every module for each
# target, and build for darwin what drivers import in their own tests. Tests that
# can run here are compiled when they do.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
export CGO_ENABLED=0
here=$(go env GOHOSTOS)/$(go env GOHOSTARCH)
for target; do
  for module in "$top" "$top/proxy"; do
    cd "$module"
    echo "cross $target $(basename "$module")"
    GOOS=${target%/*} GOARCH=${target#*/} go build ./...
    GOOS=${target%/*} GOARCH=${target#*/} go vet ./...
    [ "$target" = "$here" ] || GOOS=${target%/*} GOARCH=${target#*/} go test -c -ldflags=-w -o /dev/null ./...
  done
done
cd "$top"
echo "cross darwin/arm64 library"
GOOS=darwin GOARCH=arm64 go build ./...
