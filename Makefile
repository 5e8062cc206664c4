# Every target makes its own environment in .venv first; on a fresh machine `make demo` is enough.
# Another interpreter: make venv PYTHON=python3.12

PYTHON ?=
CANDIDATES := $(if $(PYTHON),$(PYTHON),python3 python3.11 python3.12 python3.13 python3.14 python)
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help venv demo test lint docs bench coverage mutants clean
.DELETE_ON_ERROR:

help:
	@echo "make venv      set up .venv with everything pinned in constraints.txt"
	@echo "make demo      the tour: index, fit and evaluate on the code installed on this machine"
	@echo "make test      the tests"
	@echo "make lint      ruff, mypy --strict, and whether the generated docs are up to date"
	@echo "make docs      write docs/commands/ anew from the command line's own help"
	@echo "make bench     run every script in benchmarks/"
	@echo "make coverage  the tests with branch coverage"
	@echo "make mutants   mutation run over locality, knnlm and index (an hour or more)"
	@echo "make clean     remove what the tools left behind; .venv stays"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@set -e; \
	if [ ! -x $(BIN)/python ]; then \
	    found=; \
	    for python in $(CANDIDATES); do \
	        if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	        then found="$$python"; break; fi; \
	    done; \
	    if [ -z "$$found" ]; then \
	        echo "vicinal needs Python 3.11 or newer; tried: $(CANDIDATES)." >&2; \
	        echo "Install one, or name it: make venv PYTHON=/path/to/python3.11" >&2; exit 1; \
	    fi; \
	    "$$found" -m venv .venv || { rm -rf .venv; \
	        echo "$$found cannot make a virtual environment (on Debian: install python3-venv)." >&2; \
	        exit 1; }; \
	fi
	@echo "Setting up .venv: this takes some minutes, most of it for torch."
	$(BIN)/python -m pip install -qq -c constraints.txt -e '.[all,dev]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/vicinal demo

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python docs/generate.py --check

docs: $(STAMP)
	$(BIN)/python docs/generate.py

bench: $(STAMP)
	@set -e; for script in benchmarks/*.py; do \
	    [ -e "$$script" ] || { echo "There is no benchmark yet."; break; }; \
	    echo "== $$script"; $(BIN)/python "$$script"; \
	done

coverage: $(STAMP)
	$(BIN)/python -m pytest --cov --cov-report=term $(ARGS)

mutants: $(STAMP)
	$(BIN)/mutmut run
	$(BIN)/mutmut export-cicd-stats
	cat mutants/mutmut-cicd-stats.json

clean:
	rm -rf build dist htmlcov mutants .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
