# Everything a contributor runs. `make help` lists it; CONTRIBUTING.md explains it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
ARGS ?=

BIN := .venv/bin
SETUP := .venv/.ready
PROJECTS := pyproject.toml $(wildcard libs/*/pyproject.toml)
WEB := $(if $(wildcard web/package.json),web/node_modules/.built)
CORE := libs/dataagent-core/dataagent_core
CORE_ROOMS := $(CORE)/engine/*,$(CORE)/events/*,$(CORE)/hitl/*

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help run test test-fast coverage check fmt bench docs pins services bubblewrap docker setup clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

run: export DATAAGENT_HOST ?= 127.0.0.1
run: export DATAAGENT_PORT ?= 8000
run: $(SETUP) bubblewrap $(WEB) ## start DataAgent on 127.0.0.1:8000 (DATAAGENT_PORT= to change)
	@exec $(BIN)/dataagent-server serve $(ARGS)

# A fixed hash seed: both workers must find the same tests in the same order.
test: export PYTHONHASHSEED := 0
test: export DATAAGENT_TEST_DOCKER := 1
test: $(SETUP) services bubblewrap docker ## run every test, against real databases, on all cores
	@$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)

test-fast: export PYTHONHASHSEED := 0
test-fast: $(SETUP) bubblewrap ## run the tests that need no server process (ARGS= goes to pytest)
	@$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not services" $(ARGS)

coverage: $(SETUP) services bubblewrap docker ## run every test and report coverage; engine, events, hitl must reach 80 %
	@$(BIN)/python -m pytest --cov=libs --cov-report= $(ARGS)
	@$(BIN)/coverage report --skip-covered --omit='*/tests/*'
	@$(BIN)/coverage report --include='$(CORE_ROOMS)' --fail-under=80

check: $(SETUP) ## format, lint, types, import contracts, dependencies, unused code, sizes, docs
	@$(BIN)/python -m scripts.check $(ARGS)

fmt: $(SETUP) ## format the code and fix what ruff can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: $(SETUP) bubblewrap ## measure ratios against the bare agent loop
	@$(BIN)/python -m bench $(ARGS)

docs: $(SETUP) ## write the reference pages that are generated from the code
	@$(BIN)/python -m scripts.settings_reference

pins: $(SETUP) ## resolve the dependencies again and write constraints.txt (ARGS=--upgrade for newest)
	@scripts/pins $(ARGS)

services: $(SETUP) ## start PostgreSQL, MariaDB and Redis where they do not answer
	@$(BIN)/python -m scripts.services

bubblewrap: ## install the wall around code that the agent runs, where we may
	@scripts/bubblewrap

docker: $(SETUP) ## install an engine for the sandbox's tests, where none runs and we may
	@$(BIN)/python -m scripts.docker_engine install

setup: $(SETUP) bubblewrap ## create .venv and install everything

clean: ## remove the environment and everything that was built
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage build dist site
	rm -rf web/node_modules web/dist
	find libs tests bench scripts -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(SETUP): constraints.txt scripts/setup $(PROJECTS)
	@scripts/setup $(PYTHON)

web/node_modules/.built: $(SETUP) $(shell [ -d web ] && find web -type f -not -path '*/node_modules/*' -not -path '*/dist/*')
	@npm --prefix web ci --no-audit --no-fund
	@npm --prefix web run build
	@touch $@
