"""
Corpora by name: fetched into a folder, whole or not at all, with a note of what they are.

    folder/
      wiki.test.tokens     the files of the splits, as the readers of this room read them
      about.json           where they are from, how much is in them, their checksums, the date
      .NAME.part/          what an interrupted fetch has so far; gone when it is finished

Knows the names and the folder; how a corpus is made is its source's.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from filelock import FileLock, Timeout

from vicinal import __version__
from vicinal.corpus.downloading import sha256_of
from vicinal.corpus.hub_wikitext import HubWikiText
from vicinal.corpus.java_github import JavaGitHub
from vicinal.corpus.readers import check_known
from vicinal.corpus.source import SPLITS, AbstractSource, Made, Progress
from vicinal.corpus.tokenized import Paths
from vicinal.corpus.zenodo import ZENODO
from vicinal.errors import CorpusError, DownloadError, VicinalError

ABOUT = "about.json"
PUBLISHING = "publishing"
_KNOWN: tuple[HubWikiText | JavaGitHub, ...] = (
    HubWikiText(
        "wikitext-103", "WikiText-103, words, 313 MB to fetch", "wikitext-103-v1", ".tokens"
    ),
    HubWikiText(
        "wikitext-103-raw", "WikiText-103, no <unk>, 315 MB", "wikitext-103-raw-v1", ".raw"
    ),
    HubWikiText("wikitext-2", "WikiText-2, words, 7 MB", "wikitext-2-v1", ".tokens"),
    HubWikiText("wikitext-2-raw", "WikiText-2, no <unk>, 8 MB", "wikitext-2-raw-v1", ".raw"),
    JavaGitHub("java-github", "Java of 14,000 GitHub projects, without paths", huge=True),
    JavaGitHub("java-github-small", "the same with the small training set", huge=False),
)
SOURCES: Mapping[str, HubWikiText | JavaGitHub] = MappingProxyType(
    {source.name: source for source in _KNOWN}
)


def find_source(
    name: str,
    *,
    splits: Sequence[str] = (),
    paths: Mapping[str, Path] | None = None,
    zenodo: str = ZENODO,
) -> AbstractSource:
    """Find a corpus by name; of its *splits* only some, and *paths* of the lines of some."""
    check_known(name, SOURCES, "corpus")
    paths = paths or {}
    for split in (*splits, *paths):
        check_known(split, SPLITS, "split")
    source, asked = SOURCES[name], tuple(s for s in SPLITS if s in splits) or SPLITS
    if isinstance(source, HubWikiText) and not paths:
        return replace(source, splits=asked)
    if isinstance(source, HubWikiText) or not set(paths) <= set(asked):
        raise CorpusError(
            f"Expected lists of paths for splits of source files that are fetched, found one for "
            f"{', '.join(paths)} of {name} ({', '.join(asked)}). Leave it out."
        )
    lists = {split: Paths.from_file(file) for split, file in paths.items()}
    return replace(source, splits=asked, paths=lists, server=zenodo)


def fetch(
    source: AbstractSource,
    folder: Path,
    *,
    force: bool = False,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, Any]:
    """
    Have a corpus in *folder*, and give what its ``about.json`` says.

    What is there already is not overwritten, except with *force*. Interrupted, it goes on where
    it stopped when it is called again.
    """
    work = folder / f".{source.name}.part"
    with _written_to(folder):
        if not force:
            _check_free(source, folder, work)
        work.mkdir(parents=True, exist_ok=True)
        with FileLock(work / "lock", timeout=0):  # two of them would write one .part
            made = source.make(work, progress)
            about = _about(source, made, work)
            _publish(about, work, folder)
    return about


def _check_free(source: AbstractSource, folder: Path, work: Path) -> None:
    about = _finished(folder)
    if about:
        raise CorpusError(
            f"{folder} holds {about['name']} already, fetched on {about['date']}; it is not "
            "overwritten. Name another folder, or fetch it again with --force."
        )
    names = (source.file_name(split) for split in source.splits)
    taken = [name for name in names if (folder / name).exists()]
    if taken and not (work / PUBLISHING).exists():
        raise CorpusError(
            f"{folder} has files that no fetch put there: {', '.join(taken)}; they are not "
            "overwritten. Name another folder, or overwrite them with --force."
        )


def _finished(folder: Path) -> dict[str, Any] | None:
    """Read the note of a finished fetch, if there is one."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return {"name": about["name"], "date": about["date"], "splits": dict(about["splits"])}
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"Expected in {folder / ABOUT} what an earlier fetch wrote, found something else. "
            "Name another folder."
        ) from error


def _about(source: AbstractSource, made: Made, work: Path) -> dict[str, Any]:
    return {
        "name": source.name,
        "about": source.about,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "vicinal": __version__,
        "origin": dict(made.origin),
        "splits": {
            split: asdict(file)
            | {
                "n_bytes": (work / file.name).stat().st_size,
                "sha256": sha256_of(work / file.name),
            }
            for split, file in made.files.items()
        },
        "notes": list(made.notes),
    }


def _publish(about: Mapping[str, Any], work: Path, folder: Path) -> None:
    """Move the files to where they belong, and the note that says so last."""
    names = [split["name"] for split in about["splits"].values()]
    (work / PUBLISHING).touch()
    earlier = _finished(folder)
    (folder / ABOUT).unlink(missing_ok=True)
    for split in earlier["splits"].values() if earlier else ():
        stale = Path(split["name"]).name
        if stale not in names:
            (folder / stale).unlink(missing_ok=True)
    for name in names:
        os.replace(work / name, folder / name)
    text = json.dumps(about, ensure_ascii=False, indent=2) + "\n"
    (work / ABOUT).write_text(text, encoding="utf-8")
    os.replace(work / ABOUT, folder / ABOUT)
    shutil.rmtree(work)


@contextmanager
def _written_to(folder: Path) -> Iterator[None]:
    try:
        yield
    except VicinalError:
        raise
    except Timeout as error:
        raise DownloadError(
            f"Another process is fetching into {folder}. Wait for it, or name another folder."
        ) from error
    except OSError as error:
        raise DownloadError(f"Expected room to write to in {folder}, found: {error}.") from error
