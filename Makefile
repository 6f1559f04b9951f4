# Needs python3 (3.11 or later) with venv and pip, and make. Uses uv when it is on the PATH.

PYTHON ?= python3
VENV ?= .venv
# Of the dependency groups in pyproject.toml; ci has what is too large for every checkout.
GROUP ?= dev
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)

# What `make demo` measures: an agent that is made to slip, so its numbers are synthetic.
DEMO_RUN := run retail --agent slippery:0.05 --user agenda --trials 8 --seed 1

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format types bench clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18
	@echo "Another Python: make PYTHON=python3.12 test (after make clean, if one was set up)."

demo: $(VENV)/.run ## evaluate a synthetic agent on the retail tasks, and draw its pass^k curve
	$(BIN)/passhat $(DEMO_RUN)

test: $(VENV)/.dev ## the fast tests
	$(BIN)/pytest -n auto

test-all: $(VENV)/.dev ## all tests, the slow ones too
	$(BIN)/pytest -n auto -m ""

lint: $(VENV)/.dev ## ruff, and whether the code is formatted
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: $(VENV)/.dev ## repair what ruff can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: $(VENV)/.dev ## mypy, strict
	$(BIN)/mypy

bench: $(VENV)/.run ## times and sizes, as a table and as JSON
	$(BIN)/python -m benchmarks

clean: ## remove the environment, builds and caches
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

# --- the environment ----------------------------------------------------------------------------
# .run: what running needs. .dev: that, and what the tests and linters need. Both are stamps, made
# last, so that a set-up that broke off is taken up again.

ifneq ($(UV),)
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
MAKE_VENV := $(UV) venv --quiet --clear --python $(PYTHON) $(VENV)
USABLE := $(BIN)/python -c "import encodings"
else
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
MAKE_VENV := $(PYTHON) -m venv --clear $(VENV)
USABLE := $(BIN)/python -m pip --version
endif

$(VENV)/.run: pyproject.toml constraints.txt
	@$(PYTHON) -c "" || { \
	  echo "passhat needs Python 3.11 or later, and $(PYTHON) does not start" >&2; exit 1; }
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
	  echo "passhat needs Python 3.11 or later, not $$($(PYTHON) --version 2>&1);" \
	    "name another: make PYTHON=python3.12 demo" >&2; exit 1; }
ifeq ($(UV),)
	@$(PYTHON) -c "import ensurepip, venv" || { \
	  echo "$(PYTHON) has no venv or no ensurepip; on Debian and Ubuntu: apt install python3-venv" \
	    >&2; exit 1; }
endif
	@$(USABLE) >/dev/null 2>&1 || { echo "making $(VENV)"; $(MAKE_VENV); }
ifeq ($(UV),)
	@$(INSTALL) --upgrade "pip>=25.1" # the first that reads dependency groups
endif
	@echo "installing passhat into $(VENV)"
	@$(INSTALL) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.run
	@echo "installing the test tools and linters into $(VENV)"
	@$(INSTALL) --constraint constraints.txt --group $(GROUP)
	@touch $@
