# Everything that is done to scriptc. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-san check bench ulp clean

PYTHON ?= python3
VENV ?= .venv
CC ?= cc
ARGS ?=

# The processes of the tests share bytecode: a hundred of them would compile the same modules again.
unexport PYTHONDONTWRITEBYTECODE

PY := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
# The compiled bridge is part of the installation, so a change of what it is made from installs again.
BUILT_FROM := setup.py pyproject.toml $(wildcard runtime/build_*.py) \
	$(shell find runtime/src runtime/include -name '*.[ch]' -o -name '*.inc')
PYTEST := $(PY) -m pytest -q -n 2 --dist worksteal --hypothesis-profile=quick

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  Variables: PYTHON ($(PYTHON)), VENV ($(VENV)), ARGS (passed on to pytest and the benchmarks)"

# Compile the runtime without an installation: scriptc finds its stages in their folders here.
BUILD_RUNTIME := import os, scriptc; scriptc.__path__.append(os.getcwd()); import scriptc.cli; scriptc.cli.main(["build-runtime"])

# Compiling the runtime needs no package, so it runs while pip installs them, on another core.
# --no-compile: bytecode is written where a module is imported, and most modules of torch never are.
$(INSTALLED): $(BUILT_FROM)
	$(PYTHON) -c '$(BUILD_RUNTIME)' & runtime=$$!; \
	{ test -x $(PY) || $(PYTHON) -m venv $(VENV); } && \
	$(PY) -m pip install --quiet --disable-pip-version-check --no-compile -e '.[dev]'; \
	installed=$$?; wait $$runtime && exit $$installed
	@touch $@

demo: $(INSTALLED) ## install into .venv, then compile and run the seed RNN and compare it with eager
	$(PY) examples/rnn.py $(ARGS)

# Threads of OpenMP wait awake by default, and take the cores from the other worker.
test: export OMP_WAIT_POLICY := passive
test: $(INSTALLED) ## install and run the tests, but those that are slow by nature
	$(PYTEST) -m "not slow" $(ARGS)

test-all: $(INSTALLED) ## run all tests: full sweeps, sanitizers and benchmarks as well
	$(PYTEST) $(ARGS)

# libstdc++ is named too: ASan must see it at start, or it dies at torch's first C++ exception.
test-san: $(INSTALLED) ## run all tests on C built with ASan and UBSan (gcc)
	SCRIPTC_SANITIZE=1 ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" \
	$(PYTEST) $(ARGS)

# mypy wants the installed layout. build is emptied because setuptools would install stale files from it.
check: $(INSTALLED) ## ruff, mypy on a regular installation, and the layering test
	$(PY) -m ruff check .
	rm -rf build
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --target build/check .
	cd build/check && MYPYPATH=. ../../$(PY) -m mypy --config-file ../../pyproject.toml -p scriptc
	$(PY) -m pytest -q tests/test_layering.py

bench: $(INSTALLED) ## run the benchmarks: make bench ARGS=rnn (pip install -e '.[bench]' adds rivals)
	$(PY) -m benchmarks $(ARGS)

ulp: $(INSTALLED) ## measure the error of every transcendental function over all float32 inputs
	$(PY) -m benchmarks ulp $(ARGS)

clean: ## remove what was built here, .venv included
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis $(VENV)
	find . -name __pycache__ -prune -exec rm -rf {} +
	find scriptc frontend ir backend_c runtime -name '*.so' -delete
