"""A corpus is there whole, with a note of what it is, or not at all; nothing is overwritten."""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from filelock import FileLock

from vicinal import __version__
from vicinal.corpus.fetching import SOURCES, fetch, find_source
from vicinal.corpus.hub_wikitext import HubWikiText
from vicinal.corpus.java_github import JavaGitHub
from vicinal.corpus.source import AbstractSource, Made, SplitFile
from vicinal.errors import CorpusError, DownloadError


@dataclass
class Source(AbstractSource):
    """Writes a word into the file of each split; stops where it is told to."""

    name: str = "tea"
    about: str = "leaves"
    splits: tuple[str, ...] = ("valid", "test")
    word: str = "green"
    suffix: str = ".txt"
    error: BaseException | None = None
    seen: tuple[str, ...] = ()

    def file_name(self, split: str) -> str:
        return f"{split}{self.suffix}"

    def make(self, folder: Path, progress) -> Made:
        self.seen = tuple(sorted(path.name for path in folder.iterdir()))
        progress("pouring", 1, 2)
        (folder / "half").write_text("leaf")
        if self.error:
            raise self.error
        for split in self.splits:
            (folder / self.file_name(split)).write_text(f"{self.word} {split}")
        files = {s: SplitFile(self.file_name(s), "pot", 3, 2) for s in self.splits}
        return Made({"garden": "Assam"}, files, ("Hot.",))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_fetch_leaves_the_files_and_a_note(tmp_path):
    """The files lie in the folder, about.json says what they are, and nothing else is left."""
    folder, told = tmp_path / "new" / "tea", []
    about = fetch(Source(), folder, progress=lambda *stage: told.append(stage))
    assert names(folder) == ["about.json", "test.txt", "valid.txt"]
    assert json.loads((folder / "about.json").read_text()) == about
    age = datetime.now(UTC) - datetime.fromisoformat(about.pop("date"))
    assert timedelta(0) <= age < timedelta(minutes=2)
    body = b"green test"
    assert about.pop("splits")["test"] == {
        "name": "test.txt",
        "origin": "pot",
        "n_lines": 3,
        "n_documents": 2,
        "paths": "",
        "n_bytes": len(body),
        "sha256": hashlib.sha256(body).hexdigest(),
    }
    assert about == {
        "name": "tea",
        "about": "leaves",
        "vicinal": __version__,
        "origin": {"garden": "Assam"},
        "notes": ["Hot."],
    }
    assert told == [("pouring", 1, 2)]


def test_a_finished_fetch_is_not_overwritten(tmp_path):
    """A second fetch into the folder is refused with what is there; --force does it again."""
    date = fetch(Source(), tmp_path)["date"]
    for other in (Source(word="black"), Source(name="coffee", suffix=".md")):
        with pytest.raises(
            CorpusError, match=f"holds tea already, fetched on .*{date[-5:]}.*--force"
        ):
            fetch(other, tmp_path)
    assert (tmp_path / "test.txt").read_text() == "green test"
    fetch(Source(word="black"), tmp_path, force=True)
    assert (tmp_path / "test.txt").read_text() == "black test"


def test_by_force_nothing_stale_is_left(tmp_path):
    """Files of the earlier fetch that the new one does not have are gone; others' stay."""
    fetch(Source(), tmp_path)
    (tmp_path / "mine.md").write_text("notes")
    fetch(Source(name="coffee", suffix=".bean", splits=("test",)), tmp_path, force=True)
    assert names(tmp_path) == ["about.json", "mine.md", "test.bean"]
    assert json.loads((tmp_path / "about.json").read_text())["name"] == "coffee"


def test_what_a_forced_fetch_cannot_replace_stays(tmp_path):
    """While the new files are not whole, the old ones and their note are where they were."""
    fetch(Source(), tmp_path)
    with pytest.raises(DownloadError, match="offline"):
        fetch(Source(word="black", error=DownloadError("offline")), tmp_path, force=True)
    assert (tmp_path / "test.txt").read_text() == "green test"
    assert json.loads((tmp_path / "about.json").read_text())["name"] == "tea"


def test_files_of_others_are_not_overwritten(tmp_path):
    """A file of the user's that happens to be called so is refused, and named."""
    (tmp_path / "test.txt").write_text("my own")
    with pytest.raises(CorpusError, match=r"files that no fetch put there: test\.txt;"):
        fetch(Source(), tmp_path)
    assert (tmp_path / "test.txt").read_text() == "my own"
    fetch(Source(splits=("valid",)), tmp_path)
    assert (tmp_path / "test.txt").read_text() == "my own"


