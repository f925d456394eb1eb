# The commands of the README and of CONTRIBUTING.md. VENV, LIGHT and TORCH_CPU_INDEX may be set from outside.
VENV ?= .venv
LIGHT ?= .venv-light
AGN = $(VENV)/bin/agn

.PHONY: run test bench table lint fmt unit docs dist release-check setup setup-test setup-images

run: setup ; $(AGN) run examples/starter-lua.toml $(ARGS)
test: setup-images ; scripts/lint $(VENV)/bin && scripts/test $(VENV)/bin $(ARGS)
bench: setup-test ; $(VENV)/bin/python benchmarks/sandbox.py $(ARGS)
table: setup-test ; $(VENV)/bin/python benchmarks/table.py --write docs/results.md $(ARGS)

# These need Python and nothing else.
lint: ; @scripts/install-light $(LIGHT) lint && scripts/lint $(LIGHT)/bin
fmt: ; @scripts/install-light $(LIGHT) lint && $(LIGHT)/bin/ruff check --fix . && $(LIGHT)/bin/ruff format .
unit: ; @scripts/install-light $(LIGHT) unit && $(LIGHT)/bin/pytest tests/unit --numprocesses auto $(ARGS)
docs: ; @scripts/install-light $(LIGHT) docs && NO_MKDOCS_2_WARNING=1 $(LIGHT)/bin/mkdocs build --strict $(ARGS)
dist: ; @scripts/install-light $(LIGHT) release && $(LIGHT)/bin/python scripts/build_distributions.py dist

release-check: setup-test ; $(VENV)/bin/pytest tests/integration/test_release.py tests/integration/test_wheels.py $(ARGS)

setup: ; @scripts/install-system run && scripts/install-python $(VENV) run
setup-test: ; @scripts/install-system test && scripts/start-docker && scripts/install-python $(VENV) test
setup-images: setup-test ; @scripts/build-images $(VENV)
