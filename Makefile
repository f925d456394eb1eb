# The commands of the README. VENV and TORCH_CPU_INDEX may be set from outside.
VENV ?= .venv
AGN = $(VENV)/bin/agn

.PHONY: run test bench table lint fmt setup setup-test

run: setup ; $(AGN) run examples/starter-lua.toml $(ARGS)
test: setup-test lint ; scripts/test $(VENV)/bin $(ARGS)
bench: setup-test ; $(VENV)/bin/python benchmarks/sandbox.py $(ARGS)
table: setup-test ; $(VENV)/bin/python benchmarks/table.py --write docs/results.md $(ARGS)
lint: setup-test ; scripts/lint $(VENV)/bin
fmt: setup-test ; $(VENV)/bin/ruff check --fix . ; $(VENV)/bin/ruff format .

setup: ; @scripts/install-system run && scripts/install-python $(VENV)
setup-test: ; @scripts/install-system test && scripts/start-docker && scripts/install-python $(VENV)
