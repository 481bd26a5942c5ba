# `make demo`, `make test` and `make docs` work on a fresh clone: each makes .venv and installs what it needs first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: install demo test acceptance docs lint clean

install: $(READY)

$(READY): pyproject.toml constraints-cpu.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-cpu.txt -e '.[dev]'
	@touch $@

demo: $(READY)
	$(BIN)/cst demo

test: $(READY) lint
	$(BIN)/python -m pytest

# One process, as the runs of a suite are processes themselves; -s shows how far they are.
acceptance: $(READY)
	$(BIN)/python -m pytest -m acceptance -n 0 -s tests/acceptance

# All pages as a site in site/: open site/index.html. Its search wants a server: python -m http.server -d site.
docs: $(VENV)/.docs-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

$(VENV)/.docs-ready: pyproject.toml constraints-cpu.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints-cpu.txt -e '.[docs]'
	@touch $@

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) site .mypy_cache .ruff_cache .pytest_cache
