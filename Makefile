# What is typed here: `make test` and `make demo`; `make` alone lists the rest.
#
# A fresh machine needs make and Python 3.11 or newer. Everything else is installed into .venv from the pins under
# requirements/, each with its hash; a stamp file remembers that, until the pins or pyproject.toml change.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

# Byte code is kept, whatever the machine says: a test that starts the program would compile all of it each time.
export PYTHONDONTWRITEBYTECODE :=

# The first interpreter that is new enough and can make virtual environments; to try another: make PYTHON=… test
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo "$$python"; break; }; done)

# One that is named on the command line has an environment of its own: .venv may be of another version, and stays so.
TELL_VERSION := 'import sys; print("%d.%d" % sys.version_info[:2])'
VENV := .venv$(if $(findstring command,$(origin PYTHON)),-$(shell $(PYTHON) -c $(TELL_VERSION)))
BIN := $(VENV)/bin
HAS_RUN := $(VENV)/.has-run
HAS_DEV := $(VENV)/.has-dev
# gssapi, of the extra kerberos, has no wheel for Linux. Where it cannot be compiled, its tests are skipped and say so.
HAS_HEADER := 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
CAN_COMPILE := { command -v krb5-config && command -v gcc && $(PYTHON) -c $(HAS_HEADER); } >/dev/null
HAS_KERBEROS := $(if $(shell $(CAN_COMPILE) && echo yes),$(VENV)/.has-kerberos)
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

# The examples of property tests are the same ones each time, and have no deadline: a red run is never the weather.
# Two workers suit the smallest machine; JOBS=0 runs everything in one process, which is what a debugger wants.
JOBS ?= 2
PYTEST := $(BIN)/python -m pytest --hypothesis-profile=ci

# A link that leads nowhere stops it. The variable silences a remark about other programs.
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

# The folders of `make test-fast`, and the only list of them. Those with sockets, processes or long walks are not in it.
# --ignore leaves out what kills runs at every instant.
FAST := architecture core definitions dryrun hooks reports semp snapshot world world_amps
FAST_NOT := core/test_kill.py core/test_any_world.py

# A planned move of the embedded simulated pair, with the decisions on its prepared transactions made beforehand.
DEMO := $(BIN)/failover controlled Trading_VPN --yes --xa examples/demo-decisions.yaml
DEMO_STATE := .demo

# Pins keep their versions unless pyproject.toml forbids them; the newest ones: make pins UPGRADE=--upgrade
UPGRADE ?=
COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command 'make pins' $(UPGRADE)

# $(call stage,name,command): run one stage; on failure say which one it was, and stop.
define stage
@printf '\n== %s\n' '$(1)'; $(2) || { printf '\nmake $@: stopped at "%s"\n' '$(1)' >&2; exit 1; }
endef

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: $(HAS_DEV) $(HAS_KERBEROS) ## Everything that must hold: format, lint, types, architecture, all tests
	$(call stage,format,$(BIN)/ruff format --check --output-format concise .)
	$(call stage,lint,$(BIN)/ruff check .)
	$(call stage,types,$(BIN)/mypy)
	$(call stage,architecture,$(PYTEST) -q --no-header tests/architecture)
	$(call stage,documents,$(MKDOCS))
	$(call stage,tests,$(PYTEST) -n $(JOBS) --dist worksteal --durations 20)

.PHONY: test-fast
test-fast: $(HAS_DEV) ## Before each commit: format, lint, types, and the folders that need no more than seconds
	$(call stage,format,$(BIN)/ruff format --check --output-format concise .)
	$(call stage,lint,$(BIN)/ruff check .)
	$(call stage,types,$(BIN)/mypy)
	$(call stage,tests,$(PYTEST) -q --no-header -n $(JOBS) -m 'not realtime' $(FAST:%=tests/%) $(FAST_NOT:%=--ignore=tests/%))

.PHONY: proof
proof: $(HAS_DEV) $(HAS_KERBEROS) ## The long forms of what `make test` samples: every kill, more seeds, whole explorations
	$(call stage,long tests,$(PYTEST) -n $(JOBS) --dist worksteal --durations 20 --long -m long)

.PHONY: real
real: $(HAS_DEV) ## Moves of real PostgreSQL, Redis, RabbitMQ and NATS servers under load, each killed and resumed 25 times
	$(call stage,real servers,$(PYTEST) -n $(JOBS) --dist loadfile --durations 20 --long tests/real)

# The versions of what it needs, for an installer that takes no hashes: pipx install --pip-args="--constraint …".
.PHONY: wheel
wheel: $(HAS_RUN) ## The wheel, with the constraints beside it, in dist
	@rm -rf dist
	$(BIN)/python -m hatchling build --target wheel --directory dist
	@sed -n 's/^\([a-z0-9][^ ]*==[^\\]*[^ \\]\).*/\1/p' requirements/run.txt > dist/constraints.txt

