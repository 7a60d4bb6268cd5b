# `make demo` or `make test` is the only command a fresh machine needs: each makes what it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
export LANGSMITH_TRACING := false
export LANGGRAPH_STRICT_MSGPACK := true
export PYTHONHASHSEED ?= random

.PHONY: demo test lint types layers unit test-all data newcomer study bench test-llm oracles clean

demo: $(VENV)/.base
	$(BIN)/fairagents demo

test: lint types layers unit

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports --no-cache

unit: $(VENV)/.dev
	$(BIN)/pytest -n 2 -m "not data and not newcomer and not real_llm and not study and not oracle"

# What `make test` leaves out: third-party data (FAIRAGENTS_DATA), the wheel in an empty
# environment, and the studies over many cases.
test-all: test data newcomer study

data: $(VENV)/.dev
	@test -d "$(FAIRAGENTS_DATA)" || { echo "FAIRAGENTS_DATA must name the data folder; the data tests did not run"; exit 1; }
	$(BIN)/pytest -m data

newcomer: $(VENV)/.dev
	$(BIN)/pytest -m newcomer

study: $(VENV)/.dev
	$(BIN)/pytest -n 2 -m study

bench: $(VENV)/.dev
	$(BIN)/pytest tests/bench -o addopts= --import-mode=importlib -q -s

test-llm: $(VENV)/.dev
	$(BIN)/pytest -m real_llm tests/real_llm -s

oracles: $(VENV)/.dev
	$(BIN)/pip install --quiet --group oracles
	$(BIN)/pytest -m oracle

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fairagents needs Python >= 3.11; name one: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.base: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/pip install --quiet --group dev
	@touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache dist build runs
