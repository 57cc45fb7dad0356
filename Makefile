# Four commands a newcomer needs: make serve, make test, make lint, make format.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
# ACCELERATOR=cpu serves from the CPU of a machine that has a GPU.
ACCELERATOR := $(shell nvidia-smi -L >/dev/null 2>&1 && echo gpu || echo cpu)
OTHER_RUNTIME := $(if $(filter gpu,$(ACCELERATOR)),onnxruntime,onnxruntime-gpu)
PIP_INSTALL := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt --editable

# The first interpreter that this project supports and that can make a virtual environment.
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' >/dev/null 2>&1 \
	&& { echo "$$python"; break; }; done)

# The tools of `make containers`.
BUILD_ARGS ?=
# What the images install, and the programs that inspect it, each in a separate environment.
SHIPPED := $(VENV)/shipped
SUPPLY := $(VENV)/supply/bin
SUPPLY_PROGRAMS := 'cyclonedx-bom>=7.0' 'pip-audit>=2.9'
# What `make release-check` uses, in an environment of its own.
RELEASE := $(VENV)/release/bin
RELEASE_PROGRAMS := build check-wheel-contents twine uv zizmor
# The images' packages: for every Linux and Python, without an address of an index.
LOCK := $(RELEASE)/uv pip compile --quiet --universal --generate-hashes --constraint constraints.txt --no-header --no-annotate
IMAGE_EXTRAS := --extra documents --extra import --extra tracing
SBOM := build/sbom-$(ACCELERATOR).cdx.json

.PHONY: help serve training test durations lint format book docs sbom audit resolve locked release-check containers bench bench-soak gpu-check clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(VENV)/serving-$(ACCELERATOR) ## Serve the shipped models on port 8000 (PORT=8123, MODELS="en-es es-en" for more)
	@$(if $(MODELS),$(BIN)/translucent models get $(MODELS) --yes --if-missing)
	@exec $(BIN)/translucent serve --port $(PORT)

training: $(VENV)/training-$(ACCELERATOR) ## Install what `python -m training` needs

# The files of tests are shared out to two processes: most tests use one thread, and many wait for a server.
test: TEST_PROCESSES ?= 2
test: $(VENV)/development-$(ACCELERATOR) ## Run every test (ARGS="-k beam" for some, TEST_PROCESSES=0 for one process)
	$(BIN)/python -m pytest --numprocesses=$(TEST_PROCESSES) --dist=loadfile $(ARGS)

durations: ARGS += -p tests.support.durations
durations: test ## Run every test, and keep how long the slowest took in tests/durations.txt

lint: $(VENV)/development-$(ACCELERATOR) ## Check style, types, imports, and files that must agree
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest --quiet tests/project

format: $(VENV)/development-$(ACCELERATOR) ## Format the code and fix what can be fixed automatically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

book: $(VENV)/development-$(ACCELERATOR) ## Execute the pages of docs/learn and write them for /learn/ (a minute)
	OMP_NUM_THREADS=1 $(BIN)/python docs/tools/book.py $(ARGS)

docs: $(VENV)/development-$(ACCELERATOR) ## Write the generated parts of docs/, build the docs site in build/site, check its links
	$(BIN)/python docs/tools/generate.py
	$(BIN)/python docs/tools/build_site.py

sbom: $(SBOM) ## List what an image installs, as CycloneDX, in build/

audit: $(VENV)/supply-installed ## Ask the public service for vulnerabilities of what is pinned (needs the network)
	@$(BIN)/python deploy/audit.py --pip-audit $(SUPPLY)/pip-audit $(ARGS)

resolve: $(VENV)/release-installed ## Resolve every extra for every Python and system (needs the network)
	$(BIN)/python -m deploy.resolve --uv $(RELEASE)/uv

locked: $(VENV)/release-installed ## Write the packages of the images with the hashes of their files (needs the network)
	for kind in cpu gpu; do $(LOCK) pyproject.toml --output-file deploy/locked/$$kind.txt --extra $$kind $(IMAGE_EXTRAS) > /dev/null; done
	echo hatchling | $(LOCK) - --output-file deploy/locked/build.txt > /dev/null