# It is installed from the bundle at once, in a fresh environment and without an index: what cannot be installed is no bundle.
.PHONY: bundle
bundle: wheel ## Everything to install without a network, in build/bundle: pinned wheels, checksums, a script
	install/bundle.sh $(BIN)/python "$$(ls dist/failover-*.whl)" build/bundle
	@rm -rf build/try
	PYTHON=$(BIN)/python build/bundle/install.sh build/try
	@FAILOVER_STATE=build/try/state build/try/bin/failover runbook show solace/controlled >/dev/null && rm -rf build/try

.PHONY: man
man: $(HAS_RUN) ## Manual pages, one for each command, in build/man
	@$(BIN)/failover man build/man

.PHONY: demo
demo: $(HAS_RUN) ## Move a message VPN of the simulated pair, from a fresh start
	@rm -rf $(DEMO_STATE)
	@mkdir -m 700 $(DEMO_STATE)
	env -u FAILOVER_JOURNAL -u FAILOVER_INVENTORY FAILOVER_STATE=$(DEMO_STATE) $(DEMO)

.PHONY: docs
docs: $(HAS_DEV) ## Build the documents as a site, in build/site
	$(call stage,documents,$(MKDOCS))

.PHONY: pictures
pictures: $(HAS_DEV) ## Make the pictures of the documents again, from the program itself; needs tmux and chromium
	$(BIN)/python docs/pictures/make.py

.PHONY: lint
lint: $(HAS_DEV) ## Format check, lint and types only
	$(call stage,format,$(BIN)/ruff format --check .)
	$(call stage,lint,$(BIN)/ruff check .)
	$(call stage,types,$(BIN)/mypy)

.PHONY: format
format: $(HAS_DEV) ## Format the sources and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: bench
bench: $(HAS_DEV) ## Print the figures; some only: make bench ONLY="name …" ROWS=1000000
	$(BIN)/python -m bench.run $(ONLY) $(if $(ROWS),--rows $(ROWS))

.PHONY: bench-peers
bench-peers: $(HAS_DEV) ## The same work by this program and others: make bench-peers ONLY="ssh steps postgresql" ROUNDS=5
	$(BIN)/python -m bench.peers.run $(ONLY) $(if $(ROUNDS),--rounds $(ROUNDS))

.PHONY: pins
pins: ## Compute requirements/ again from pyproject.toml (needs uv)
	@command -v uv >/dev/null || { echo 'make pins needs uv on the PATH' >&2; exit 1; }
	$(COMPILE) --group build pyproject.toml -o requirements/run.txt
	$(COMPILE) --group dev --constraints requirements/run.txt pyproject.toml -o requirements/dev.txt
	$(COMPILE) --group pyproject.toml:apart --constraints requirements/dev.txt \
		--no-emit-package pyspark --no-emit-package py4j --no-emit-package pyarrow -o requirements/apart.txt
	$(COMPILE) --group pyproject.toml:docs --constraints requirements/dev.txt -o requirements/docs.txt
	$(COMPILE) --group pyproject.toml:kerberos --constraints requirements/dev.txt -o requirements/kerberos.txt

.PHONY: clean
clean: ## Remove what make and the tools made, .venv too
	rm -rf .venv .venv-* $(DEMO_STATE) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# pip comes last into a new environment, so one that broke off half-way is made again.
$(BIN)/pip:
	@[ -n "$(PYTHON)" ] || { echo 'no Python 3.11 or newer that can make a virtual environment was found;' \
		'on Debian: apt-get install python3-venv; elsewhere: PYTHON=path/to/python make …' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(HAS_RUN): requirements/run.txt pyproject.toml | $(BIN)/pip
	$(PIP_INSTALL) --require-hashes -r requirements/run.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# dev.txt holds all that run.txt holds, in the same versions. Two tests have a process with apart.txt on its path.
$(HAS_DEV): requirements/dev.txt requirements/docs.txt requirements/run.txt requirements/apart.txt pyproject.toml | $(BIN)/pip
	$(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	$(PIP_INSTALL) --require-hashes -r requirements/docs.txt
	rm -rf $(VENV)/apart
	$(PIP_INSTALL) --require-hashes --no-deps --target $(VENV)/apart -r requirements/apart.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation -e .
	@touch $(HAS_RUN) $@

$(VENV)/.has-kerberos: requirements/kerberos.txt | $(HAS_DEV)
	$(PIP_INSTALL) --require-hashes -r requirements/kerberos.txt && touch $@ || \
		echo 'WARNING: the extra kerberos could not be installed; its tests are skipped' >&2
