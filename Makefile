# PYTHON: 3.11 or newer. VENV: where the virtual environment goes. BATCH: what to select.
# LONG=1: the long form of the faults.
PYTHON ?= python3
VENV ?= .venv
BATCH ?= examples/river_plate_extracted.json

.PHONY: run test faults clean

run: $(VENV)/run.stamp
	$(VENV)/bin/selection-worker local "$(BATCH)"

test: $(VENV)/test.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest

faults: $(VENV)/test.stamp
	$(VENV)/bin/python -m faults $(if $(LONG),--long)

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, for example: make run PYTHON=python3.13")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	touch $@

$(VENV)/test.stamp: pyproject.toml | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/run.stamp
