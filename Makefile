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

.PHONY: help setup demo up down check test simulate crash-points explore mutants mutate faults bench lock
.DEFAULT_GOAL := help

help: ## Lists these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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
	$(RUN) -m pytest --numprocesses=2 --dist=loadfile tests/local

simulate: setup ## Simulates SEEDS=500 from FIRST=0, or DELIVERIES=1000000, under faults; SEED=17 tells one run's history
	@nice $(RUN) -m tests.simulation $(if $(SEED),--seed $(SEED)) $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(FIRST),--first $(FIRST)) $(if $(DELIVERIES),--deliveries $(DELIVERIES))

crash-points: setup ## Lets every call of every scenario go wrong in every way, and judges; ONLY="retired" picks scenarios
	@nice $(RUN) -m tests.crash_points $(if $(ONLY),--only "$(ONLY)")

explore: setup ## Explores small configurations whole, then without each rule; ONLY=3b,4c picks some; SECONDS=600 each
	@nice $(RUN) -m tests.exploration $(if $(ONLY),--only "$(ONLY)") $(if $(SECONDS),--seconds $(SECONDS))

mutants: setup ## Seeds bugs into the product, one after another, and has the simulation find each; SEEDS=300 a bug
	@nice $(RUN) -m tests.simulation.hunt $(if $(SEEDS),--seeds $(SEEDS)) $(ONLY)

mutate: setup ## Changes the domain in thousands of small ways and shows what no test notices; ONLY="notice guard"
	@nice $(RUN) -m tools.mutate $(ONLY)

bench: setup ## Measures cost and speed, and writes docs/performance.md; ONLY="cost a h" picks benchmarks
	@nice $(RUN) -m bench $(ONLY)

faults: setup ## Lets everything around the deployed stack fail, and kills its functions; DELIVERIES=10000
	@DELIVERIES=$(DELIVERIES) $(RUN) -m pytest tests/local/faults.py --capture=no

lock: setup ## Pins the packages of requirements/*.in anew; UPGRADE=1 takes the latest
	@tools/lock "$(VENV)" $(if $(UPGRADE),--upgrade)
