# Every target does its own set-up: `make demo` and `make test` are the first commands on a fresh machine, which needs
# Python >= 3.11 and make, nothing else. Nothing here reads standard input.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
# `make setup PYTHON=/path/to/python` wins; then the usual names, of which some may be too old, or shims of nothing.
CANDIDATES := $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11
# More for pytest: `make test ARGS="-k storage"`.
ARGS ?=

.PHONY: help setup check format format-check lint types test demo demo-learning demo-kafka bench bench-learning figures bench-roads bench-report bench-smoke bench-ingest soak docs dashboard clean distclean

help:
	@echo "make demo         a road network streams in, roads close, two questions get exact answers"
	@echo "make demo-learning  points stream in and drift, two questions get exact answers, checked against scikit-learn"
	@echo "make demo-kafka   the same through a real Kafka and a real Spark, which it starts and ends"
	@echo "make test         set-up, checks, and all tests but the long ones"
	@echo "make setup        the environment in $(VENV), with the command $(BIN)/tornado"
	@echo "make check        format, lint and types (make format mends the first)"
	@echo "make soak         the long tests; make bench the benchmarks, make bench-smoke their short version,"
	@echo "                  make bench-learning those of learners, beside scikit-learn,"
	@echo "                  make bench-roads those of graphs with long ways, beside Dijkstra and a plain repair,"
	@echo "                  make bench-ingest those of sources that stream in, make bench-report docs/benchmarks.md"
	@echo "                  from the results that there are, make figures those that the Tornado paper has, with plots"
	@echo "make docs         the site, in build/site; make dashboard what Grafana imports, from deploy/dashboard.py"
	@echo "make clean        removes caches and builds; make distclean the environment as well"

setup: $(INSTALLED)

# An environment whose Python works is kept; pip then only adds what pyproject.toml newly asks for.
$(INSTALLED): pyproject.toml client/pyproject.toml
	@old_enough='import sys; sys.exit(sys.version_info < (3, 11))'; \
	if ! $(BIN)/python -c "$$old_enough" >/dev/null 2>&1 </dev/null; then \
	    chosen=''; \
	    for candidate in $(CANDIDATES); do \
	        if "$$candidate" -c "$$old_enough" >/dev/null 2>&1 </dev/null; then chosen="$$candidate"; break; fi; \
	    done; \
	    if [ -z "$$chosen" ]; then \
	        echo "No Python >= 3.11 found (python3 is: $$(python3 --version 2>&1 || true))." >&2; \
	        echo "Install one, or name it: make setup PYTHON=/path/to/python3.12" >&2; \
	        exit 1; \
	    fi; \
	    echo "Making $(VENV) with $$($$chosen --version) …"; \
	    "$$chosen" -m venv --clear $(VENV) </dev/null || { \
	        rm -rf $(VENV); \
	        echo "'$$chosen -m venv' failed. On Debian and Ubuntu it needs a package: apt install python3-venv" >&2; \
	        exit 1; \
	    }; \
	fi
	@echo "Installing what pyproject.toml asks for into $(VENV) …"
	@$(BIN)/python -m pip install --quiet --no-input --disable-pip-version-check --editable '.[dev]' --editable ./client </dev/null
	@touch $@

check: format-check lint types

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

format-check: $(INSTALLED)
	$(BIN)/ruff format --check .

lint: $(INSTALLED)
	$(BIN)/ruff check .

types: $(INSTALLED)
	$(BIN)/mypy --num-workers 2 --strict tornado apps
	$(BIN)/mypy --strict -p tests.kinds.toy

# pytest comes last, so that its closing line closes the output. Tests start this program some hundred times: what Python makes
# of its modules is kept, whatever the environment says.
test: $(INSTALLED) check
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2 --dist loadscope $(ARGS) </dev/null

soak: $(INSTALLED)
	@$(BIN)/python -m pytest -m soak --timeout=14400 -o faulthandler_timeout=15000 $(ARGS) </dev/null

demo: $(INSTALLED)
	@$(BIN)/tornado demo $(ARGS) </dev/null

demo-learning: $(INSTALLED)
	@$(BIN)/tornado demo learning $(ARGS) </dev/null

demo-kafka: $(INSTALLED)
	@$(BIN)/tornado demo-kafka $(ARGS) </dev/null

# About an hour and a half on two idle cores. Ends with docs/benchmarks.md, generated from what it measured.
bench: $(INSTALLED)
	@$(BIN)/python -m benchmarks $(ARGS) </dev/null

# A few minutes; ends with docs/benchmarks.md and the plots in docs/figures.
figures: $(INSTALLED)
	@$(BIN)/python -m benchmarks --only figures --only failure_figures --only learning_figures $(ARGS) </dev/null

# Some twenty minutes: scikit-learn is given time to find its best.
bench-learning: $(INSTALLED)
	@$(BIN)/python -m benchmarks --only learning --only validation $(ARGS) </dev/null

bench-roads: $(INSTALLED)
	@$(BIN)/python -m benchmarks --only roads $(ARGS) </dev/null

bench-report: $(INSTALLED)
	@$(BIN)/python -m benchmarks report </dev/null

bench-ingest: $(INSTALLED)
	@$(BIN)/python -m benchmarks --only topic --only pipeline $(ARGS) </dev/null

bench-smoke: $(INSTALLED)
	@$(BIN)/python -m benchmarks --smoke $(ARGS) </dev/null

# The site, in build/site, from docs/ and from the code; a warning is an error.
docs: $(INSTALLED)
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet --builder html --conf-dir docs/site --jobs auto --doctree-dir build/doctrees . build/site
	@echo "build/site/docs/site/index.html"

# What Grafana imports: deploy/grafana.json, from the rows of deploy/dashboard.py.
dashboard: $(INSTALLED)
	@$(BIN)/python deploy/dashboard.py

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf

distclean: clean
	rm -rf $(VENV)
