# Sluice. `make run` and `make test` need nothing done before them.
.PHONY: run build test prove check-admin-api check-clients check-edge check-tls check-manifests test-image model fuzz races leaks bench bench-outage bench-idle lint format clean setup

RELEASE = swift build -c release --static-swift-stdlib

run: build
	@exec .build/release/sluice serve --sandbox

build: setup
	@$(RELEASE) --product sluice

# What tries to break the promises is for the program as it is shipped.
test: setup
	@Scripts/test
	@$(RELEASE) --product sluice
	@SLUICE=.build/release/sluice Scripts/prove

# The long forms of what tries to break Sluice's promises, three quarters of an hour on two cores.
# `make prove PROVE=--allow-skips` where the machine cannot do all of it. See docs/proofs/README.md.
prove: build
	@failed=0; SLUICE=.build/release/sluice Scripts/prove --long $(PROVE) || failed=1; \
	swift build --build-tests && Scripts/model || failed=1; \
	FUZZ_SECONDS=$${FUZZ_SECONDS:-20} Scripts/fuzz || failed=1; \
	exit $$failed

# Some 20,000 random sequences of what can happen to the queue, next to a model of it. See docs/proofs/model.md.
model: setup
	@swift build --build-tests
	@Scripts/model

# All tests under ThreadSanitizer, and under AddressSanitizer with its search for leaks.
races: setup
	@Scripts/sanitize thread

leaks: setup
	@Scripts/sanitize address

# Whether the admin listener answers as its OpenAPI document says, asked by schemathesis.
check-admin-api: setup
	@swift build --product sluice
	@Scripts/check-admin-api

# Real clients write to the gateway, and each log must arrive once, as it was sent.
check-clients: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-clients

# Requests about whose end a proxy and the gateway could disagree, through nginx and haproxy; and thousands of slow clients.
check-edge: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-edge

# What testssl.sh says of the TLS that devices meet.
check-tls: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-tls

# What Docker/ has for compose, Kubernetes and systemd, against schemas and the program.
check-manifests: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-manifests

# libFuzzer with AddressSanitizer on all that reads what strangers write; FUZZ_SECONDS each.
fuzz: setup
	@Scripts/fuzz

# The image, from this release, tried as it will run; needs docker, or podman with buildah as root.
test-image: build
	@Scripts/setup-tests
	@PREBUILT=.build/release/sluice Docker/test-image

bench: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/run

# 2 GiB of logs wait for SLS, the gateway is killed and starts again: how soon, in how much memory, how fast.
bench-outage: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/outage

# What a log costs beside 200 idle destinations and 10,000 idle logstores.
bench-idle: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/idle

lint:
	@Scripts/check-links
	@Scripts/shape --check
	@Scripts/lint-python
	@swift format lint --recursive --strict Sources Tests Benchmarks Package.swift

format:
	@swift format --in-place --recursive Sources Tests Benchmarks Package.swift
	@Scripts/lint-python --fix

clean:
	@rm -rf .build

setup:
	@Scripts/setup