release-check: resolve docs ## Build site, wheel and sdist, use them with every Python that is here, check the workflows
	$(RELEASE)/zizmor --offline --persona auditor .github/workflows
	$(BIN)/python -m deploy.release_check --tools $(RELEASE) $(ARGS)

containers: $(VENV)/development-$(ACCELERATOR) ## Build the image and test it with podman and compose (BUILD_ARGS for podman build)
	podman build --format docker $(BUILD_ARGS) --label $$($(BIN)/python -m deploy.sources) \
		--tag translucent .
	$(BIN)/python -m pytest -s tests/deploy/test_containers.py tests/deploy/test_compose.py

bench: $(VENV)/bench-$(ACCELERATOR) ## Measure speed against CTranslate2 and PyTorch (20 minutes; do nothing else)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.engine --share 0.35 --rounds 3 --precisions int8 --publish
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.load --seconds 6 --publish

bench-soak: $(VENV)/bench-$(ACCELERATOR) ## Watch the server's memory over 60,000 requests
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.soak

gpu-check: $(VENV)/bench-$(ACCELERATOR) ## On a machine with an NVIDIA GPU: check that it computes the same, measure, write docs/benchmarks.md
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.gpu --publish $(ARGS)

clean: ## Remove the virtual environment and the caches
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12, 3.13 or 3.14 with its venv module is needed" \
		"(on Debian: apt-get install python3-venv)." >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# ONNX Runtime's two flavours share one package folder, so the other one is removed first.
$(VENV)/serving-$(ACCELERATOR): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what serving needs ($(ACCELERATOR))"
	@rm -f $(VENV)/serving-* $(VENV)/training-* $(VENV)/development-* $(VENV)/bench-*
	@$(BIN)/python -m pip uninstall --quiet --quiet --yes $(OTHER_RUNTIME)
	@$(PIP_INSTALL) '.[$(ACCELERATOR),client,documents,import]'
	@touch $@

$(VENV)/training-$(ACCELERATOR): $(VENV)/serving-$(ACCELERATOR)
	@echo "Installing what training needs"
	@$(PIP_INSTALL) '.[$(ACCELERATOR),client,documents,import,training]'
	@touch $@

$(VENV)/development-$(ACCELERATOR): $(VENV)/serving-$(ACCELERATOR)
	@echo "Installing what tests, checks and training need"
	@$(PIP_INSTALL) '.[$(ACCELERATOR),documents,mcp,training,docs,dev]'
	@touch $@

$(VENV)/bench-$(ACCELERATOR): $(VENV)/development-$(ACCELERATOR)
	@echo "Installing what the measurements compare with"
	@$(PIP_INSTALL) '.[$(ACCELERATOR),documents,mcp,training,docs,dev,bench]'
	@touch $@

$(VENV)/supply-installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what sees to the supply chain"
	@$(BIN)/python -m venv --clear --without-pip $(VENV)/supply
	@$(BIN)/python -m pip --python $(SUPPLY)/python install --quiet --quiet --disable-pip-version-check \
		--constraint constraints.txt $(SUPPLY_PROGRAMS)
	@touch $@

$(VENV)/release-installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what checks a release"
	@$(BIN)/python -m venv --clear --without-pip $(VENV)/release
	@$(BIN)/python -m pip --python $(RELEASE)/python install --quiet --quiet --disable-pip-version-check \
		--constraint constraints.txt $(RELEASE_PROGRAMS)
	@touch $@

$(SBOM): pyproject.toml constraints.txt $(VENV)/supply-installed
	@echo "Installing what an image has, to look at it"
	@$(BIN)/python -m venv --clear --without-pip $(SHIPPED)
	@$(BIN)/python -m pip --python $(SHIPPED)/bin/python install --quiet --quiet --disable-pip-version-check \
		--constraint constraints.txt '.[$(ACCELERATOR),documents,import,tracing]'
	@mkdir -p $(@D)
	@$(SUPPLY)/cyclonedx-py environment --pyproject pyproject.toml --mc-type application --output-reproducible \
		--output-file $@ $(SHIPPED)/bin/python
	@echo "$@: $$(grep -c '"purl"' $@) packages"
