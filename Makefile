# Two commands: `make demo` and `make test`. Everything else is for those who work on dpfy.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: install demo test test-all lint bench docs clean

# For users: the command, with everything that the demo needs.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[demo]'
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[test]'
	@touch $@

install: $(VENV)/.installed

demo: $(VENV)/.installed
	$(BIN)/dpfy demo

test: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-all: $(VENV)/.installed-test
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.installed-test
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.installed-test
	$(BIN)/python -m tests.docs.generate

bench: $(VENV)/.installed-test
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build dist demo-out src/*.egg-info
