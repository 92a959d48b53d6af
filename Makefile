# The two commands that matter:
#   make demo   one disk of each shipped node from attach to detach
#   make test   everything that needs neither Windows nor Wine
# Each installs what it needs (on Debian as root) and can be run alone.

GO       ?= go
MODULES  := . proxy
TARGETS  ?= linux/amd64 windows/amd64
LINT     := v2.15.0
export CGO_ENABLED ?= 1
export GOFLAGS ?= -buildvcs=false

.PHONY: demo test unit cross tidy lint abi-golden test-wine test-lab conformance test-windows fuzz mutants faults bench build clean

demo:
	$(GO) run ./proxy/cmd/csi-proxy demo

test: cross tidy unit

# Race detector on; the fuzz targets run their seeds; cross has vetted. What the
# pages show is run whatever go has in its cache, which does not see that a page
# has changed.
unit:
	test/require.sh gcc
	for m in $(MODULES); do (cd $$m && $(GO) test -race -vet=off ./...) || exit 1; done
	cd proxy && $(GO) test -race -vet=off -count=1 ./test/docs

# Everything vets and its tests compile for each target, in .ci/run also for
# windows/arm64; what drivers import builds elsewhere, too.
cross:
	test/cross.sh $(TARGETS)

# go.mod and go.sum say what the code needs, each module alone.
tidy:
	for m in $(MODULES); do (cd $$m && GOWORK=off $(GO) mod tidy -diff) || exit 1; done

lint: .tools/golangci-lint-$(LINT)
	for m in $(MODULES); do (cd $$m && "$(CURDIR)/.tools/golangci-lint-$(LINT)" run ./...) || exit 1; done
	for m in $(MODULES); do (cd $$m && GOOS=windows CGO_ENABLED=0 "$(CURDIR)/.tools/golangci-lint-$(LINT)" run ./...) || exit 1; done

.tools/golangci-lint-$(LINT):
	GOWORK=off GOBIN="$(CURDIR)/.tools" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT)
	mv .tools/golangci-lint $@

# The bytes of Windows' structures, from mingw-w64's headers.
abi-golden:
	test/require.sh x86_64-w64-mingw32-gcc
	test/abi-golden/run.sh

# The real windows/amd64 binaries under Wine 10, in a folder kept between runs.
test-wine:
	test/require.sh x86_64-w64-mingw32-gcc
	test/wine/run.sh .wine

# The simulated node behind the real system calls of internal/win/native.
test-lab:
	test/require.sh x86_64-w64-mingw32-gcc
	test/wine/run.sh .wine test/lab/run.sh

# docs/conformance.md, from the cases on the simulated node and what test-wine has
# written last.
conformance:
	$(GO) run ./test/conformance "Wine=.wine/conformance-wine.json" "Wine lab=.wine/conformance-lab.json"

# On a Windows machine: the suite against Windows itself.
test-windows:
	$(GO) test ./...

# Each fuzz target for FUZZTIME.
FUZZTIME ?= 30s
fuzz:
	test/fuzz.sh $(FUZZTIME)

# COUNT mistakes chosen at random from SEED on; without SEED the hand-written ones.
COUNT ?= 20
mutants:
	test/require.sh gcc
	$(GO) run ./test/mutants $(if $(SEED),-seed $(SEED) -count $(COUNT))

# Every fault at every boundary call of every scenario; make test takes two of
# each. FAULTS=<number> takes others.
FAULTS ?= all
faults:
	FAULTS=$(FAULTS) $(GO) test -count=1 -timeout 30m -run TestDisturbed ./pkg/...

# What each operation costs, into docs/performance.md; BENCHTIME for each number.
bench:
	test/require.sh x86_64-w64-mingw32-gcc
	test/bench/run.sh

build:
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -trimpath -o bin/ ./proxy/cmd/csi-proxy

clean:
	rm -rf bin .wine .tools
