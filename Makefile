# Every command of the project. `make help` lists them; all work from a fresh clone with python3 (3.10 or later, with
# venv), gcc, git and a way to PyPI.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/installed.stamp
# one more than there are cores: many tests wait for a server, a terminal or a watched job
WORKERS = $(shell $(BIN)/python -c 'import os; print(1 + len(getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)))')
EXAMPLE := examples/out-of-memory.txt

.DEFAULT_GOAL := help
.PHONY: help setup run test check lint types contracts wheel docs readme bench clean

help: ## List the commands
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name says; do \
		printf '  make %-10s %s\n' "$$name" "$$says"; done

setup: $(INSTALLED) ## Create .venv and install gpuwhy with everything that development needs

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
		{ echo "Python 3.10 or later is needed; name one: make setup PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip setuptools wheel
	@# setuptools warns, forty lines each, that folders of data could be packages
	PYTHONWARNINGS="ignore:Package 'gpuwhy" $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: setup ## Set up if needed, then open the guided diagnosis; without a terminal, diagnose a recorded failure
	@if [ -t 0 ] && [ -t 1 ] && [ -t 2 ]; then $(BIN)/gpuwhy; else \
		echo "No terminal here to open the guided diagnosis in; this is what gpuwhy says about $(EXAMPLE)."; \
		echo "\$$ gpuwhy diagnose $(EXAMPLE)"; \
		$(BIN)/gpuwhy diagnose $(EXAMPLE) || test $$? -eq 1; fi  # 1: a cause was found

test: setup ## Run all tests on all cores
	$(BIN)/pytest -n $(WORKERS) --dist loadgroup

check: lint types contracts test ## Everything a change must pass

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

contracts: setup
	$(BIN)/lint-imports

wheel: setup ## Build dist/*.whl, see that no tracked file of the product is missing in it, and lock its rules
	rm -rf build dist
	$(BIN)/python -m build --wheel --outdir dist .
	$(BIN)/python .ci/check-wheel dist/*.whl
	$(BIN)/gpuwhy rules lock --rules rules > dist/rules-lock.json

docs: setup ## Write docs/thresholds.md, the words for editors and the site of the rules, build/rules-site, from the rules
	$(BIN)/python -m gpuwhy.kb.thresholds > docs/thresholds.md
	$(BIN)/gpuwhy rules schemas --rules rules rules/schema/v1
	$(BIN)/gpuwhy rules docs --rules rules build/rules-site

readme: setup ## Write what gpuwhy prints now into README.md
	$(BIN)/python .ci/refresh-readme

bench: setup ## Measure start-up, loading of the rules and reading of a large log
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/knowledge_load.py
	$(BIN)/python bench/large_log.py
	$(BIN)/python -m bench.watch_overhead
	$(BIN)/python bench/terminal.py
	$(BIN)/python -m bench.terminal_keys
	$(BIN)/python -m bench.selecting
	$(BIN)/python bench/sizing.py
	$(BIN)/python -m bench.latency
	$(BIN)/python bench/fleet.py
	$(BIN)/python bench/rules_diff.py

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist gpuwhy.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
