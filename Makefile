# Everything a contributor runs. `make help` lists it; CONTRIBUTING.md explains it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3

# A file's tests stay together. Tests wait a lot, so there are more workers than cores.
WORKERS ?= $(shell echo $$(($$(nproc) * 3 / 2)))
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder

BIN := .venv/bin
SETUP := .venv/.ready
PROJECTS := pyproject.toml $(wildcard libs/*/pyproject.toml)
WEB_PACKAGES := web/node_modules/.ready
WEB_APP := libs/dataagent-server/dataagent_server/web/index.html
# Folders too: what is deleted counts as a change.
WEB_SOURCES = $(shell find web/src web/public web/index.html web/vite.config.ts web/package.json -not -name '*.test.*' 2>/dev/null)

# Some environments forbid bytecode files: then each process of a test compiles everything again.
export PYTHONDONTWRITEBYTECODE :=
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help run test test-all test-times soak coverage mutants check fmt bench bench-check docs web web-packages web-schema screenshots pins services bubblewrap converters shells docker mcp-servers chromium wheels sbom setup clean sync-client chart-schema pictures

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: export DATAAGENT_HOST ?= 127.0.0.1
run: export DATAAGENT_PORT ?= 8000
run: $(SETUP) bubblewrap $(WEB_APP) ## start DataAgent on 127.0.0.1:8000 (DATAAGENT_PORT= to change)
	@exec $(BIN)/dataagent-server serve $(ARGS)

# A fixed hash seed: all workers must find the same tests in the same order.
test test-all: export PYTHONHASHSEED := 0
test: TIER :=
test: WEB_TESTS := test e2e:first
test-all: TIER := --all
test-all: WEB_TESTS := test e2e screenshots
test-all: export DATAAGENT_TEST_DOCKER := 1
test: $(SETUP) services bubblewrap converters $(WEB_APP) chromium ## run the first tier of the tests: needed before every commit
test-all: $(SETUP) services bubblewrap converters shells docker mcp-servers $(WEB_APP) chromium ## run every test and a short soak: needed before a release

# The browser mostly waits, so the web app's tests run at the same time as Python's and are shown
# after them. With ARGS only pytest runs.
test test-all:
ifdef ARGS
	@$(BIN)/python -m pytest $(PARALLEL) $(TIER) $(ARGS)
else
	@rm -rf build/times; output=$$(mktemp); status=0; \
	(for each in $(WEB_TESTS); do npm --prefix web run $$each; done) >"$$output" 2>&1 & web=$$!; \
	$(BIN)/python -m pytest $(PARALLEL) $(TIER) --times=build/times || status=$$?; \
	wait $$web || status=$$?; cat "$$output"; rm -f "$$output"; exit $$status
	@$(if $(TIER),$(MAKE) soak ARGS='--minutes 5')
endif

test-times: $(SETUP) ## write into CONTRIBUTING.md where the time of the last `make test` went
	@$(BIN)/python -m tests.times build/times CONTRIBUTING.md

soak: $(SETUP) services bubblewrap ## use a site over every transport while its parts are killed (ARGS='--minutes 10'; an hour otherwise)
	@$(BIN)/python -m tests.soak $(ARGS)

coverage: export PYTHONHASHSEED := 0
coverage: export DATAAGENT_TEST_DOCKER := 1
coverage: $(SETUP) services bubblewrap converters shells docker mcp-servers $(WEB_APP) chromium ## run the Python tests and see how many branches they reach, by package
	@status=0; $(BIN)/python -m pytest $(PARALLEL) --all -p tests.traced --cov --cov-report= $(or $(ARGS),libs tests/end_to_end) || status=$$?; \
	$(BIN)/python -m scripts.coverage_floors || status=$$?; exit $$status

mutants: $(SETUP) services ## change a part of the code a little, many times, and see whether a test notices (ARGS='sql --sample 40')
	@$(BIN)/python -m scripts.mutants $(ARGS)

check: $(SETUP) $(WEB_PACKAGES) ## format, lint, types, import contracts, dependencies, unused code, sizes, docs
	@$(BIN)/python -m scripts.check $(ARGS)

fmt: $(SETUP) $(WEB_PACKAGES) ## format the code and fix what ruff can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@cd web && npx --no-install prettier --log-level warn --write .

bench: $(SETUP) services bubblewrap docker $(WEB_PACKAGES) chromium ## measure ratios against the bare agent loop
	@$(BIN)/python -m bench $(ARGS)

bench-check: $(SETUP) services bubblewrap docker $(WEB_PACKAGES) chromium ## measure, and fail if a row is 15 % worse than its last stored value
	@$(BIN)/python -m bench --compare $(ARGS)

docs: $(SETUP) ## write the generated reference pages and build the documentation site into site/
	@$(BIN)/python -m scripts.reference
	@$(BIN)/python -m scripts.site

sync-client: $(SETUP) ## write the sync twin of the async client
	@$(BIN)/python -m scripts.sync_client

web: $(WEB_APP) ## build the web app, if its sources changed

web-packages: $(WEB_PACKAGES) ## install the web app's packages, if its lock file changed

chart-schema: $(SETUP) ## write the part of Vega-Lite's schema that charts may use
	@$(BIN)/python -m scripts.chart_schema

web-schema: $(SETUP) $(WEB_PACKAGES) ## write the web app's types of the server's routes and events
	@$(BIN)/python -m scripts.web_schema

screenshots: $(SETUP) $(WEB_APP) chromium ## take a picture of every page, light and dark, in English and Chinese
	@npm --prefix web run screenshots

pictures: $(SETUP) $(WEB_APP) chromium ## make the tutorials' pictures, docs/images/, from screenshots
	@npm --prefix web run screenshots -- -g light
	@$(BIN)/python -m scripts.tutorial_pictures

pins: $(SETUP) ## resolve the dependencies again and write constraints.txt (ARGS=--upgrade for newest)
	@scripts/pins $(ARGS)

services: $(SETUP) ## start PostgreSQL, MariaDB and Redis where they do not answer
	@$(BIN)/python -m scripts.services

bubblewrap: ## install bubblewrap, which isolates code that agents run, if we are root
	@scripts/bubblewrap

converters: ## install the readers of .doc and .ppt, if we are root
	@scripts/converters

shells: ## install the shells in which completion is tested, if we are root
	@scripts/shells

docker: $(SETUP) ## install an engine for the sandbox's tests, if none runs and we are root
	@$(BIN)/python -m scripts.docker_engine install

mcp-servers: $(SETUP) ## install the MCP servers and the conformance suite that tests run
	@$(BIN)/python -m scripts.mcp_servers

chromium: ## install the browser of the web app's tests, if we are root
	@scripts/chromium

wheels: $(SETUP) $(WEB_APP) ## build every package, the web app in the server's, into dist/
	@$(BIN)/python -m scripts.wheels

sbom: $(SETUP) ## write two CycloneDX documents into dist/: the Python packages and the web app's
	@scripts/sbom $(ARGS)

setup: $(SETUP) bubblewrap ## create .venv and install everything

clean: ## remove the environment and everything that was built
	rm -rf .venv .mcp-servers .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage build dist site
	rm -rf web/node_modules web/test-results web/playwright-report libs/dataagent-server/dataagent_server/web
	find libs tests bench scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(SETUP): constraints.txt scripts/setup $(PROJECTS)
	@scripts/setup $(PYTHON)

$(WEB_PACKAGES): web/package-lock.json scripts/web_packages
	@scripts/web_packages

$(WEB_APP): $(WEB_PACKAGES) $(WEB_SOURCES)
	@npm --prefix web run build
	@touch $@
