# Needs GNU make and Python 3.11 or later. PYTHON=python3.13 takes another interpreter, in an environment of its own.
PYTHON ?=
VENV ?= $(if $(PYTHON),.venv-$(notdir $(PYTHON)),.venv)
RUN := $(VENV)/bin/python

# What a developer has set for other work must not reach the tools, the emulator or the tests.
unexport $(filter-out PYTHON,$(filter AWS_% PYTHON% PYTEST_% COVERAGE_% MYPY% RUFF_% CDK_% JSII_% NODE_ENV NODE_OPTIONS NODE_PATH,$(.VARIABLES)))
export AWS_CONFIG_FILE := /dev/null
export AWS_SHARED_CREDENTIALS_FILE := /dev/null
export AWS_EC2_METADATA_DISABLED := true
export NO_PROXY := 127.0.0.1,localhost,$(NO_PROXY)
export no_proxy := $(NO_PROXY)
export PYTHONNOUSERSITE := 1

.PHONY: help setup demo up down check test lock
.DEFAULT_GOAL := help

help: ## Lists these commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Makes the environment: packages in .venv, the CDK in node_modules
	@PYTHON="$(PYTHON)" VENV="$(VENV)" tools/setup

demo: setup ## Publishes to 200 people on the local stack and checks who was told
	@$(RUN) -m examples.demo

up: setup ## Starts the local stack in the background, on port NOTIFY_PORT (4566)
	@$(RUN) -m infra.local up

down: setup ## Stops the local stack
	@$(RUN) -m infra.local down

check: setup ## Lints, types and layering; ONLY="ruff mypy" picks some of the tools
	@$(RUN) -m tools.check $(ONLY)

test: check ## Everything: check, the tests, and the tests on a local stack of their own
	$(RUN) -m pytest --numprocesses=2 --cov=notify_core --ignore=tests/local
	$(RUN) -m pytest tests/local

lock: setup ## Pins the packages of requirements/*.in anew; UPGRADE=1 takes the latest
	@tools/lock "$(VENV)" $(if $(UPGRADE),--upgrade)
