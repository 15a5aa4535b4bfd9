# Needs make and Python 3.11 or later. `make setup` puts everything else into .venv.
.POSIX:
.SUFFIXES:
.PHONY: help setup demo test crashes lint format bench docs schemas lock clean

BIN = .venv/bin
READY = .venv/.ready

help:
	@echo "make setup    install everything into .venv, by hash"
	@echo "make demo     take the Adult-TN example through the gate: decision, bundle and PDF in build/demo"
	@echo "make test     run the tests"
	@echo "make crashes  kill releases and votes fifty times at random moments; some 20 minutes (TIMES=50 SEED=1)"
	@echo "make lint     style, types, direction of imports"
	@echo "make bench    reproduce the papers' figures, time them, write build/bench/*.json"
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
	@$(BIN)/releasegate release examples/adult-tn/request.yaml --workspace build/demo || [ $$? -eq 3 ]

test: setup
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

TIMES = 50
SEED = 1

crashes: setup
	$(BIN)/python -m tests.crashes --times $(TIMES) --seed $(SEED)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m tests.benchmarks

docs: setup
	$(BIN)/pytest tests/docs

schemas: setup
	$(BIN)/python -m tasks.request.schema

lock: setup
	settings=$$($(BIN)/python deployments/pip_settings.py --locking) && eval "$$settings" && \
	$(BIN)/uv pip compile pyproject.toml --quiet --universal --all-extras --generate-hashes \
	    --no-emit-index-url --no-header -o requirements.lock

clean:
	rm -rf .venv build releasegate.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
