# Sluice. `make run` and `make test` need nothing done before them.
.PHONY: run build test bench lint format clean setup

RELEASE = swift build -c release --static-swift-stdlib

run: build
	@exec .build/release/sluice serve --sandbox

build: setup
	@$(RELEASE) --product sluice

test: setup
	@swift build --build-tests
	@swift test --skip-build

bench: setup
	@$(RELEASE) --product sluice
	@$(RELEASE) --product sluice-bench
	@Benchmarks/run

lint:
	@swift format lint --recursive --strict Sources Tests Benchmarks Package.swift

format:
	@swift format --in-place --recursive Sources Tests Benchmarks Package.swift

clean:
	@rm -rf .build

setup:
	@Scripts/setup
