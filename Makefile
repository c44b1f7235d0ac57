# test: all tests, some ten minutes on two cores. check: the fast tests, about a minute.
# PYTHON: the interpreter, 3.11 or newer. VENV: the folder of the virtual environment.
# BATCH: the file or folder that `make run` selects.
# LONG=1: the long form of the robustness suite.
# TESTS: files for `make oldest` and `make newest`; all by default.
# BENCH: options of the benchmarks, for example --quick.
PYTHON ?= python3
VENV ?= .venv
BATCH ?= examples/river_plate_extracted.json

# Compiled modules shorten the tests by a tenth.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test check bench robustness containers wheel sdist oldest newest clean

run: $(VENV)/run.stamp
	$(VENV)/bin/selection-worker local "$(BATCH)"

test: $(VENV)/test.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/python -m tests.support.browser
	$(VENV)/bin/pytest --quiet --numprocesses 3 --dist loadgroup

# The fast tests, which use neither a server nor a browser.
check: $(VENV)/test.stamp
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/pytest --quiet --numprocesses auto --dist loadgroup --hypothesis-profile check \
		-m "not queue and not storage and not azure and not browser and not slow"

robustness: $(VENV)/test.stamp
	$(VENV)/bin/python -m robustness $(if $(LONG),--long)

# The fleet of docker-compose.yml on a container engine that the tests start, as root on Linux.
containers: $(VENV)/test.stamp
	$(VENV)/bin/python -m robustness.containers

# A wheel with the compiled backend and one without it. Each selects the sample in an environment
# of its own, and the outputs must be equal.
wheel: $(VENV)/test.stamp
	rm -rf build dist .venv-wheel
	$(VENV)/bin/python -m build --wheel --outdir dist/native
	rm -rf build
	CC=false $(VENV)/bin/python -m build --wheel --outdir dist/python
	for backend in native python; do \
		$(PYTHON) -m venv .venv-wheel/$$backend && \
		.venv-wheel/$$backend/bin/python -m pip install --quiet --disable-pip-version-check dist/$$backend/*.whl && \
		(cd .venv-wheel && $$backend/bin/selection --version | grep "backend $$backend" && \
			$$backend/bin/selection run ../examples/river_plate_extracted.json -o $$backend.json) \
		|| exit 1; \
	done
	cmp .venv-wheel/native.json .venv-wheel/python.json

# The tests with the oldest and the newest versions that pyproject.toml allows.
oldest newest:
	rm -rf .venv-$@
	$(PYTHON) -m venv .venv-$@
	.venv-$@/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.5,<1'
	.venv-$@/bin/uv pip install --quiet --python .venv-$@/bin/python --editable '.[dev]' \
		--resolution $(if $(filter oldest,$@),lowest-direct,highest)
	.venv-$@/bin/pytest --quiet --numprocesses 2 $(TESTS)

bench: $(VENV)/test.stamp
	$(VENV)/bin/python -m benchmarks $(BENCH)

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest .venv-wheel build dist *.egg-info

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, for example: make run PYTHON=python3.13")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml setup.py $(wildcard selection/*/*.c) | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded]'
	touch $@

$(VENV)/test.stamp: pyproject.toml setup.py $(wildcard selection/*/*.c) | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/run.stamp
