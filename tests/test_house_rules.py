"""The rules of the house, as tests: layering, sizes, exports, what is forbidden, help texts."""

import ast
import importlib
import importlib.util
import os
import re
import resource
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import torch
from jaxtyping import TypeCheckError

import vicinal
from vicinal.index.neighbors import Neighbors

# A room imports only rooms that stand before it.
ROOMS = [
    "errors",
    "corpus",
    "lm",
    "datastore",
    "index",
    "cluster",
    "locality",
    "knnlm",
    "evaluation",
    "analysis",
    "paper",
    "generation",
    "server",
    "cli",
]
PACKAGE = Path(vicinal.__file__).parent
ROOT = Path(__file__).parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = sorted(p for d in ("benchmarks", "docs", "experiments") for p in (ROOT / d).rglob("*.py"))
ROOM_INITS = [p for p in SOURCES if p.name == "__init__.py" and p.parent != PACKAGE]
MAX_MODULE_LINES, MAX_FUNCTION_LINES, MAX_COMMAND_LINES = 400, 50, 120
VAGUE = {"utils", "util", "helpers", "common", "misc"}
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "joblib", "marshal", "shelve", "cloudpickle"}
UNSAFE_CALLS = {"eval", "exec", "torch.load"}
UNSAFE_KEYWORDS = {"trust_remote_code", "allow_pickle"}
HEAVY = {"torch", "transformers", "faiss", "numpy", "pyarrow", "matplotlib", "datasets"}


def module_name(source: Path) -> str:
    parts = source.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


MODULES = {module_name(source): source for source in SOURCES}
TREES = {source: ast.parse(source.read_text("utf-8")) for source in SOURCES + SCRIPTS}


def imported(source: Path) -> set[str]:
    """Name all modules a source imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(TREES[source]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}:{node.lineno}: imports are written in full"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return found


def each(sources: list[Path]) -> pytest.MarkDecorator:
    ids = [str(s.relative_to(PACKAGE if s.is_relative_to(PACKAGE) else ROOT)) for s in sources]
    return pytest.mark.parametrize("source", sources, ids=ids)


@each(SOURCES)
def test_imports_point_one_way(source):
    """A room imports only itself and rooms above it in the order of the flow."""
    room = room_of(module_name(source))
    assert room in ["", *ROOMS], f"{room} is no room of this house: {ROOMS}"
    allowed = {""} if not room else {"", *ROOMS[: ROOMS.index(room) + 1]}
    ours = {module for module in imported(source) if module.split(".")[0] == "vicinal"}
    assert {room_of(module) for module in ours} <= allowed


def test_no_two_modules_import_one_another():
    """Modules form no cycle, inside a room or through its front door."""
    graph = {name: imported(source) & set(MODULES) for name, source in MODULES.items()}
    list(TopologicalSorter(graph).static_order())


@each(SOURCES)
def test_modules_and_functions_stay_small(source):
    """No module over 400 lines, no function over 50."""
    assert len(source.read_text("utf-8").splitlines()) <= MAX_MODULE_LINES
    for node in ast.walk(TREES[source]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < MAX_FUNCTION_LINES, node.name


@each([p for p in SOURCES if p.is_relative_to(PACKAGE / "cli")])
def test_commands_stay_thin(source):
    """A command parses, calls the library and prints: no file of the room is over 120 lines."""
    assert len(source.read_text("utf-8").splitlines()) <= MAX_COMMAND_LINES


@each(ROOM_INITS)
def test_exports_are_complete(source):
    """Everything public in a room's front door is in ``__all__``, once, and nothing else."""
    room = importlib.import_module(module_name(source))
    is_ours = {n for n, v in vars(room).items() if not n.startswith("_") and not is_module(v)}
    assert sorted(room.__all__) == sorted(is_ours)


def is_module(value: object) -> bool:
    return type(value).__name__ == "module"


@each(SOURCES)
def test_modules_say_what_they_do(source):
    """Every module opens with a docstring."""
    assert ast.get_docstring(TREES[source])


@each(SOURCES)
def test_names_say_something(source):
    """No module is called utils or the like, and no class is called Manager."""
    assert source.stem not in VAGUE
    classes = [n.name for n in ast.walk(TREES[source]) if isinstance(n, ast.ClassDef)]
    assert not [name for name in classes if name.endswith("Manager")]


