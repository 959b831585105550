# Every command that works on this project. `make help` lists them; CONTRIBUTING.md explains them.
# The first call sets up .venv; `PYTHON=/path/to/python3` names another interpreter, `ARGS=...` goes to pytest, or to
# what the command runs.

SHELL := /bin/sh
SETUP := PYTHON='$(PYTHON)' tools/setup.sh
BIN := .venv/bin
OLD := .venv-nanobot-0.3.0
MCP2 := .venv-mcp2
EXPORT := $(BIN)/uv export --quiet --frozen --format requirements-txt --no-header --no-emit-project
# The files with tests of this mark, so that the others need not be collected.
marked = $(shell grep -rlE --include='test_*.py' 'mark\.($(1))\b' tests)
ARGS ?=
LINE ?=
export LINE # not through the shell: the lines of the changelog are full of backticks
# More processes than processors, since tests wait, but no more than keep two of them busy: each imports everything. Tests
# of one module share a process, for what they share; in the order of the folders, which has the long modules first.
# `SIDE_BY_SIDE=` runs one test after another.
SIDE_BY_SIDE ?= -n 5 --dist loadscope --no-loadscope-reorder
# Where it is set, each of the hundreds of processes that tests start would compile the product again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z0-9][a-z0-9.-]*\):.*/\1/p' Makefile)

help: ## list these commands
	@sed -n 's/^\([a-z0-9.-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 30

demo: ## two bots in a simulated group share one record; no account or key needed
	@$(SETUP) demo
	@$(BIN)/nanobot-transcript demo $(ARGS)

test: ## every test that needs no outside service
	@$(SETUP) test
	@$(BIN)/python -m pytest -m "not soak and not conformance" $(SIDE_BY_SIDE) $(ARGS)

soak: ## the fault and load tests with full repetitions (up to an hour)
	@$(SETUP) test
	@$(BIN)/python -m pytest -m soak -s -o timeout=1800 --session-timeout=3600 $(ARGS)

mutants: ## measure coverage, and how many small breaks of the product the tests catch (an hour or more)
	@$(SETUP) test
	@$(BIN)/python -m tools.mutants $(ARGS)

check: ## style, types, imports between rooms, lengths, what must not be committed
	@$(SETUP) check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright
	$(BIN)/lint-imports
	$(BIN)/python tools/check_lengths.py
	$(BIN)/python tools/check_committed.py

format: ## let ruff format and mend the code
	@$(SETUP) check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: ## rewrite what is generated: config.example.yaml and the tables of settings and commands
	@$(SETUP) test
	@$(BIN)/python -m nanobot_transcript.cli.generated_docs

golden: ## rewrite the snapshots of what programs rely on; LINE="..." begins the line in CHANGELOG.md that tells users
	@$(SETUP) test
	@PYTHONPATH=tests $(BIN)/python -m golden

web: ## build the web UI from web/ into the package; ARGS=--lock resolves its Node packages anew
	@$(SETUP) check
	@$(BIN)/python tools/web.py $(ARGS)

pictures: ## make the README's pictures again: a demo in each language, at a terminal and on its page
	@$(SETUP) test
	@PYTHONPATH=tests $(BIN)/python -m tools.pictures

bench: ## measure against the named baselines, a table at a time; ARGS=mail one room, ARGS=--help says more
	@$(SETUP) test
	@$(BIN)/python -m benchmarks $(ARGS)

test-pythons: ## the store's tests on every other supported Python of this machine
	@$(SETUP) test
	@$(BIN)/python tools/test_pythons.py $(SIDE_BY_SIDE) $(ARGS)

test-nanobot-0.3.0: ## what depends on the versions of nanobot and of the MCP SDK, with the oldest supported ones
	@$(SETUP) nanobot-0.3.0 $(OLD)
	@$(OLD)/bin/python -m pytest -m "host and not soak" $(call marked,host) $(SIDE_BY_SIDE) $(ARGS)
	@$(OLD)/bin/python -m pytest -m "mcp and not soak and not conformance" $(call marked,mcp) $(SIDE_BY_SIDE) $(ARGS)

test-mcp2: ## types of the MCP servers and what depends on the SDK, with SDK 2.x
	@$(SETUP) mcp2 $(MCP2)
	@$(SETUP) check
	@$(BIN)/basedpyright -p tools/basedpyright-mcp2.json
	@$(MCP2)/bin/python -m pytest -m "mcp and not soak and not conformance" $(call marked,mcp) $(SIDE_BY_SIDE) $(ARGS)

test-conformance: ## what needs Node: the MCP conformance suite and the Inspector on both SDKs, the web UI built again
	@$(SETUP) mcp2 $(MCP2)
	@$(SETUP) check
	@$(BIN)/python tools/node_modules.py tests/conformance
	@$(BIN)/python tools/node_modules.py web
	@$(BIN)/python -m pytest -m conformance tests/conformance $(ARGS)

setup: ## the whole development environment in .venv, for editors
	@$(SETUP) check

lock: ## resolve again and rewrite requirements/ (hashes, no addresses)
	@$(SETUP) uv
	UV_SYSTEM_CERTS=1 $(BIN)/uv lock --quiet --upgrade
	$(EXPORT) --only-group uv -o requirements/uv.txt >/dev/null
	$(EXPORT) --group build --group test -o requirements/core.txt >/dev/null
	$(EXPORT) --group build --group host --group database -o requirements/demo.txt >/dev/null
	$(EXPORT) --group build --group host --group test --group browser --group mutants -o requirements/test.txt >/dev/null
	$(EXPORT) --group build --group host --group test --group browser --group mutants --group lint --group node -o requirements/check.txt >/dev/null
	$(EXPORT) --group build --group host-0-3-0 --group test -o requirements/nanobot-0.3.0.txt >/dev/null
	$(EXPORT) --group build --group mcp2 --group test -o requirements/mcp2.txt >/dev/null
	@wc -l requirements/*.txt
