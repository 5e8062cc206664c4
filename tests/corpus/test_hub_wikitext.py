"""
WikiText from a hub on the loopback, byte for byte as it was published first.

The library reads its settings when it is imported, and keeps a cache: each run is a process of
its own with a cache of the test's.
"""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import vicinal
from local_servers import Site, hub_site, serving
from vicinal.corpus.fetching import fetch, find_source
from vicinal.corpus.hub_wikitext import REPOSITORY, REVISION, line_of
from vicinal.corpus.wikitext import WikiText
from vicinal.errors import CorpusError

PUBLISHED = {
    "train": " \n = Red Kite = \n \n It <unk> in Wales . \u2028 \n \n = = Range = = \n \n Far . \n"
    " \n = Du Fu = \n \n A poet . \n \n",
    "validation": " \n = Ise @-@ class = \n \n Two ships . \n = Played , W = \n \n",
    "test": " \n = Caf\u00e9 = \n \n Coffee \ufeff .\n",
}
CONFIG = "wikitext-2-v1"
FOLDER = f"/datasets/{REPOSITORY}/resolve/{REVISION}"
SCRIPT = """
import json, sys
from pathlib import Path
from vicinal.cli.output import quieten
from vicinal.corpus import fetch, find_source
from vicinal.errors import VicinalError
quieten()
try:
    told = []
    source = find_source(sys.argv[1], splits=sys.argv[3:])
    about = fetch(source, Path(sys.argv[2]), progress=lambda *stage: told.append(stage))
    print(json.dumps({"about": about, "told": told}))
except VicinalError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def rows_of(text):
    """Turn a file into rows as the hub's publisher did: blank lines became nothing."""
    return [line if line.strip() else "" for line in io.StringIO(text, newline="\n")]


def miniature(card=""):
    """Publish three small files, the training set in two parts."""
    rows = {split: rows_of(text) for split, text in PUBLISHED.items()}
    train = rows.pop("train")
    parts = {"train": [train[:5], train[5:]]} | {split: [whole] for split, whole in rows.items()}
    return hub_site(CONFIG, parts, card)


@dataclass(frozen=True)
class Run:
    """What a run printed."""

    code: int
    out: str
    err: str

    @property
    def about(self):
        return json.loads(self.out)["about"]


@pytest.fixture
def run(tmp_path):
    """Fetch from a site in a process of its own; the folder and the cache are kept between runs."""

    def run(site: Site, *splits: str, name="wikitext-2", **settings: str) -> Run:
        source = Path(vicinal.__file__).parents[1]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGINGFACE"))}
        with serving(site) as url:
            environment = {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "hub"), **settings}
            done = subprocess.run(
                [sys.executable, "-c", SCRIPT, name, tmp_path / "data", *splits],
                env=kept | {"PYTHONPATH": str(source)} | environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=150,
            )
        return Run(done.returncode, done.stdout, done.stderr)

    return run


def test_rows_are_the_lines_that_were_published(run, tmp_path):
    """Every byte is back, also blank lines; the reader finds the articles; the note says all."""
    # A folder of the dataset's name must not be taken for the dataset.
    (tmp_path / REPOSITORY).mkdir(parents=True)
    (tmp_path / REPOSITORY / "evil.txt").write_text("evil")
    done = run(miniature())
    assert done.code == 0, done.err
    assert done.err == ""
    names = {"train": "train", "valid": "validation", "test": "test"}
    for split, hub_split in names.items():
        body = (tmp_path / "data" / f"wiki.{split}.tokens").read_bytes()
        assert body == PUBLISHED[hub_split].encode()
    articles = [d.name for d in WikiText(tmp_path / "data", unit="article")]
    assert articles == [
        "wiki.test/Caf\u00e9",
        "wiki.train/Red Kite",
        "wiki.train/Du Fu",
        "wiki.valid/Ise @-@ class",
    ]
    splits = done.about["splits"]
    assert {s: (splits[s]["n_lines"], splits[s]["n_documents"]) for s in names} == {
        "train": (13, 2),
        "valid": (6, 1),
        "test": (4, 1),
    }
    assert splits["valid"]["origin"] == f"{CONFIG}/validation"
    assert done.about["origin"]["revision"] == REVISION
    assert done.about["origin"]["config"] == CONFIG
    told = [stage for stage, _, _ in json.loads(done.out)["told"]]
    assert told[:2] == ["asking the hub", "downloading from the hub"]


def test_an_interrupted_fetch_asks_only_for_what_is_missing(run, tmp_path):
    """Files that came whole are kept, and a connection that breaks is taken up again."""
    site = miniature()
    broken = f"{FOLDER}/{CONFIG}/validation-00000-of-00001.parquet"
    site.statuses[broken] = 404
    first = run(site, "test")
    assert (first.code, first.out) == (1, "")
    assert first.err.startswith(
        f"DownloadError: {REPOSITORY} could not be had from http://127.0.0.1"
    )
    assert len(first.err.splitlines()) == 1
    assert not (tmp_path / "data" / "about.json").exists()
    del site.statuses[broken]
    site.breaks_after[broken] = 300
    second = run(site, "test")
    assert second.code == 0, second.err
    assert list(second.about["splits"]) == ["test"]
    train = f"{FOLDER}/{CONFIG}/train-00000-of-00002.parquet"
    assert site.ranges(train) == [None]
    assert len(site.ranges(broken)) == 2


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        ("no rows", "num_examples=99"),
        ("no table", "not a parquet file"),
        ("other splits", "validation"),
    ],
)
def test_what_is_not_as_the_card_says_is_refused(run, tmp_path, trouble, reason):
    """Fewer rows than the card counts, a file that is no table, a split that is missing."""
    site = miniature()
    parquet = f"{FOLDER}/{CONFIG}/test-00000-of-00001.parquet"
    if trouble == "no rows":
        splits = "".join(
            f"  - name: {split}\n    num_bytes: 1\n    num_examples: 99\n"
            for split in ("train", "validation", "test")
        )
        info = f"dataset_info:\n- config_name: {CONFIG}\n  features:\n  - name: text\n"
        site = miniature(f"{info}    dtype: string\n  splits:\n{splits}")
    elif trouble == "no table":
        site.files[parquet] = b"0123456789"
    else:
        site = hub_site(CONFIG, {"train": [[" = A = \n"]], "test": [[" = A = \n"]]})
    done = run(site)
    assert (done.code, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert line.startswith("DownloadError: ")
    assert reason in line
    assert not (tmp_path / "data" / "about.json").exists()


def test_offline_is_one_line(run):
    """Told to stay offline with nothing in its cache, the library's reason is passed on."""
    site = miniature()
    done = run(site, HF_HUB_OFFLINE="1")
    assert (done.code, done.out, site.asked) == (1, "", [])
    (line,) = done.err.splitlines()
    assert "could not be had from" in line
    assert "Are you offline?" in line


def test_a_dataset_without_articles_is_refused(run):
    """Rows that are no WikiText are not passed off as one."""
    rows = [["", "", ""]]
    done = run(hub_site(CONFIG, {"train": rows, "validation": rows, "test": rows}), "test")
    assert "CorpusError: Expected articles in wiki.test.tokens, found none in 3 lines." in done.err


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch, tmp_path):
    """The extra is named in one line."""
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(CorpusError, match=r"pip install 'vicinal\[fetch\]'"):
        fetch(find_source("wikitext-2"), tmp_path)


@pytest.mark.parametrize("text", PUBLISHED.values())
def test_a_row_gives_back_its_line(text):
    """Blank lines are restored; every other line has kept its own end."""
    assert b"".join(map(line_of, rows_of(text))).decode() == text
