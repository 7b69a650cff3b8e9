# Sluice. `make run` and `make test` install everything they need.
.PHONY: run build test prove check-api check-completions check-clients check-console check-edge check-tls check-manifests check-release check-package test-image release model fuzz races leaks bench bench-outage bench-idle metrics-tables lint format clean setup

RELEASE = swift build -c release --static-swift-stdlib

# The debug build takes a third of the release's time, and the tests use it too.
run: setup
	@swift build --product sluice
	@exec .build/debug/sluice serve --sandbox

build: setup
	@$(RELEASE) --product sluice

# The proofs run on the release build, as it is shipped.
# The tests leave the processors idle for half of their time: the release build for the proofs takes it.
test: setup
	@swift build --build-tests
	@{ nice $(RELEASE) --product sluice && nice $(RELEASE) --product sluice-bench; } >.build/release.log 2>&1 & \
	release=$$!; failed=0; \
	Scripts/test --built || failed=1; \
	wait $$release || { cat .build/release.log; failed=1; }; \
	exit $$failed
	@SLUICE=.build/release/sluice Scripts/prove --jobs 3

# The long forms of the proofs take three quarters of an hour on two cores. Use `make prove PROVE=--allow-skips` on a
# machine that cannot run all of them. See docs/proofs/README.md.
prove: build
	@$(RELEASE) --product sluice-bench
	@failed=0; SLUICE=.build/release/sluice Scripts/prove --long $(PROVE) || failed=1; \
	swift build --build-tests && Scripts/model || failed=1; \
	FUZZ_SECONDS=$${FUZZ_SECONDS:-20} Scripts/fuzz || failed=1; \
	exit $$failed

# Compares 20,000 random sequences of queue operations with a model. See docs/proofs/model.md.
model: setup
	@swift build --build-tests
	@Scripts/model

# Run all tests under ThreadSanitizer, or under AddressSanitizer with leak detection.
races: setup
	@Scripts/sanitize thread

leaks: setup
	@Scripts/sanitize address

# Compares both listeners with their OpenAPI documents, using schemathesis.
check-api: setup
	@swift build --product sluice
	@Scripts/check-api

# Real clients write to the gateway. Each log must arrive once and unaltered.
check-clients: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-clients

# bash, zsh and fish complete commands, and groff reads the manual pages.
check-completions: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-completions

# A real browser walks through the console. Pictures of all screens are in .build/console.
check-console: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-console

# Sends requests that a proxy and the gateway could frame differently, through nginx and haproxy. Also tests slow clients.
check-edge: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-edge

# Runs testssl.sh on the devices' TLS listener.
check-tls: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-tls

# Checks the files in Docker/ against the schemas of compose and Kubernetes, systemd, and the program.
check-manifests: setup
	@Scripts/setup-tests
	@swift build --product sluice
	@Scripts/check-manifests

# Runs libFuzzer with AddressSanitizer on all parsers of untrusted input, FUZZ_SECONDS each.
fuzz: setup
	@Scripts/fuzz

# Builds the image from this release and tests it, then the image in dist. Needs docker, or podman with buildah as root.
test-image: release
	@Scripts/setup-tests
	@PREBUILT=.build/release/sluice Docker/test-image
	@ARCHIVE=$$(echo dist/sluice-*.oci.tar) Docker/test-image

# Packages this release into dist: Debian package, image, sources, bill of materials, checksums. See docs/releasing.md.
release: build
	@Scripts/release

# Packages it again, and compares.
check-release: release
	@Scripts/setup-tests
	@Scripts/check-release

# Installs, upgrades and purges the Debian package, in a container with systemd. Needs root.
check-package: release
	@Scripts/setup-tests
	@Scripts/check-package

bench: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/compare --set loads,filters .build/release/sluice

# Kills and restarts a gateway with a backlog of 2 GiB, and measures start time, memory and delivery rate.
bench-outage: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/outage

# Measures the cost of a log beside 200 idle destinations and 10,000 idle logstores.
bench-idle: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/idle

# The tables of settings and metrics in docs, from the program.
metrics-tables: setup
	@swift build --product sluice
	@Scripts/settings-tables

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
