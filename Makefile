# Two commands are enough: make demo shows it, make test proves it.

GO ?= go
TAGS = visions_nohttp visions_nounix visions_nostdio \
	visions_nohttp,visions_nounix visions_nohttp,visions_nostdio visions_nounix,visions_nostdio \
	visions_nohttp,visions_nounix,visions_nostdio
TARGETS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: demo test bench check tags cross install

demo:
	sh examples/demo.sh

test: check tags cross install
	scripts/packages.sh
	scripts/build-ollama.sh
	scripts/clients.sh
	$(GO) test -race -p 1 ./... # one package after the other: bounds in seconds are for a machine that has time

# The promised figures beside their yardsticks; not part of the tests.
bench:
	$(GO) run ./scripts/bench

# Formatting and what tools find.
check:
	@test -z "$$(gofmt -l .)" || { echo "gofmt differs:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Every combination of transport tags builds, and its stubs answer.
tags:
	@for t in $(TAGS); do \
		echo "tags $$t"; \
		$(GO) vet -tags $$t . ./cmd/... || exit 1; \
		$(GO) test -tags $$t -run 'TestTransportsByTag' . || exit 1; \
	done

cross:
	@for t in $(TARGETS); do \
		echo "build $$t"; \
		GOOS=$${t%/*} GOARCH=$${t#*/} CGO_ENABLED=0 $(GO) build ./... || exit 1; \
	done

# The module as its users get it: a zip of what is committed, installed from a
# folder that serves it as a module proxy would.
install:
	sh scripts/install-from-zip.sh
