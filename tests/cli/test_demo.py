"""The demo on made-up packages and a tiny model: what it prints, writes, repeats, refuses."""

import re
from functools import partial
from pathlib import Path

import pytest

from vicinal.cli import demo, demonstration, packages
from vicinal.datastore import Datastore
from vicinal.errors import CorpusError
from vicinal.evaluation import RUNGS

BODY = "\n\ndef {verb}_{name}(self, level):\n    return self.{verb}(level) + {n}\n"


@pytest.fixture
def made_up(tmp_path, monkeypatch) -> packages.Packages:
    """Write four packages of two folders, and let the demo find them."""
    root = tmp_path / "site-packages"
    for n, name in enumerate(("alder", "birch", "cedar", "dogwood"), 2):
        for path, verb in (("a", "grow"), ("b", "bend"), ("sub/c", "fall"), ("sub/d", "root")):
            file = root / name / f"{path}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f'"""{verb}"""' + BODY.format(verb=verb, name=name, n=n) * 2)
        (root / name / "tests").mkdir()
        (root / name / "tests" / "test_a.py").write_text("untold = 1\n")
        (root / name / "notes.md").write_text("# Untold\n")
    chosen = packages.Packages(
        fit=("alder", "birch", "absent"),
        test=("cedar", "dogwood/sub"),
        find=lambda name: root / name if (root / name).is_dir() else None,
    )
    monkeypatch.setattr(demo, "DEMO", chosen)
    monkeypatch.setattr(demo, "Demonstration", partial(demonstration.Demonstration, sample=200))
    return chosen


@pytest.fixture
def run(vicinal, made_up, tmp_path, tiny_model):
    def run_demo(*arguments):
        given = ("--store", tmp_path / "trees", "--model", tiny_model)
        return vicinal("demo", *given, *arguments)

    return run_demo


def test_it_tells_the_ladder_the_lines_and_writes_a_page(run, tmp_path):
    """A person reads every rung and level, and finds the report beside the store."""
    outcome = run()
    assert outcome.code == 0, outcome.err
    for word in (*RUNGS, "project", "directory"):
        assert re.search(rf"\b{word}\b", outcome.out), word
    assert str(tmp_path / "trees.html") in outcome.out
    page = (tmp_path / "trees.html").read_text("utf-8")
    assert page.count("<svg") == 7
    assert "fitted" in outcome.err
    names = {d.name for d in Datastore.open(tmp_path / "trees").snapshot().documents}
    assert {"cedar/a.py", "dogwood/sub/c.py"} < names
    assert not [n for n in names if "test" in n or n.endswith("md") or n == "dogwood/a.py"]


def test_run_again_it_says_the_same_and_fits_nothing(run, monkeypatch):
    """The second run encodes and fits nothing, and its figures are the first one's."""
    first = run("--json")
    again = run("--json")
    assert "fitting" in first.err
    assert "fitting" not in again.err
    assert again.json["rows"] == first.json["rows"]
    assert again.json["cases"] == first.json["cases"]
    assert [row["name"] for row in first.json["rows"]][:2] == ["lm", "knn"]
    assert {p["level"] for p in first.json["parameters"]} >= {"project", "directory"}
    assert first.json["settings"]["tested on"] == "cedar, dogwood/sub"
    assert Path(first.json["report"]).is_file()


def test_a_changed_package_is_fitted_again(run, tmp_path):
    """What the parameters were fitted to is compared with what is there now."""
    run("--json")
    file = tmp_path / "site-packages" / "alder" / "a.py"
    file.write_text(file.read_text() + "ring = 1\n")
    assert "fitting" in run("--json").err


def test_another_store_is_not_overwritten(run, index, projects, tmp_path, vicinal):
    """A store that the demo did not make is refused, and stays as it was."""
    assert index(projects).code == 0
    outcome = vicinal("demo", "--store", tmp_path / "store")
    assert outcome.code == 1
    assert "found another one" in outcome.err
    assert len(Datastore.open(tmp_path / "store").content_hashes()) == 4


def test_packages_share_what_there_is_to_read(made_up):
    """Of each package about as many bytes are read as asked, from every folder."""
    few = packages.Packages(made_up.fit, made_up.test, n_bytes=250, find=made_up.find)
    found = [d.name for d in few.documents() if d.name.startswith("alder")]
    assert found == ["alder/a.py", "alder/sub/c.py"]
    short = packages.Packages(made_up.fit, made_up.test, characters=20, find=made_up.find)
    documents = list(short.documents())
    assert {len(d.text) for d in documents} == {20}
    assert documents[0].spans[0].attributes["project"] == ("alder",)
    assert documents[-1].spans[0].attributes["directory"] == ("dogwood/sub",)


def test_without_packages_it_says_which_it_wants():
    """None to fit on is one line that names them."""
    none = packages.Packages(("nowhere",), ("pathspec",))
    with pytest.raises(CorpusError, match="found none: nowhere"):
        list(none.documents())


def test_what_the_demo_reads_is_a_dependency():
    """Every package of the demo is installed with vicinal, and found without importing it."""
    for name in (*packages.DEMO.fit, *packages.DEMO.test):
        assert packages.installed(name), name
    assert packages.installed("no_such_package") is None
    assert packages.installed("httpx/nothing") is None
    assert demonstration.K == 128
