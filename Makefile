# Tasks of development. On a new machine, `make serve` and `make test` install everything that they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Tests wait for disks, clocks and processes: one worker more than there are processors keeps the processors busy.
WORKERS := $(shell $(PYTHON) -c 'import os; print((os.cpu_count() or 1) + 1)')
# Tests of one file run in the same worker, so that shared fixtures (mostly servers) start only once.
DISTRIBUTE := -n $(WORKERS) --dist worksteal
# Some machines set this variable. Then every process of the tests would compile all modules again.
unexport PYTHONDONTWRITEBYTECODE
# Address, port and administrator of `make serve`. Not from the environment: some shells set HOST or NAME.
HOST := 127.0.0.1
PORT := 8080
NAME :=

.PHONY: help serve setup test test-slow bench-names bench-registry bench-bulk bench-growth bench-postgres bench-http bench-persons bench-ibi system-packages lint format docs docs-reference lock clean
.DEFAULT_GOAL := help

help: ## list the tasks
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

serve: $(VENV)/run.stamp ## set up, and serve the registry in registry/ (created if missing); PORT=8123, HOST=… and NAME=… (of the administrator) are optional
	@$(BIN)/python -m perdure serve --registry registry --host $(HOST) --port $(PORT)$(if $(NAME), --name '$(subst ','\'',$(NAME))')

setup: $(VENV)/dev.stamp ## create .venv with everything for development
	@echo "Ready, with $$($(BIN)/python --version) (for another version: make clean setup PYTHON=…). Try: $(CURDIR)/$(BIN)/perdure --help"

test: $(VENV)/dev.stamp lint system-packages ## set up, run all checks and tests
	$(BIN)/python -m pytest $(DISTRIBUTE) -m "not slow"

test-slow: $(VENV)/dev.stamp system-packages ## long fuzz runs, hundreds of crashes, and the property tests with many more examples
	$(BIN)/python -m pytest $(DISTRIBUTE) -m slow tests
	HYPOTHESIS_PROFILE=thorough $(BIN)/python -m pytest $(DISTRIBUTE) -m "not slow" tests/names tests/test_public_surface.py

bench-names: $(VENV)/dev.stamp ## speed of the names library, as ratios to other libraries in the same run
	$(BIN)/python -m bench.names

bench-registry: $(VENV)/dev.stamp ## group commit, bulk import and PILIN minting, as ratios in the same run
	$(BIN)/python -m bench.registry

bench-bulk: $(VENV)/dev.stamp ## mint --from and retarget, as ratios to an import of as many lines in the same run
	$(BIN)/python -m bench.bulk

bench-growth: $(VENV)/dev.stamp ## lookup, mint and search from 10^3 to 10^7 identifiers (an hour, 15 GB)
	$(BIN)/python -m bench.growth

bench-postgres: $(VENV)/dev.stamp system-packages ## batched lookups, COPY and group commit on PostgreSQL, as ratios in the same run
	$(BIN)/python -m bench.postgres

bench-http: $(VENV)/dev.stamp ## redirects, records and creations over HTTP, compared with nginx in the same run
	@$(BIN)/python -m tests.system_packages bench
	$(BIN)/python -m bench.http

bench-persons: $(VENV)/dev.stamp ## observations created, and persons as Turtle and JSON-LD, compared with peers in the same run
	@$(BIN)/python -m tests.system_packages bench
	$(BIN)/python -m bench.persons

bench-ibi: $(VENV)/dev.stamp ## minting, stored items and names of other servers, compared with SQLite, cp, sha256sum and nginx
	@$(BIN)/python -m tests.system_packages bench
	$(BIN)/python -m bench.ibi

# Programs that the tests need. They are installed if make runs as root and apt-get is available.
system-packages: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.system_packages

lint: $(VENV)/dev.stamp
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/python $(BIN)/lint-imports --no-cache

format: $(VENV)/dev.stamp ## format the code
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

docs: $(VENV)/dev.stamp ## build the documentation into site/
	$(BIN)/python -m mkdocs build --strict

docs-reference: $(VENV)/dev.stamp ## generate the reference of commands, settings and errors from the code
	$(BIN)/python docs/command_reference.py > docs/reference/commands.md
	$(BIN)/python docs/settings_reference.py > docs/reference/settings.md
	$(BIN)/python docs/errors_reference.py > docs/reference/errors.md

lock: $(VENV)/dev.stamp ## update the lock files within the limits of pyproject.toml
	$(PIP) install uv
	$(BIN)/python -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --group build pyproject.toml -o requirements.lock
	$(BIN)/python -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" --group dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(BIN)/python -m uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --custom-compile-command "make lock" requirements-ocfl.in -o requirements-ocfl.lock

clean: ## remove everything that was generated
	rm -rf $(VENV) site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# A stamp file instead of pyvenv.cfg: an interrupted setup is repeated.
$(VENV)/made.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Perdure needs Python 3.11 or later; choose one with: make PYTHON=/path/to/python3"; exit 1; }
	@echo "Setting up $(VENV) (once) …"
	@$(PYTHON) -m venv --clear $(VENV) || \
	  { echo "Python's venv module is missing; on Debian and Ubuntu: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }
	@touch $@

$(VENV)/run.stamp: $(VENV)/made.stamp requirements.lock pyproject.toml
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

# .venv/ocfl has the validator of OCFL storage roots, which does not fit into the same environment.
$(VENV)/dev.stamp: $(VENV)/run.stamp requirements-dev.lock requirements-ocfl.lock
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PYTHON) -m venv --clear $(VENV)/ocfl
	@$(VENV)/ocfl/bin/python -m pip --disable-pip-version-check --quiet install --require-hashes -r requirements-ocfl.lock
	@touch $@