@each(SOURCES + SCRIPTS)
def test_nothing_runs_code_from_data(source):
    """No pickle, no eval, no exec, no ``torch.load``, no trust in remote code."""
    assert not {name.split(".")[0] for name in imported(source)} & UNSAFE_MODULES
    for node in ast.walk(TREES[source]):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in UNSAFE_CALLS, node.lineno
            keywords = {k.arg for k in node.keywords if ast.unparse(k.value) != "False"}
            assert not keywords & UNSAFE_KEYWORDS, node.lineno


@each(SOURCES)
def test_no_error_is_swallowed_whole(source):
    """No ``except`` catches everything."""
    for node in ast.walk(TREES[source]):
        if isinstance(node, ast.ExceptHandler):
            caught = "" if node.type is None else ast.unparse(node.type)
            assert caught not in {"", "Exception", "BaseException"}, node.lineno


def test_every_error_is_drawn_in_the_tree():
    """The docstring of ``errors`` names every error it defines, and no other."""
    errors = importlib.import_module("vicinal.errors")
    defined = {name for name in vars(errors) if name.endswith("Error")}
    assert set(re.findall(r"[*-] (\w+)", errors.__doc__)) == defined


def test_every_import_is_a_declared_dependency():
    """What ``src`` imports from elsewhere stands in ``pyproject.toml``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(d for e in extras if e != "dev" for d in extras[e])]
    declared = {normal(re.match(r"[\w.-]+", line)[0]) for line in lines}
    origins = packages_distributions()
    tops = {name.split(".")[0] for source in SOURCES for name in imported(source)}
    for top in tops - set(sys.stdlib_module_names) - {"vicinal"}:
        distributions = origins.get(top, [top])
        assert {normal(name) for name in distributions} & declared, top


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_pin_exactly():
    """Every line of ``constraints.txt`` is one exact version."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert "torch==2.13.0" in pins
    assert not [line for line in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", line)]


def test_shapes_are_checked():
    """Under the tests' import hook a value of the wrong shape is refused."""
    entries = torch.zeros(2, 3, dtype=torch.int64)
    assert Neighbors(entries, torch.zeros(2, 3)).entries is entries
    with pytest.raises(TypeCheckError, match="distances"):
        Neighbors(entries, torch.zeros(2, 4))


@pytest.fixture(scope="module")
def generator():
    """Load the script that writes ``docs/commands``."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_commands_are_documented(generator):
    """The pages in ``docs/commands`` are those the command line would write today."""
    found = (ROOT / "docs" / "commands").glob("*.md")
    written = {p.relative_to(ROOT): p.read_text("utf-8") for p in found}
    assert written == generator.pages(), "run: make docs"


def test_readme_lists_every_file(generator):
    """The README ends with the tree of today's files, each with its comment."""
    text = (ROOT / "README.md").read_text("utf-8")
    assert text == generator.readme(text), "run: make docs"


def test_every_command_has_help_with_an_example(generator):
    """Every command says what it does and shows how, and every option says what it is for."""
    for path, command in generator.commands():
        name = " ".join(path)
        assert f"$ vicinal {name}" in (command.help or ""), f"{name} is missing an example"
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} has no help"


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_help_loads_nothing_heavy():
    """``vicinal --help`` and ``vicinal index --help`` import neither torch nor transformers."""
    for arguments in (["--help"], ["index", "--help"], ["--version"]):
        code = (
            "import atexit, sys; from vicinal.cli import main\n"
            f"atexit.register(lambda: print(sorted(set(sys.modules) & {HEAVY}), file=sys.stderr))\n"
            f"sys.argv = ['vicinal', *{arguments}]; main()"
        )
        done = run_python("-c", code)
        assert (done.returncode, done.stderr.strip()) == (0, "[]")


def test_help_answers_at_once():
    """
    ``vicinal --help`` takes under half a second, best of ten.

    Counted is the time of the processor, so that other processes do not turn this red.
    """
    used = []
    for _ in range(10):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run_python("-c", "from vicinal.cli import main; main()", "--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "Usage: vicinal" in done.stdout
        used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if used[-1] < 0.5:
            break
    assert min(used) < 0.5
