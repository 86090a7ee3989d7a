# Two commands on a fresh Debian or Ubuntu with python3, git and make: `make demo` and `make test`.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
.NOTPARALLEL:

VENV := $(or $(UV_PROJECT_ENVIRONMENT),.venv)
BIN := $(VENV)/bin
# For tests that build the distribution.
export UV := $(CURDIR)/.tools/uv
# More arguments for pytest, e.g. make unit PYTEST_ARGS="-k shim -x"
PYTEST_ARGS ?=
# More arguments for the demo, e.g. make demo ARGS=--json
ARGS ?=

.PHONY: help setup demo test lint types walls stubs-check reference-check unit packaging lab-tests fmt stubs reference lock clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: ## uv, the Python environment, and (as root) the system packages of the lab
	@python3 tools/bootstrap.py

demo: setup ## the whole loop in a lab, with a report at the end (ARGS=--json for one JSON line)
	@$(BIN)/heald demo $(ARGS)

test: setup lint types walls stubs-check reference-check unit packaging lab-tests ## everything that must pass

lint: setup ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: setup ## mypy, strict
	$(BIN)/mypy

walls: setup ## import-linter: who may import whom
	$(BIN)/lint-imports

stubs-check: setup ## the committed stubs are those of proto/
	$(BIN)/python tools/gen_stubs.py --check

reference-check: setup ## docs/topology-reference.md is that of controller/fabric
	$(BIN)/python tools/gen_topology_reference.py --check

unit: setup ## unit tests
	$(BIN)/pytest tests -m "not packaging" $(PYTEST_ARGS)

packaging: setup ## wheel and installs in clean environments (needs a package index)
	$(BIN)/pytest tests/packaging -m packaging $(PYTEST_ARGS)

# Not run is said aloud, and is a failure where CI=true: a lab test is never skipped in silence.
lab-tests: setup ## tests against Open vSwitch (root)
	@why=
	[ "$$(id -u)" = 0 ] || why="not root"
	lacks=$$(python3 tools/bootstrap.py --check-lab 2>&1) || why="$${why:+$$why; }$${lacks#setup: }"
	if [ -n "$$why" ]; then
	    echo "NOT RUN: the lab tests in mininet_tests/ ($$why)." >&2
	    [ "$${CI:-}" != true ]
	    exit
	fi
	echo $(BIN)/pytest mininet_tests $(PYTEST_ARGS)
	$(BIN)/pytest mininet_tests $(PYTEST_ARGS)

fmt: setup ## format, and fix what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

stubs: setup ## generate heald/v1 and heald/internal from proto/
	$(BIN)/python tools/gen_stubs.py

reference: setup ## make docs/topology-reference.md from controller/fabric
	$(BIN)/python tools/gen_topology_reference.py

lock: ## bring uv.lock to pyproject.toml
	python3 tools/bootstrap.py --only-uv
	$(UV) lock

clean: ## remove what setup and the tools made
	rm -rf .venv .venvs .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
