# Everything starts here. On a fresh machine, `make serve` and `make test` do all the setting-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Tests wait for disks, clocks and each other's processes: one more of them than there are processors keeps those busy.
TESTERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# Neighbours stay together, so that what a file's tests share (a server, mostly) is started once and not once by each.
SHARED_OUT := -n $(TESTERS) --dist worksteal
# Some machines tell Python to keep no compiled files: then every process of the tests would compile all of it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help serve setup test test-slow bench-names bench-registry bench-growth bench-postgres bench-http bench-persons system-packages lint format docs docs-reference lock clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

serve: $(VENV)/run.stamp ## set up, and serve the registry in registry/, which is made if it is not there
	@$(BIN)/python -m perdure serve --registry registry

setup: $(VENV)/dev.stamp ## make .venv with everything that development needs
	@echo "Ready, on $$($(BIN)/python --version) (another one: make clean setup PYTHON=…). Try: $(BIN)/perdure --help"

test: $(VENV)/dev.stamp lint system-packages ## set up, run all checks and tests
	$(BIN)/python -m pytest $(SHARED_OUT) -m "not slow"

test-slow: $(VENV)/dev.stamp system-packages ## long fuzz runs, hundreds of crashes, and the property tests with many more examples
	$(BIN)/python -m pytest $(SHARED_OUT) -m slow tests
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest $(SHARED_OUT) -m "not slow" tests/names tests/test_public_surface.py

bench-names: $(VENV)/dev.stamp ## speed of the names library, as ratios to peers in the same run
	$(BIN)/python -m bench.names

bench-registry: $(VENV)/dev.stamp ## group commit, bulk import and PILIN's pace, as ratios in the same run
	$(BIN)/python -m bench.registry

bench-growth: $(VENV)/dev.stamp ## look-up, mint and search from 10^3 to 10^7 identifiers (an hour, 15 GB)
	$(BIN)/python -m bench.growth

bench-postgres: $(VENV)/dev.stamp system-packages ## gathered look-ups, COPY and group commit on PostgreSQL, as ratios in the same run
	$(BIN)/python -m bench.postgres

bench-http: $(VENV)/dev.stamp ## redirects, records and creations over HTTP, beside nginx in the same run
	@$(BIN)/python -m tests.system_packages bench
	$(BIN)/python -m bench.http

bench-persons: $(VENV)/dev.stamp ## observations created, and persons as Turtle and JSON-LD, beside peers in the same run
	@$(BIN)/python -m tests.system_packages bench
	$(BIN)/python -m bench.persons

# What the tests need beside Python; installed when this is root's machine and apt-get knows how.
system-packages: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.system_packages

lint: $(VENV)/dev.stamp
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python $(BIN)/lint-imports --no-cache

format: $(VENV)/dev.stamp ## bring the code into shape
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

docs: $(VENV)/dev.stamp ## build the documentation into site/
	$(BIN)/python -m mkdocs build --strict

docs-reference: $(VENV)/dev.stamp ## write the command reference anew
	$(BIN)/python docs/command_reference.py > docs/commands.md

lock: $(VENV)/dev.stamp ## choose new versions of everything, within pyproject.toml
	$(PIP) install uv
	$(BIN)/python -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --group build pyproject.toml -o requirements.lock
	$(BIN)/python -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean: ## remove everything that was made
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp, and not pyvenv.cfg: what was interrupted half-way is made again.
$(VENV)/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Perdure needs Python 3.11 or later; name one with: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up $(VENV) (once) …"
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@touch $@

$(VENV)/run.stamp: $(VENV)/made.stamp requirements.lock pyproject.toml
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements-dev.lock
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@
