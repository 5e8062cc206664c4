"""
Categories of articles, looked up by title however WikiText has tokenized it.

Knows titles and tables; what Wikidata says of a title is asked of its client.
"""

import csv
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from vicinal.corpus.wikidata import WikidataClient
from vicinal.errors import CorpusError

_UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Coverage:
    """How many of the titles asked for have a category, and which have none."""

    n_titles: int
    without: tuple[str, ...]

    def __str__(self) -> str:
        n_known = self.n_titles - len(self.without)
        return f"{n_known} of {self.n_titles} articles have a category"


@dataclass(frozen=True)
class Categories:
    """
    The categories of every known title; a title that is not known has none.

    *by_title* may be written as Wikipedia or as WikiText writes titles. *report* says where they
    come from, and what is missing at the source.
    """

    by_title: Mapping[str, Sequence[str]]
    report: str = ""

    @classmethod
    def from_tsv(
        cls,
        path: str | PathLike[str],
        *,
        title: str | Sequence[str] = "wikitext_title",
        column: str | Sequence[str] = "ga_subtopic",
        separator: str = ";",
    ) -> "Categories":
        """
        Read a table with a header; a cell may hold several values.

        Several *column* are united; several *title* are several names of the article of that row.
        """
        titles = [title] if isinstance(title, str) else list(title)
        columns = [column] if isinstance(column, str) else list(column)
        found: dict[str, set[str]] = {}
        for row in _rows(Path(path), [*titles, *columns]):
            cells = (row[name] or "" for name in columns)
            values = {value.strip() for cell in cells for value in cell.split(separator)} - {""}
            for key in {row[name] for name in titles if row[name]}:
                found.setdefault(key, set()).update(values)
        report = f"{', '.join(columns)} of {Path(path).name}"
        return cls({key: sorted(values) for key, values in found.items()}, report)

    @classmethod
    def from_wikidata(cls, client: WikidataClient, titles: Iterable[str]) -> "Categories":
        """Ask Wikidata for the classes of articles, whose *titles* may be tokenized."""
        asked = {title: wikipedia_title(title) for title in titles}
        known = {title: page for title, page in asked.items() if _UNKNOWN not in title}
        answer = client.ask(known.values())
        by_title = {title: answer.categories.get(page, ()) for title, page in known.items()}
        n_unknown = len(asked) - len(known)
        return cls(by_title, f"{answer}; {n_unknown} with <unk> could not be asked for")

    def of(self, title: str) -> tuple[str, ...]:
        """
        Look up the sorted categories of an article; empty if it or they are not known.

        A title with ``<unk>`` that is not in the table as it is stands for the only known title
        that agrees in all other words; if there are several, its categories are not known.
        """
        key = _key(title)
        if _UNKNOWN not in key:
            return self._by_key.get(key, ())
        if not re.search(r"\w", key.replace(_UNKNOWN, "")):
            return ()
        return self._by_key[key] if key in self._by_key else self._only_fit(key)

    def _only_fit(self, key: str) -> tuple[str, ...]:
        pattern = re.compile(re.escape(key).replace(_UNKNOWN, r"\S+"))
        fits = [known for known in self._by_key if pattern.fullmatch(known)]
        return self._by_key[fits[0]] if len(fits) == 1 else ()

    def coverage(self, titles: Iterable[str]) -> Coverage:
        """Count for how many of *titles* a category is known."""
        asked = list(titles)
        return Coverage(len(asked), tuple(title for title in asked if not self.of(title)))

    @cached_property
    def _by_key(self) -> dict[str, tuple[str, ...]]:
        united: dict[str, set[str]] = {}
        for title, values in self.by_title.items():
            united.setdefault(_key(title), set()).update(values)
        return {key: tuple(sorted(values)) for key, values in united.items()}


def wikipedia_title(title: str) -> str:
    """
    Write a tokenized title as Wikipedia does, as far as the tokens tell.

    >>> wikipedia_title("Ise @-@ class battleship ( 1915 ) , Japan 's")
    "Ise-class battleship (1915), Japan's"
    """
    title = re.sub(r" ?@(\S)@ ?| ([\u2013/]) ", r"\1\2", title)
    title = re.sub(r'" ([^"]*) "', r'"\1"', title)
    title = re.sub(r" ([,.:;!?%)\]]|')", r"\1", title)
    return re.sub(r"([(\[$£#]) ", r"\1", title)


def _key(title: str) -> str:
    """Write words and signs apart, in one Unicode form: equal for both ways to write a title."""
    joined = re.sub(r"@(\S)@", r"\1", title.replace("_", " "))
    return " ".join(re.findall(rf"{_UNKNOWN}|\w+|[^\w\s]", unicodedata.normalize("NFC", joined)))


def _rows(path: Path, columns: Sequence[str]) -> Iterable[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        # QUOTE_NONE: these tables have titles such as '"Heroes" (David Bowie song)', unescaped.
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        missing = [name for name in columns if name not in (rows.fieldnames or ())]
        if missing:
            raise CorpusError(
                f"{path} has no column {', '.join(map(repr, missing))}. "
                f"Its columns: {', '.join(rows.fieldnames or ())}."
            )
        yield from rows
