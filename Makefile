# The doors to the scripts in ci/. Each target is one line, so that signals and exit
# codes pass through unchanged.

.DEFAULT_GOAL := help
.PHONY: help demo release dev test browser-all faults bulk fuzz bench check queries fmt

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

demo: ## install what is missing, build the release, run the demo on http://127.0.0.1:3000
	@ci/demo.sh

release: ## build the release and its bill of materials, under target/
	@ci/setup.sh demo
	@ci/build-release.sh
	@ci/sbom.sh

dev: ## watch the sources and reload, on the demo's data (needs cargo-leptos)
	@ci/dev.sh

test: ## every test; STAGES="main faults plans queries fuzz browser" chooses
	@ci/test.sh $(STAGES)

browser-all: ## every page in every theme and width, both ways, zoomed and on paper
	@ONCEOVER_E2E_ALL=1 ci/test.sh browser

faults: ## the long fault suite, with its controls; FAULT_SEED repeats a run
	@ci/faults.sh

bulk: ## a bulk of 50,000 records, decided to the end, and how many minutes that takes
	@ci/bulk.sh

fuzz: ## ten minutes of coverage-guided fuzzing for each target; FUZZ_SECONDS=60 for less
	@ci/fuzz.sh $(FUZZ_SECONDS)

.PHONY: mutants
mutants: ## would a test notice a changed line in what decides? An hour; MUTANTS="domain engine server" chooses
	@ci/mutants.sh $(MUTANTS)

bench: ## figures beside their floors, a few minutes; FULL=1 the long form, FIGURES="life outbox" some
	@ci/bench.sh $(if $(FULL),--full) $(FIGURES)

check: ## format, lints, query cache, audits, house rules; no database needed
	@ci/setup.sh check
	@ci/check.sh

queries: ## renew the query cache in server/engine/.sqlx
	@ci/queries.sh

fmt: ## format every crate
	@cargo fmt --all
