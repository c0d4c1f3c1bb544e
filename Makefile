# `make demo` and `make test` need nothing but Python 3.11+ and make: they build .venv when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test test-all soak lint bench clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# Prefect's empty database, which its temporary servers begin with: to make one takes half a minute.
	@rm -rf $(VENV)/share/dat-bench/prefect && mkdir -p $(VENV)/share/dat-bench/prefect
	@env -u PREFECT_API_DATABASE_CONNECTION_URL -u PREFECT_SERVER_DATABASE_CONNECTION_URL \
		PREFECT_HOME="$(CURDIR)/$(VENV)/share/dat-bench/prefect" $(BIN)/prefect server database upgrade -y > /dev/null
	@touch $@

demo: install
	$(BIN)/dat run demo
	$(BIN)/dat sql "SELECT group_name, any_value(accuracy) FILTER (method = 'zero_shot') AS zero_shot, \
		any_value(accuracy) FILTER (method = 'dat') AS dat, any_value(total) AS images FROM group_accuracy \
		WHERE dataset = 'toybirds' AND backbone = 'toyclip' AND variant = '' GROUP BY group_name ORDER BY group_name"

# Everything that matters, the same on every run.
test: install
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow and not prefect" tests

# And what takes long: kill loops, the fault and hostile campaigns, servers, browsers.
test-all: test
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "slow or prefect" tests

# Faults of every kind, one after the other, for so many minutes: killed runs, full disks, damaged files and the like;
# and hostile input of every kind for as many again.
soak: MINUTES ?= 30
soak: install
	$(BIN)/python -m tests.faults --minutes $(MINUTES)
	$(BIN)/python -m tests.hostile --minutes $(MINUTES)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: install
	$(BIN)/python -m tests.benchmarks

clean:
	rm -rf $(VENV) .venv-bench .mypy_cache .ruff_cache
