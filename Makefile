# A thin face over the CMake presets and scripts/: `make help` lists the goals.
PREFIX ?= /usr/local
# ON: warnings are errors. Without it a build/ keeps its setting, so nothing is compiled again.
CONFIGURE = cmake --preset release $(if $(WERROR),-DROBUSTRUN_WERROR=$(WERROR))
FUZZ_SECONDS ?= 2
LABELS ?= ^ci$$
SECONDS ?= 600
export PYTHONDONTWRITEBYTECODE = 1

.DEFAULT_GOAL := build
.PHONY: build demo test sim nightly lint format docs screenshots bench install wheel package clean help

help: ## this list
	@sed -nE 's/^([a-z]+):.*## /\1\t/p' Makefile | expand -t 10

build: ## what is missing, then build/bin/robustrun (release)
	@scripts/install-deps.sh build
	@$(CONFIGURE) > /dev/null
	cmake --build build --target product

demo: ## a real training that loses a rank and recovers
	@scripts/install-deps.sh demo
	@$(MAKE) --no-print-directory build
	@scripts/demo

test: ## every test; ends with "N passed, N failed"
	@scripts/install-deps.sh test
	@$(CONFIGURE) > /dev/null
	@scripts/test.sh --times $(FUZZ_SECONDS) '$(LABELS)'

sim: ## for SECONDS (600) the supervisor's core in simulated runs with new seeds
	@$(MAKE) --no-print-directory build
	cmake --build build --target test_sim
	ROBUSTRUN_SIM_SECONDS=$(SECONDS) build/bin/test_sim -nfv -tc='every invariant*'

nightly: ## the tests, with fuzzers, simulator and campaigns of faults for longer; all of lint
	@ROBUSTRUN_LINT_ALL=1 $(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test FUZZ_SECONDS=600 \
	  LABELS='^(ci|nightly)$$$$'

lint: ## formatting, clang-tidy, ruff, clones
	@scripts/install-deps.sh lint
	@$(CONFIGURE) > /dev/null
	@scripts/lint.sh

format: ## formats all C++ files
	@scripts/install-deps.sh lint
	git ls-files -co --exclude-standard -- '*.h' '*.cpp' | xargs clang-format-19 -i

docs: build ## renews what is made of the options: docs/cli.md, manual page, completion
	build/bin/robustrun help --markdown > docs/cli.md
	build/bin/robustrun help --man > docs/robustrun.1
	build/bin/robustrun completion bash > scripts/completions/robustrun.bash
	build/bin/robustrun completion zsh > scripts/completions/_robustrun

screenshots: build ## renews docs/pictures/: the report page, top, a placement
	@scripts/install-deps.sh test
	PYTHONPATH=tests/e2e .venv/bin/python scripts/screenshots.py

bench: build ## every measurement against torchrun
	@scripts/install-deps.sh bench
	cmake --build build --target bench_programs
	PATH="$(CURDIR)/.venv/bin:$$PATH" bench/run all

install: build ## into PREFIX (/usr/local)
	cmake --install build --prefix "$(PREFIX)"

wheel: ## dist/robustrun-….whl, for pip
	@scripts/install-deps.sh package
	@scripts/package wheel

package: ## in dist/: wheel, tarball, Debian package and SHA256SUMS; ARCH=aarch64 for that processor
	@scripts/install-deps.sh $(if $(filter aarch64,$(ARCH)),aarch64,package)
	@scripts/package all $(ARCH)

clean: ## removes build/, build-package*/ and dist/
	rm -rf build build-package build-package-* dist
