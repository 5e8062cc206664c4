"""``vicinal analyze`` from end to end: index, fit, look; what is written, printed and refused."""

import re
import shutil
from pathlib import Path

import pytest

from vicinal.analysis import FORMATS, templating, writing

BODY = "\n\ndef {verb}_{name}(level):\n    return {verb}(level) * {n}\n"
TABLES = {
    f"tables/{n}.{k}" for n in ("levels", "parameters", "cases") for k in ("csv", "md", "tex")
}
FIGURES = {f"figures/figure{n}.{kind}" for n in (2, 3) for kind in (*FORMATS, "csv")}


@pytest.fixture(scope="module")
def projects(tmp_path_factory) -> Path:
    """Write three projects of four files; the name of one file is markup."""
    root = tmp_path_factory.mktemp("read") / "projects"
    for n, name in enumerate(("kettle", "lantern", "anvil"), 2):
        for path, verb in (
            ("a", "boil"),
            ("<script>b", "pour"),
            ("sub/c", "glow"),
            ("sub/d", "ring"),
        ):
            file = root / name / f"{path}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'"""{verb}"""' + BODY.format(verb=verb, name=name, n=n))
    return root


@pytest.fixture(scope="module")
def store(vicinal, tiny_model, projects, tmp_path_factory) -> Path:
    """Index the projects, and fit nothing."""
    store = tmp_path_factory.mktemp("analyze") / "store"
    arguments = ("--store", store, "--model", tiny_model, "--projects-are-folders", "--json")
    assert vicinal("index", projects, *arguments).code == 0
    return store


@pytest.fixture(scope="module")
def fitted(vicinal, store) -> Path:
    """Fit the whole ladder to a copy of the store, and to a file."""
    copy = store.parent / "fitted"
    shutil.copytree(store, copy)
    arguments = ("--self", "--ladder", "--k", 8, "--sample", 30, "--save", copy / "ladder.json")
    outcome = vicinal("fit", "--store", copy, *arguments)
    assert outcome.code == 0, outcome.err
    return copy


@pytest.fixture(scope="module")
def analyze(vicinal, fitted):
    def run(out, *arguments, store=fitted):
        return vicinal("analyze", "--store", store, "--out", out, "--sample", 400, *arguments)

    return run


@pytest.fixture(scope="module")
def report(analyze, tmp_path_factory):
    out = tmp_path_factory.mktemp("reports") / "first"
    return out, analyze(out, "--json")


def files(folder: Path) -> dict[str, bytes]:
    found = (p for p in folder.rglob("*") if p.is_file())
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in found}


def test_it_writes_a_page_with_its_tables_and_figures(report):
    """Every file is there, none is empty, and the JSON says where and what."""
    out, outcome = report
    assert outcome.code == 0, outcome.err
    written = files(out)
    assert set(written) == {"report.html"} | TABLES | FIGURES
    assert all(written.values())
    told = outcome.json
    assert told["report"] == str(out / "report.html")
    assert told["moved"]["helped"] > 0
    assert told["moved"]["hurt"] > 0
    settings = told["settings"]
    assert (settings["rung"], settings["k"]) == ("adaptive", "8")
    assert (settings["sample"], settings["seed"]) == ("400", "1")
    assert settings["vicinal"]
    page = written["report.html"].decode()
    assert page.count("<svg") == 2
    for name, value in settings.items():
        assert re.search(rf"<dt>{re.escape(name)}</dt><dd>", page), (name, value)


def test_a_document_called_like_markup_is_only_a_name(report):
    """What a file is called cannot write into the page."""
    page = files(report[0])["report.html"].decode()
    assert "<script" not in page.lower()
    assert "&lt;script&gt;b.py" in page


def test_the_tables_have_every_rung_and_level(report):
    """Five rungs of three levels were fitted."""
    rows = files(report[0])["tables/parameters.csv"].decode().splitlines()
    names = ["temperature", "bias", "linear", "mlp", "adaptive"]
    assert [row.split(",")[0] for row in rows[1::3]] == names
    assert [row.split(",")[2] for row in rows[1:4]] == ["not local", "project", "directory"]
    assert "most helped 1,test," in files(report[0])["tables/cases.csv"].decode()
    curves = files(report[0])["figures/figure2.csv"].decode()
    assert {row.split(",")[1] for row in curves.splitlines()[1:]} >= {"not local", "project"}


def test_again_it_is_the_same_to_the_byte(report, analyze, tmp_path, fitted):
    """Page, tables and figures; and people are told parameters, what moved, and where it is."""
    outcome = analyze(tmp_path / "second", "--params", fitted / "ladder.json")
    assert outcome.code == 0, outcome.err
    assert files(tmp_path / "second") == files(report[0])
    for word in ("calibration", "temperature", "directory", "coverage", "up,"):
        assert word in outcome.out
    assert str(tmp_path / "second" / "report.html") in outcome.out


def test_files_beside_the_store_are_looked_up_in_it(
    report, analyze, projects, tmp_path, monkeypatch
):
    """With --on: other positions; with --rung: temperature only, which moves nothing."""
    monkeypatch.setattr(writing, "FORMATS", ("svg",))
    here = ("--on", projects / "kettle" / "a.py", "--rung", "temperature")
    outcome = analyze(tmp_path, *here, "--seed", 4, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["settings"]["rung"] == "temperature"
    assert outcome.json["moved"] == {"helped": 0, "hurt": 0}
    page = files(tmp_path)["report.html"].decode()
    assert "There is none among the measured positions." in page
    assert files(tmp_path)["figures/figure2.csv"] != files(report[0])["figures/figure2.csv"]


def refused(outcome) -> str:
    """Give the one line of an error, without its line end."""
    assert outcome.code == 1
    assert outcome.out == ""
    (line,) = outcome.err.splitlines()
    assert line.startswith("error: ")
    return line


def test_where_nothing_is_fitted_it_says_how_to(analyze, store, tmp_path):
    """Exit code 1, one line to paste, and no folder is left behind."""
    line = refused(analyze(tmp_path / "out", store=store))
    assert f"vicinal fit --store {store} --self --ladder" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rung", ["knn", "quadratic"])
def test_a_calibration_that_was_not_fitted_is_one_line(analyze, tmp_path, rung):
    """It names those that were."""
    line = refused(analyze(tmp_path / "out", "--rung", rung))
    assert repr(rung) in line
    assert "temperature, bias, linear, mlp" in line


def test_a_folder_that_cannot_be_made_is_one_line(analyze, tmp_path):
    """A file stands where the report should go."""
    (tmp_path / "taken").write_text("")
    line = refused(analyze(tmp_path / "taken"))
    assert "Expected a folder to write to" in line
    assert str(tmp_path / "taken") in line


def test_without_the_extra_it_is_one_line(analyze, tmp_path, monkeypatch):
    """What is not installed is named, with the extra that has it."""
    monkeypatch.setattr(templating, "NEEDED", ("jinja2", "no_such_package"))
    line = refused(analyze(tmp_path / "out"))
    assert "needs no_such_package" in line
    assert "vicinal[plot]" in line
    assert not (tmp_path / "out").exists()
