# `make demo` and `make test` work on a fresh clone: each makes .venv and installs what it needs first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: install demo test acceptance wheel skada lint clean

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

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
