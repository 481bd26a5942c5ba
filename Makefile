# `make demo`, `make test` and `make docs` work on a fresh clone: each makes .venv and installs what it needs first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: install demo test acceptance wheel skada docs lint clean

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
	$(BIN)/python -m pytest -m acceptance -n 0 -s --ignore tests/acceptance/test_wheel.py tests/acceptance

# dist/, and whether its wheel works in an empty environment: minutes, as PyTorch is installed once more.
wheel: $(READY)
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python -m pytest -m acceptance -n 0 -s tests/acceptance/test_wheel.py

# Optional: skada in an environment of its own, which sees the packages of .venv too.
skada: $(READY)
	$(BIN)/python -m venv $(VENV)/skada
	$(BIN)/python -c 'import site; print(f"import site; site.addsitedir({site.getsitepackages()[0]!r})")' \
	    > "$$($(VENV)/skada/bin/python -c 'import site; print(site.getsitepackages()[0])')/beside.pth"
	$(VENV)/skada/bin/python -m pip install --quiet --no-deps 'skada>=0.6'
	$(VENV)/skada/bin/python -m pytest -n 0 tests/test_skada.py

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
