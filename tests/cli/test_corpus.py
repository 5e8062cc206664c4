"""The data of the paper from the command line: listed, fetched from local servers, indexed."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vicinal as package
from local_servers import hub_site, serving, zenodo_site
from vicinal.corpus.java_github import RECORD

JAVA = {
    "java_training_huge_pre": b"<s> class T { } </s>\n",
    "java_validation_pre": b"<s> class V { } </s>\n<s> class W { } </s>\n",
    "java_test_pre": b"<s> class E { } </s>\n<s> class F { int f ; } </s>\n",
}


@pytest.fixture
def java(vicinal, tmp_path):
    """Fetch the Java of a Zenodo on the loopback."""

    def run(*arguments):
        with serving(zenodo_site(RECORD, JAVA)) as url:
            out = ("--out", tmp_path / "java", "--zenodo", url)
            return vicinal("corpus", "fetch", "java-github", *out, *arguments)

    return run


def test_list_names_what_can_be_fetched(vicinal):
    """Every corpus is listed with what it is."""
    listed = vicinal("corpus", "list", "--json").json["corpora"]
    assert [entry["name"] for entry in listed][::4] == ["wikitext-103", "java-github"]
    table = vicinal("corpus", "list").out
    assert all(entry["name"] in table and entry["about"] in table for entry in listed)


def test_fetch_prints_what_there_is_now(java, tmp_path):
    """The splits with their documents on stdout; on stderr that they have no paths."""
    outcome = java()
    assert outcome.code == 0, outcome.err
    assert outcome.err.startswith("note: The published files are text without paths")
    assert len(outcome.err.splitlines()) == 1
    rows = [line.split() for line in outcome.out.splitlines()]
    printed = [[word for word in row if word.isascii()] for row in rows]
    size = (tmp_path / "java" / "test.jsonl").stat().st_size
    assert ["test", "test.jsonl", "2", "2", str(size), "B"] in printed
    names = {path.name for path in (tmp_path / "java").iterdir()}
    assert names == {"about.json", "test.jsonl", "train.jsonl", "valid.jsonl"}


def test_fetch_as_json_is_what_lies_beside_the_data(java, tmp_path):
    """The JSON is about.json and the folder; the note is in both."""
    outcome = java("--split", "test", "--split", "valid", "--json")
    about = json.loads((tmp_path / "java" / "about.json").read_text())
    assert outcome.json == {"folder": str(tmp_path / "java"), **about}
    assert list(about["splits"]) == ["valid", "test"]
    assert about["notes"][0] in outcome.err


def test_a_finished_fetch_is_refused_and_forced(java, tmp_path):
    """The second time it is refused in one line; with --force it is done again."""
    java("--split", "test")
    outcome = java("--split", "test")
    assert (outcome.code, outcome.out) == (1, "")
    assert "holds java-github already" in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert java("--split", "valid", "--force").code == 0
    assert {p.name for p in (tmp_path / "java").iterdir()} == {"about.json", "valid.jsonl"}


def test_a_list_of_paths_gives_documents_their_place(java, tmp_path):
    """A list that fits is used and said in about.json; one that does not is refused."""
    (tmp_path / "list").write_text("Clara/src/E.java\n")
    given = ("--split", "test", "--paths", f"test={tmp_path / 'list'}")
    outcome = java(*given)
    assert outcome.code == 1
    assert "each of 2 lines, found 1 in" in outcome.err
    (tmp_path / "list").write_text("Clara/src/E.java\nClara/F.java\n")
    outcome = java(*given, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.json["splits"]["test"]["paths"] == str(tmp_path / "list")
    first = json.loads((tmp_path / "java" / "test.jsonl").read_text().splitlines()[0])
    assert first["attributes"] == {"project": "Clara", "directory": "Clara/src"}


@pytest.mark.parametrize("given", [["test"], ["=x"], ["test="], ["test=x", "test=y"]])
def test_a_list_without_its_split_is_misuse(java, given):
    """Which split a list is of must be said, and of each there is one."""
    outcome = java(*(word for one in given for word in ("--paths", one)))
    assert outcome.code == 2
    assert f"expected SPLIT=FILE, each split once, found {', '.join(given)}" in outcome.err


def test_the_server_may_be_named_in_the_environment(vicinal, tmp_path, monkeypatch):
    """VICINAL_ZENODO is as good as --zenodo."""
    with serving(zenodo_site(RECORD, JAVA)) as url:
        monkeypatch.setenv("VICINAL_ZENODO", url)
        outcome = vicinal(
            "corpus", "fetch", "java-github", "--out", tmp_path / "a", "--split", "test"
        )
    assert outcome.code == 0, outcome.err


def test_an_unknown_corpus_is_answered_with_the_known(vicinal, tmp_path):
    """A misspelt name makes no folder."""
    outcome = vicinal("corpus", "fetch", "wikitext", "--out", tmp_path / "new")
    assert outcome.code == 1
    assert "Unknown corpus: 'wikitext'" in outcome.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("with_paths", [False, True])
def test_what_was_fetched_can_be_indexed(java, index, vicinal, tmp_path, with_paths):
    """The domain java-github reads the files, with and without places."""
    (tmp_path / "list").write_text("Clara/src/E.java\nClara/F.java\n")
    paths = ("--paths", f"test={tmp_path / 'list'}") if with_paths else ()
    java("--split", "test", *paths)
    outcome = index(tmp_path / "java" / "test.jsonl", "--corpus", "java-github")
    assert outcome.code == 0, outcome.err
    assert vicinal("store", "info", "--store", tmp_path / "store", "--json").json["documents"] == 2
    removed = vicinal("store", "remove", "Clara/*", "--store", tmp_path / "store")
    assert (removed.code == 0) is with_paths


def vicinal_process(*arguments, **environment):
    """Run a command as a user does: the datasets library reads its settings but once."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("HF_")}
    kept["PYTHONPATH"] = str(Path(package.__file__).parents[1])
    return subprocess.run(
        [sys.executable, "-c", "from vicinal.cli import main; main()", *map(str, arguments)],
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=150,
    )


def test_wikitext_comes_from_the_hub_and_says_nothing_else(tmp_path, vicinal, index):
    """The libraries below are silent, and the files are read by the WikiText reader."""
    rows = [["", " = Kite = \n", "", " It flies . \n"]]
    site = hub_site("wikitext-2-raw-v1", dict.fromkeys(("train", "validation", "test"), rows))
    with serving(site) as url:
        done = vicinal_process(
            *("corpus", "fetch", "wikitext-2-raw", "--out", tmp_path / "wiki", "--json"),
            HF_ENDPOINT=url,
            HF_HOME=str(tmp_path / "hub"),
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["splits"]["test"]["n_documents"] == 1
    assert (tmp_path / "wiki" / "wiki.test.raw").read_bytes() == b" \n = Kite = \n \n It flies . \n"
    outcome = index(tmp_path / "wiki", "--corpus", "wikitext")
    assert outcome.code == 0, outcome.err


def test_offline_is_one_line(tmp_path):
    """Without a hub the command ends with one line."""
    arguments = ("corpus", "fetch", "wikitext-2", "--out", tmp_path / "wiki")
    done = vicinal_process(*arguments, HF_HUB_OFFLINE="1", HF_HOME=str(tmp_path / "hub"))
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: Salesforce/wikitext could not be had from")


def test_no_extra_is_one_line(vicinal, tmp_path, monkeypatch):
    """Without the datasets library the command says how to get it."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    outcome = vicinal("corpus", "fetch", "wikitext-2", "--out", tmp_path / "wiki")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.endswith("pip install 'vicinal[fetch]'\n")
