"""``vicinal paper`` from data on disk to a report, with a tiny random model."""

import csv
import importlib
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import vicinal as package
from small_corpora import TOPICS, write_java, write_wikitext
from tiny_models import save_tiny
from vicinal import datastore
from vicinal.evaluation import bootstrap, results
from vicinal.lm import HuggingFaceModel
from vicinal.paper import approximations

SIZES = ("--sample", 60, "--seeds", 2, "--k", 8, "--departures", 0, "--dtype", "float32")
HEAVY = {"torch", "transformers", "faiss", "numpy", "pyarrow", "matplotlib"}


@pytest.fixture(scope="module", autouse=True)
def _quick():
    """Draw few documents of a bootstrap, and train quantizers on few keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "bootstrap", partial(bootstrap, draws=50))
        patch.setattr(approximations, "TRAINED_ON", 100)
        yield


@pytest.fixture(scope="module")
def java_data(tmp_path_factory) -> Path:
    return write_java(tmp_path_factory.mktemp("java-data"))


@pytest.fixture(scope="module")
def wiki_data(tmp_path_factory) -> Path:
    """Write an encyclopedia, and beside it a table with the categories of its articles."""
    data = write_wikitext(tmp_path_factory.mktemp("wiki-data"))
    rows = [
        f"{n}\t{title} {split}\t{topic}"
        for split in ("train", "valid", "test")
        for n, (title, topic) in enumerate(TOPICS.items())
    ]
    (data / "topics.tsv").write_text("\n".join(["id\tarticle\ttopic", *rows]) + "\n", "utf-8")
    plain = "\n".join(["id\ttitle\tcategories", *rows]) + "\n"
    (data / "categories.tsv").write_text(plain, "utf-8")
    return data


@pytest.fixture(scope="module")
def paper(vicinal, tiny_model):
    """Run an experiment with the tiny model and few positions."""

    def run(kind: str, data: Path, out: Path, *more: object):
        where = ("--data", data, "--out", out)
        return vicinal("paper", kind, *where, "--model", tiny_model, *SIZES, *more)

    return run


@pytest.fixture(scope="module")
def java_run(paper, java_data, tmp_path_factory):
    """Run the Java experiment once; give its folder, and what the command printed."""
    out = tmp_path_factory.mktemp("java-run") / "out"
    outcome = paper("java", java_data, out, "--json")
    assert outcome.code == 0
    return out, outcome


def table(out: Path, name: str) -> list[dict[str, str]]:
    with (out / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers_of(out: Path) -> dict[str, bytes]:
    """Read all tables, and the data of all figures."""
    files = [*(out / "tables").iterdir(), *(out / "figures").glob("*.csv")]
    return {file.name: file.read_bytes() for file in files}


def refused(outcome) -> str:
    """Expect one line that says what is wrong, and exit code 1; the notes before it are cut."""
    assert outcome.code == 1
    assert outcome.out == ""
    *_, last = outcome.err.splitlines()
    assert last.startswith("error: ")
    return last


def test_every_file_is_written(java_run):
    """A page, tables and figures in three formats, the figures' data, and the record."""
    out, _ = java_run
    assert (out / "report.html").stat().st_size > 10_000
    made = {file.name for file in (out / "tables").iterdir()}
    for name in ("levels", "data", "table2", "table3", "table5", "table7", "table8", "claims"):
        assert {f"{name}.{kind}" for kind in ("csv", "md", "tex")} <= made
    assert {file.name for file in (out / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("figure2", "figure3") for kind in ("png", "svg", "pdf", "csv")
    }
    assert {file.name for file in out.iterdir()} == {
        *("report.html", "run.json", "seconds.json", "tables", "figures", "file")
    }
    assert (out / "file" / "store" / "manifest.db").is_file()


def test_the_record_tells_what_the_run_was(java_run, java_data, tiny_model):
    """Settings, seeds, versions, commit, fingerprints of model and documents, data and times."""
    out, _ = java_run
    record = json.loads((out / "run.json").read_text("utf-8"))
    assert record["experiment"] == "java"
    assert record["settings"] == {
        "data": str(java_data),
        "out": str(out),
        "model": str(tiny_model),
        "dtype": "float32",
        "limit": None,
        "sample": 60,
        "seeds": 2,
        "seed": 0,
        "k": 8,
        "index": "auto",
        "departures": 0,
        "as_released": False,
        "baselines": [],
    }
    assert record["seeds"] == [0, 1]
    assert set(record["versions"]) >= {"vicinal", "commit", "python", "torch", "faiss-cpu"}
    assert record["versions"]["vicinal"] == package.__version__
    store = datastore.Datastore.open(out / "file" / "store")
    assert record["model"] == {"name": str(tiny_model), "fingerprint": store.identity.fingerprint}
    assert len(record["documents"]["file"]) == 64
    assert record["data"]["valid"]["documents"] == record["data"]["test"]["documents"] == 8
    assert set(record["seconds"]) == {"encoding (files)", "study", "baselines"}
    assert json.loads((out / "seconds.json").read_text("utf-8")) == record["seconds"]
    assert [(r["recipe"], r["seed"]) for r in record["test"]] == [
        (recipe, seed) for recipe in ("paper", "ours") for seed in (0, 1)
    ]


def test_json_is_the_record(java_run):
    """On stdout stands what run.json has, and where the page is; notes are on stderr."""
    out, outcome = java_run
    record = json.loads((out / "run.json").read_text("utf-8"))
    assert outcome.json == {**record, "report": str(out / "report.html")}
    assert "encoding what is new (files)" in outcome.err
    assert "fitting, paper, seed 1" in outcome.err


def test_the_page_says_no_place_on_this_machine(java_run, java_data):
    """Settings are on the page, folders are not."""
    out, _ = java_run
    text = (out / "report.html").read_text("utf-8")
    assert str(java_data) not in text
    assert str(out) not in text
    assert "departures" in text
    assert "A small run" not in text


def test_tables_for_people(paper, java_data, java_run):
    """Without --json the main tables are printed; a second run encodes and fits nothing."""
    out, _ = java_run
    before = numbers_of(out)
    outcome = paper("java", java_data, out)
    assert outcome.code == 0
    for words in ("temperature only", "(c) the gain survives", "Learned parameters", "report.html"):
        assert words in outcome.out
    assert "fitting" not in outcome.err
    assert numbers_of(out) == before


def test_the_same_seed_gives_the_same_bytes(paper, java_data, java_run, tmp_path):
    """Another run in another folder writes the same tables and data of figures."""
    assert paper("java", java_data, tmp_path / "again", "--json").code == 0
    assert numbers_of(tmp_path / "again") == numbers_of(java_run[0])
    pages = [(out / "report.html").read_bytes() for out in (java_run[0], tmp_path / "again")]
    assert pages[0] == pages[1]


def test_an_interrupted_run_goes_on(paper, java_data, java_run, tmp_path, monkeypatch):
    """Killed while encoding and while studying, and run again: the same tables."""
    out, encode, calls = tmp_path / "out", HuggingFaceModel.encode, []

    def pulled(self, documents, progress=lambda n_tokens: None):
        calls.append(len(documents))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return encode(self, documents, progress)

    with monkeypatch.context() as patch:
        patch.setattr(HuggingFaceModel, "encode", pulled)
        options = partial(datastore.BuildOptions, chunk_tokens=1500)
        patch.setattr(datastore, "BuildOptions", options)
        stopped = paper("java", java_data, out)
    assert stopped.code == 130
    assert "Run the same command again" in stopped.err
    stored = len(datastore.Datastore.open(out / "file" / "store").content_hashes())
    assert 0 < stored < 16

    def unplugged(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module("vicinal.paper.study"), "movements", unplugged)
        assert paper("java", java_data, out).code == 130
    assert not (out / "run.json").exists()
    last = paper("java", java_data, out, "--json")
    assert last.code == 0
    assert "fitting" not in last.err
    assert numbers_of(out) == numbers_of(java_run[0])
    assert last.json["documents"] == java_run[1].json["documents"]


def test_a_limit_makes_a_small_run(paper, java_run, tmp_path):
    """Each split's store gets about so many kilobytes, and the report says so."""
    data, out = write_java(tmp_path / "data", ("a", "b", "c", "d")), tmp_path / "out"
    small = paper("java", data, out, "--limit", 1, "--seeds", 1, "--json").json
    everything = java_run[1].json
    for split in ("valid", "test"):
        # A token of this model is a byte.
        assert 1000 <= small["data"][split]["tokens"] < 1500
        assert small["data"][split]["tokens"] < everything["data"][split]["tokens"]
    assert small["settings"]["limit"] == 1
    assert "A small run: about 1 kB" in (out / "report.html").read_text("utf-8")


def test_as_released_and_departures(paper, java_data, java_run, tmp_path):
    """The switch changes the numbers and is told; departures are measured against our own."""
    more = ("--as-released", "--departures", 40, "--seeds", 1, "--json")
    record = paper("java", java_data, tmp_path, *more).json
    assert record["settings"]["as_released"]
    ours = java_run[1].json["test"][0]["rows"][0]["ppl"]
    assert record["test"][0]["rows"][0]["ppl"] != ours
    assert "released code did, wherever" in (tmp_path / "report.html").read_text("utf-8")
    rows = {row["departure"]: row for row in table(tmp_path, "departures")}
    assert rows["ours, for comparison"]["PPL base LM"]
    assert rows["precision of log p"]["PPL with locality"].endswith("%)")
    # The tiny model has a token between documents, so an end can be scored.
    end = rows["end of a document"]["base LM's accuracy, or effect"]
    assert end.startswith("one more full token per document")
    assert rows["all variations above together"]["gain of locality"]


def test_a_baseline_is_one_more_row(paper, java_data, java_run, tiny_model):
    """Another model's perplexity is the base LM's where it is the same model."""
    out, _ = java_run
    more = ("--baseline", f"the same={tiny_model}", "--json")
    record = paper("java", java_data, out, *more).json
    first, second, *_ = table(out, "table2")
    assert (first["model"], second["model"]) == ("the same", "base LM")
    assert float(first["test PPL"]) == pytest.approx(float(second["test PPL"]), rel=0.02)
    assert record["settings"]["baselines"] == [f"the same={tiny_model}"]


@pytest.fixture(scope="module")
def wiki_run(paper, wiki_data, tmp_path_factory):
    """Run the WikiText experiment once, with columns of the categories' table given."""
    out = tmp_path_factory.mktemp("wiki-run") / "out"
    columns = ("--title", "article", "--column", "topic")
    more = ("--categories", wiki_data / "topics.tsv", *columns, "--seeds", 1, "--json")
    outcome = paper("wikitext", wiki_data, out, *more)
    assert outcome.code == 0
    return out, outcome


def test_an_encyclopedia_is_read_in_sections_and_whole(wiki_run, wiki_data):
    """Two stores are made, and both readings stand side by side."""
    out, outcome = wiki_run
    record = outcome.json
    assert record["experiment"] == "wikitext"
    assert set(record["documents"]) == {"section", "article"}
    assert record["documents"]["section"] != record["documents"]["article"]
    assert record["data"]["test"]["documents"] == 20
    assert record["data"]["test"]["known"] == {"categories": 0.8, "section": 0.75}
    own = {name: record["settings"][name] for name in ("title", "column", "articles", "categories")}
    assert own == {
        "title": ["article"],
        "column": ["topic"],
        "articles": True,
        "categories": str(wiki_data / "topics.tsv"),
    }
    rows = table(out, "articles")
    assert len(rows) == 6
    assert all(float(row["articles: PPL"]) > 0 for row in rows)
    page = (out / "report.html").read_text("utf-8")
    assert "topic of topics.tsv" in page
    assert "Article by article" in page
    for unit in ("section", "article"):
        assert (out / unit / "store" / "manifest.db").is_file()


def test_categories_lie_beside_the_data_by_default(paper, wiki_data, wiki_run, tmp_path):
    """The same categories under the usual names give the same tables; articles can be left out."""
    more = ("--no-articles", "--seeds", 1, "--json")
    record = paper("wikitext", wiki_data, tmp_path, *more).json
    assert set(record["documents"]) == {"section"}
    assert record["documents"]["section"] == wiki_run[1].json["documents"]["section"]
    assert not (tmp_path / "article").exists()
    found, expected = numbers_of(tmp_path), numbers_of(wiki_run[0])
    assert {name for name in expected if name not in found} == {
        f"articles.{kind}" for kind in ("csv", "md", "tex")
    }
    assert found == {name: expected[name] for name in found}


def test_data_that_are_not_there_are_said(paper, java_data, wiki_data, tmp_path):
    """A folder without data is one line that says what was looked for and how to get it."""
    out = tmp_path / "out"
    assert "corpus fetch java-github" in refused(paper("java", tmp_path / "no", out))
    told = refused(paper("wikitext", tmp_path, out, "--categories", wiki_data / "topics.tsv",
                         "--title", "article", "--column", "topic"))  # fmt: skip
    assert "wiki.valid.tokens" in told
    assert "corpus fetch wikitext-103" in told
    assert not out.exists()


def test_categories_that_are_not_there_are_said(paper, wiki_data, tmp_path):
    """Without a table, or without its columns, the path or the columns there are are named."""
    out = tmp_path / "out"
    told = refused(paper("wikitext", wiki_data, out, "--categories", tmp_path / "no.tsv"))
    assert f"found nothing at {tmp_path / 'no.tsv'}" in told
    told = refused(paper("wikitext", wiki_data, out, "--categories", wiki_data / "topics.tsv"))
    assert "Its columns: id, article, topic." in told
    assert not out.exists()


@pytest.mark.parametrize("wrong", ["recurrent", "=folder", "name="])
def test_a_baseline_without_a_name_or_model_is_refused(paper, java_data, tmp_path, wrong):
    """Before anything is encoded, what was expected and what was found."""
    out = tmp_path / "out"
    told = refused(paper("java", java_data, out, "--baseline", "a=b", "--baseline", wrong))
    assert told == f"error: Expected --baseline NAME=MODEL, found: {wrong}."
    assert not out.exists()


def test_missing_libraries_are_said_first(paper, java_data, tmp_path, monkeypatch):
    """Hours of work are not begun where the report could not be written."""
    monkeypatch.setattr("vicinal.analysis.missing_packages", lambda: ["matplotlib", "jinja2"])
    told = refused(paper("java", java_data, tmp_path / "out"))
    assert "needs matplotlib and jinja2" in told
    assert "vicinal[plot]" in told
    assert not (tmp_path / "out").exists()


def test_another_model_than_the_stores_is_refused(
    vicinal, java_data, java_run, tiny_model, tmp_path
):
    """A folder that another model's store lies in is not mixed with it."""
    other = save_tiny(tmp_path / "other")
    out, _ = java_run
    where = ("--data", java_data, "--out", out)
    told = refused(vicinal("paper", "java", *where, "--model", other, *SIZES))
    assert f"The store was made by {tiny_model} with fingerprint" in told
    assert f"this is {other} with fingerprint" in told


def test_an_article_of_both_splits_is_refused(paper, wiki_data, tmp_path):
    """What was fitted on is not tested on, whatever the data say."""
    text = (wiki_data / "wiki.valid.tokens").read_text("utf-8")
    for split in ("train", "valid", "test"):
        (tmp_path / f"wiki.{split}.tokens").write_text(text, "utf-8")
    more = ("--categories", wiki_data / "categories.tsv", "--no-articles", "--seeds", 1)
    told = refused(paper("wikitext", tmp_path, tmp_path / "out", *more))
    assert "were fitted on" in told


@pytest.mark.parametrize(
    ("option", "value"), [("--limit", 0), ("--sample", 0), ("--seeds", 0), ("--k", 0)]
)
def test_misuse_exits_with_2(paper, java_data, tmp_path, option, value):
    """Numbers out of range are refused by name."""
    outcome = paper("java", java_data, tmp_path / "out", option, value)
    assert outcome.code == 2
    assert option in outcome.err


@pytest.mark.parametrize("command", ["java", "wikitext"])
def test_help_waits_for_nothing(command):
    """Help loads none of the heavy libraries, and has an example."""
    code = (
        "import atexit, sys; from vicinal.cli import main\n"
        f"atexit.register(lambda: print(sorted(set(sys.modules) & {HEAVY}), file=sys.stderr))\n"
        f"sys.argv = ['vicinal', 'paper', '{command}', '--help']; main()"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(package.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stderr.strip() == "[]"
    assert f"$ vicinal paper {command}" in done.stdout
