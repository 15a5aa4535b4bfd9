# Needs make and Python 3.11 or later. `make setup` puts everything else into .venv.
.POSIX:
.SUFFIXES:
.PHONY: help setup demo browser test test-all golden crashes outages attacks mutations damaged image lint dependencies advisories format bench scale docs schemas lock clean

BIN = .venv/bin
# Tests start many processes, which should find the modules compiled, whatever the environment says.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/pytest
# One worker a core of the build machine; `make test-all WORKERS=3` takes another number.
WORKERS = 2
# A worker that a hanging test has ended is not started again: it would run the same test.
PARALLEL = -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
READY = .venv/.ready

help:
	@echo "make setup    install everything into .venv, by hash"
	@echo "make demo     take the Adult-TN example through the gate: decision, bundle and PDF in build/demo"
	@echo "make test     run the quick tests: no service process, browser, PostgreSQL or kill"
	@echo "make test-all run every test, those marked slow too, properties at full counts"
	@echo "make browser  see to a Chromium, for the tests of the reviewer's page that need one"
	@echo "make golden   compare what small requests come to with what they came to (python -m tests.golden --update rewrites)"
	@echo "make crashes  kill releases and votes fifty times at random moments; some 20 minutes (TIMES=50 SEED=1)"
	@echo "make outages  kill the service, its Prefect server, its runner, a run or PostgreSQL at random moments (TIMES=50 SEED=1)"
	@echo "make attacks  exchange every file at every border of a release, and count what leaves other than assessed: none may"
	@echo "make mutations  change one thing of careful requests at random; no unsafe file may be approved (TIMES=50 SEED=1)"
	@echo "make damaged  damage 2,000 files of every form at random, and see that init and check show neither data nor tracebacks"
	@echo "make image    build and check the image, where Docker answers"
	@echo "make lint     style, types, direction of imports"
	@echo "make dependencies  check lock, installed packages and licences; part of make lint"
	@echo "make advisories  ask for known vulnerabilities of the locked packages; needs the network"
	@echo "make bench    reproduce the papers' figures, time them, write build/bench/*.json"
	@echo "make scale    measure the gate and the counting by size of the file, up to 10^SCALE records (SCALE=6)"
	@echo "make docs     check the documents: links, commands, options, schemas"
	@echo "make schemas  write the JSON Schemas of request and decision into schemas/"
	@echo "make format   apply the formatter"
	@echo "make lock     resolve the dependencies of pyproject.toml anew into requirements.lock"
	@echo "make clean    remove what was built, .venv too"

setup: $(READY)

$(READY): requirements.lock pyproject.toml deployments/requirements-bootstrap.txt deployments/setup.sh deployments/system-libraries.sh deployments/pip_settings.py
	@sh deployments/setup.sh
	@touch $@

# The example blocks one of its three recipients, which the gate reports as exit code 3.
demo: setup
	@$(BIN)/releasegate release examples/adult-tn/request.yaml --enrol --workspace build/demo || [ $$? -eq 3 ]

test: setup
	$(PYTEST) $(PARALLEL) -m "not slow"

test-all: setup
	RELEASEGATE_FULL_TESTS=1 $(PYTEST) $(PARALLEL)

golden: setup
	@$(BIN)/python -m tests.golden

browser:
	@sh deployments/browser.sh

TIMES = 50
SEED = 1

crashes: setup
	$(BIN)/python -m tests.crashes --times $(TIMES) --seed $(SEED)

outages: setup
	$(BIN)/python -m tests.crashes.service --times $(TIMES) --seed $(SEED)

attacks: setup
	$(BIN)/python -m tests.attacks

mutations: setup
	$(BIN)/python -m tests.mutations --times $(TIMES) --seed $(SEED)

damaged: setup
	$(BIN)/python -m tests.damaged

image:
	@sh deployments/image.sh

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python deployments/dependencies.py

dependencies: setup
	$(BIN)/python deployments/dependencies.py
	VIRTUAL_ENV=.venv $(BIN)/uv pip check

# The auditing tool has an environment of its own, by hash as well, so that it is nowhere near the gate's.
advisories: setup
	$(BIN)/python -m venv --clear build/advisories
	build/advisories/bin/python -m pip install --quiet --require-hashes -r deployments/requirements-advisories.txt
	build/advisories/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements.lock

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m tests.benchmarks

SCALE = 6

scale: setup
	SCALE=$(SCALE) $(BIN)/python -m tests.benchmarks scale

docs: setup
	$(PYTEST) tests/docs

schemas: setup
	$(BIN)/python -m flows.schemas

lock: setup
	settings=$$($(BIN)/python deployments/pip_settings.py --locking) && eval "$$settings" && \
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --all-extras --generate-hashes \
	    --no-emit-index-url --no-header -o requirements.lock

clean:
	rm -rf .venv build releasegate.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
