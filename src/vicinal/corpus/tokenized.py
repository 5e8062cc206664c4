"""
Files of code that were pre-processed to one line each, tokens between spaces, as JSON lines.

    <s> package org . vaadin ; public class Clara { } </s>

Such lines say nothing of the file's path. Where it came from is taken from a list of paths with
as many lines, and never guessed. Knows nothing of who published the lines.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from vicinal.errors import CorpusError

START, END = "<s>", "</s>"
MAX_FAULTS = 5


@dataclass(frozen=True)
class Paths:
    """The paths of the files that the lines of *file* were made from, in the lines' order."""

    file: Path
    paths: tuple[str, ...]

    @classmethod
    def from_file(cls, file: Path) -> "Paths":
        """
        Read a list of paths such as ``project/dir/File.java``.

        The lists of the paper's authors have before each project the folder ``…/Test-processed/``,
        and ``.prep`` at the end: both are left out.
        """
        try:
            found = file.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise CorpusError(f"Expected a list of paths, found {file}: {error}.") from error
        paths = [_inner(path) for path in found]
        faults = ((n, found[n - 1]) for n, path in enumerate(paths, 1) if not path)
        listed = "; ".join(f"line {n}: {path[:80]!r}" for n, path in islice(faults, MAX_FAULTS))
        if listed:
            raise CorpusError(
                f"Expected on every line of {file} a path such as project/dir/File.java, "
                f"found {listed}. Correct these lines."
            )
        return cls(file, tuple(paths))


@dataclass(frozen=True)
class Written:
    """How many lines were read, how many were documents, and how many were not quite UTF-8."""

    n_lines: int
    n_documents: int
    n_repaired: int


def write_json_lines(
    lines: Iterable[bytes], target: Path, *, language: str, paths: Paths | None = None
) -> Written:
    """
    Write a document for each line that has text, with its name and place if there are *paths*.

    A list with more or fewer paths than there are lines belongs to other lines, and is refused.
    """
    n_lines = n_documents = n_repaired = 0
    taken: dict[str, int] = {}
    with target.open("w", encoding="utf-8", newline="\n") as file:
        for n_lines, line in enumerate(lines, 1):
            text, is_whole = text_of(line)
            n_repaired += not is_whole
            if text:
                path = paths.paths[n_lines - 1] if paths and n_lines <= len(paths.paths) else ""
                place = _place(path, taken) if path else {}
                fields = {"text": text, "language": language, **place}
                file.write(json.dumps(fields, ensure_ascii=False) + "\n")
                n_documents += 1
    if paths and len(paths.paths) != n_lines:
        raise CorpusError(
            f"Expected a path for each of {n_lines:,} lines, found {len(paths.paths):,} in "
            f"{paths.file}. It must be the list of exactly these files, in their order."
        )
    return Written(n_lines, n_documents, n_repaired)


def text_of(line: bytes) -> tuple[str, bool]:
    r"""
    Take the text of a line without its marks, and say whether all of it was UTF-8.

    >>> text_of(b"<s> class A { } </s>\n")
    ('class A { }', True)
    """
    try:
        text, is_whole = line.decode("utf-8"), True
    except UnicodeDecodeError:
        text, is_whole = line.decode("utf-8", "replace"), False
    text = text.strip()
    # The marks stand for the ends of a file, which a document has anyway.
    return text.removeprefix(START + " ").removesuffix(END).strip(), is_whole


def _inner(path: str) -> str:
    """Give the path below the projects' common folder, or nothing if it is no such path."""
    parts = PurePosixPath(path.strip().removesuffix(".prep")).parts
    start = max((n for n, part in enumerate(parts, 1) if part.endswith("-processed")), default=0)
    inner = parts[start:]
    return "/".join(inner) if len(inner) > 1 and not {"/", ".."} & set(inner) else ""


def _place(path: str, taken: dict[str, int]) -> dict[str, Any]:
    """Say where a file lay; the second document of one path is another document."""
    number = taken[path] = taken.get(path, 0) + 1
    return {
        "name": path if number == 1 else f"{path} #{number}",
        "attributes": {
            "project": path.partition("/")[0],
            "directory": path.rpartition("/")[0],
        },
    }