def test_anothers_note_is_not_overwritten(tmp_path):
    """An about.json that no fetch wrote is refused, whatever is in it."""
    for text in ("{}", "no JSON", '{"name": "x", "date": "y", "splits": 3}'):
        (tmp_path / "about.json").write_text(text)
        with pytest.raises(CorpusError, match="found something else"):
            fetch(Source(), tmp_path)
        with pytest.raises(CorpusError, match="found something else"):
            fetch(Source(), tmp_path, force=True)
        assert (tmp_path / "about.json").read_text() == text


@pytest.mark.parametrize("error", [DownloadError("broken"), KeyboardInterrupt()])
def test_an_interrupted_fetch_goes_on(tmp_path, error):
    """What an attempt left lies aside, is found by the next one, and is gone in the end."""
    with pytest.raises(type(error)):
        fetch(Source(error=error), tmp_path)
    assert names(tmp_path) == [".tea.part"]
    again = Source()
    fetch(again, tmp_path)
    assert "half" in again.seen
    assert names(tmp_path) == ["about.json", "test.txt", "valid.txt"]


def test_an_interruption_while_the_files_are_moved_is_taken_up(tmp_path, monkeypatch):
    """Stopped between two files, the next attempt may overwrite the one that is there."""
    moved = []

    def stop_at_second(source, target):
        if moved:
            raise KeyboardInterrupt
        moved.append(Path(source).rename(target))

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", stop_at_second)
        with pytest.raises(KeyboardInterrupt):
            fetch(Source(), tmp_path)
    assert names(tmp_path) == [".tea.part", "valid.txt"]
    fetch(Source(), tmp_path)
    assert names(tmp_path) == ["about.json", "test.txt", "valid.txt"]


def test_two_fetches_into_one_folder_do_not_meet(tmp_path):
    """While one process fetches, another is told so."""
    (tmp_path / ".tea.part").mkdir()
    with (
        FileLock(tmp_path / ".tea.part" / "lock"),
        pytest.raises(DownloadError, match="Another process is fetching"),
    ):
        fetch(Source(), tmp_path)
    fetch(Source(), tmp_path)


def test_a_folder_that_cannot_be_written_is_said(tmp_path):
    """No room, or a file where a folder should be, is one of our errors."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadError, match=r"room to write to in .*file"):
        fetch(Source(), tmp_path / "file")
    with pytest.raises(DownloadError, match="No space left"):
        fetch(Source(error=OSError(28, "No space left on device")), tmp_path / "new")


def test_names_that_can_be_fetched():
    """The names are those the paper's data is known by; each says what it is."""
    wikitexts = ["wikitext-103", "wikitext-103-raw", "wikitext-2", "wikitext-2-raw"]
    assert list(SOURCES) == [*wikitexts, "java-github", "java-github-small"]
    assert all(source.about for source in SOURCES.values())
    for name in wikitexts:
        source = SOURCES[name]
        assert source.config == f"{name}-v1"
        assert source.file_name("test") == f"wiki.test.{'raw' if 'raw' in name else 'tokens'}"
    assert (SOURCES["java-github"].huge, SOURCES["java-github-small"].huge) == (True, False)
    assert SOURCES["java-github"].file_name("test") == "test.jsonl"


def test_a_source_is_found_as_it_was_asked_for(tmp_path):
    """Splits come in their own order; a list of paths is read, the server is another."""
    (tmp_path / "list").write_text("a/A.java\n")
    found = find_source(
        "java-github",
        splits=["test", "train"],
        paths={"test": tmp_path / "list"},
        zenodo="http://z",
    )
    assert isinstance(found, JavaGitHub)
    assert (found.splits, found.server) == (("train", "test"), "http://z")
    assert found.paths["test"].paths == ("a/A.java",)
    assert find_source("wikitext-2", splits=["valid"]).splits == ("valid",)
    assert isinstance(find_source("wikitext-2"), HubWikiText)
    assert find_source("wikitext-2").splits == ("train", "valid", "test")


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"name": "wikitext"}, "Unknown corpus: 'wikitext'. Use one of: java-github, java-"),
        ({"name": "wikitext-2", "splits": ["dev"]}, "Unknown split: 'dev'. Use one of: test,"),
        ({"name": "java-github", "paths": ["dev"]}, "Unknown split: 'dev'"),
        ({"name": "wikitext-2", "paths": ["test"]}, "found one for test of wikitext-2"),
        (
            {"name": "java-github", "splits": ["valid"], "paths": ["test"]},
            r"found one for test of java-github \(valid\)",
        ),
    ],
)
def test_what_cannot_be_asked_for_is_answered_with_what_can(asked, message):
    """Unknown names, unknown splits, and lists of paths that nothing would use."""
    with pytest.raises(CorpusError, match=message):
        find_source(**asked | {"paths": {s: Path("x") for s in asked.get("paths", ())}})
