# Everything happens in a virtual environment of its own, .venv, which the targets make and keep up
# to date: `run` installs the package and compiles its inner loops; the other targets add the
# development tools and the optional solvers. Editing a compiled module compiles it again.

PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
PIP    := $(PY) -m pip --quiet --quiet --disable-pip-version-check

# The package is installed without compiled code and without a build environment of its own, then
# compiled in place: that way an edit costs one compilation, not one installation.
BUILD_TOOLS := 'setuptools>=77' 'setuptools-scm>=8' 'cython>=3.1'
INSTALL     := PESSIMAL_PURE=1 $(PIP) install --no-build-isolation --editable

# A module is compiled if a .pxd file beside it gives its types.
TYPES    := $(shell find src -name '*.pxd')
COMPILED := $(TYPES) $(TYPES:.pxd=.py)

.DEFAULT_GOAL := help
.PHONY: help run test lint types docs bench wheel sdist clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/compiled  ## tune a small medical data set optimistically and pessimistically
	@$(PY) -m pessimal.demo

test: $(VENV)/dev $(VENV)/compiled  ## run all tests and documented examples, two at a time
	@OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -n 2  # one core for each

lint: $(VENV)/dev  ## check style and formatting
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(VENV)/bin/lint-imports --no-cache --no-logo

types: $(VENV)/dev  ## check types
	@$(PY) -m mypy

docs: $(VENV)/docs  ## build the documentation into site/, warnings as errors
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

bench: $(VENV)/bench $(VENV)/compiled  ## compare the search with MILP solvers
	@$(PY) benchmarks/solvers.py

wheel: $(VENV)/core  ## build dist/pessimal-*.whl (PESSIMAL_PURE=1: without compiled code)
	@rm -rf build
	@$(PIP) wheel --no-deps --wheel-dir dist .

sdist: $(VENV)/dev  ## build dist/pessimal-*.tar.gz
	@$(PY) -m build --sdist --no-isolation --outdir dist . > /dev/null

clean:  ## remove everything that make created, the virtual environment too
	@rm -rf $(VENV) build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	@find src -name '*.so' -delete

$(VENV)/core: pyproject.toml
	@echo "Installing pessimal into $(VENV) (a few minutes the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install $(BUILD_TOOLS)
	@$(INSTALL) .
	@touch $@

$(VENV)/compiled: setup.py $(COMPILED) | $(VENV)/core
	@echo "Compiling the inner loops ..."
	@$(PY) setup.py --quiet build_ext --inplace --parallel 2
	@touch $@

$(VENV)/dev: pyproject.toml | $(VENV)/core
	@echo "Installing the development tools, the optional solvers and Dask into $(VENV) ..."
	@$(INSTALL) '.[dev,solvers,cluster]'
	@touch $@

$(VENV)/docs: pyproject.toml | $(VENV)/core
	@echo "Installing the tools of the documentation into $(VENV) ..."
	@$(INSTALL) '.[docs]'
	@touch $@

$(VENV)/bench: pyproject.toml | $(VENV)/core
	@echo "Installing the pinned solvers of the benchmark into $(VENV) ..."
	@$(INSTALL) '.[bench]'
	@touch $@
