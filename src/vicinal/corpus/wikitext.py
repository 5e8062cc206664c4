"""
WikiText: articles and their sections, from the files of WikiText-2 and 103 (tokens or raw).

Knows the layout of these files and nothing of where categories come from.

Departures from the paper's script, which named every segment after the *next* heading and dropped
the last section of each article: here a section starts with its own heading, the last one counts,
and the lead (what stands before the first section heading) has no section title, so that the leads
of two articles are not "the same section" unless *lead* gives them a common name. Titles are
compared without their ``=`` signs: "History" is the same title at any depth. A title with ``<unk>``
is not known, and matches nothing: of the pairs of sections in WikiText-2's valid and test files
that share such a title, 27 of 3,579 share it in WikiText-103 too.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from itertools import accumulate, chain, takewhile
from os import PathLike
from pathlib import Path
from typing import Literal

from vicinal.corpus.categories import Categories
from vicinal.corpus.document import AbstractCorpus, Attributes, Decision, Document, Span
from vicinal.errors import CorpusError

_UNKNOWN = "<unk>"
_SUFFIXES = (".raw", ".tokens")


@dataclass(frozen=True)
class _Section:
    """A heading line with everything up to the next one; an article's lead has depth 1."""

    depth: int
    title: str
    text: str


@dataclass(frozen=True)
class _Article:
    """Its sections, the lead first, and the attributes that they share."""

    path: Path
    name: str
    attributes: Attributes
    sections: list[_Section]


@dataclass(frozen=True)
class WikiText(AbstractCorpus):
    """
    The articles of one WikiText file, or of every ``.tokens`` and ``.raw`` file of a folder.

    A document is a section (the paper's choice) or an article with one span per section; its
    attributes are ``article``, ``section`` and ``categories``. Headings deeper than *depth* ``=``
    signs do not start a section; without *depth* all do, as in the paper. *lead* is the section
    title of leads; empty, a lead shares its section with nothing.
    """

    path: str | PathLike[str]
    _: KW_ONLY
    unit: Literal["section", "article"] = "section"
    depth: int | None = None
    lead: str = ""
    categories: Categories | None = None
    name_prefix: str = ""

    def __iter__(self) -> Iterator[Document]:
        """Read article after article; only one is held at a time."""
        for article in self._articles():
            if self.unit == "article":
                yield self._whole(article)
            else:
                yield from self._by_section(article)

    def titles(self) -> Iterator[str]:
        """Read the article titles, as the files write them (what categories are looked up by)."""
        for article in self._articles():
            yield article.sections[0].title

    def decisions(self) -> Iterator[Decision]:
        """Say of every file whether it is read: one that is named always, else by its suffix."""
        root = Path(self.path)
        if not root.exists():
            raise CorpusError(
                f"Expected a WikiText file or a folder of such files, found nothing at {root}."
            )
        for path in sorted(root.iterdir()) if root.is_dir() else [root]:
            kept = path == root or (path.is_file() and path.suffix in _SUFFIXES)
            yield Decision(str(path), kept, "" if kept else "neither .tokens nor .raw")

    def _articles(self) -> Iterator[_Article]:
        taken: set[str] = set()
        for path in [Path(decision.path) for decision in self.decisions() if decision.kept]:
            for sections in _grouped(_split(path, self.depth)):
                title = sections[0].title
                name = _unused(_name(self.name_prefix, path, title), taken)
                taken.add(name)
                # Two articles of one title are two articles, and <unk> names none.
                is_one = _UNKNOWN not in title and name == _name(self.name_prefix, path, title)
                categories = self.categories.of(title) if self.categories else ()
                shared = {"article": (title if is_one else name,), "categories": categories}
                yield _Article(path, name, shared, sections)

    def _whole(self, article: _Article) -> Document:
        ends = list(accumulate(len(section.text) for section in article.sections))
        spans = tuple(
            Span(start, end, self._attributes(article, section))
            for start, end, section in zip([0, *ends], ends, article.sections, strict=False)
        )
        text = "".join(section.text for section in article.sections)
        return Document(article.name, text, spans, path=str(article.path))

    def _by_section(self, article: _Article) -> Iterator[Document]:
        for number, section in enumerate(article.sections):
            name = f"{article.name}/{number} {section.title}" if number else f"{article.name}/0"
            attributes = self._attributes(article, section)
            yield Document.whole(name, section.text, attributes, path=str(article.path))

    def _attributes(self, article: _Article, section: _Section) -> Attributes:
        title = self.lead if section.depth == 1 else section.title
        known = title and _UNKNOWN not in title
        return {**article.attributes, "section": (title,) if known else ()}


def _name(prefix: str, path: Path, title: str) -> str:
    # A slash in a title would let it end like the name of another article's section.
    return f"{prefix}{path.stem}/{title.replace('/', '|')}"


def _unused(name: str, taken: set[str]) -> str:
    candidates = chain([name], (f"{name} #{n}" for n in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _grouped(sections: Iterable[_Section]) -> Iterator[list[_Section]]:
    article: list[_Section] = []
    for section in sections:
        if section.depth == 1 and article:
            yield article
            article = []
        article.append(section)
    if article:
        yield article


def _split(path: Path, depth: int | None) -> Iterator[_Section]:
    """Cut a file before its headings; the text of all sections is the file from its first one."""
    section: _Section | None = None
    body: list[str] = []
    for heading, line in _lines(path):
        if heading and (depth is None or heading[0] <= max(depth, 1)):
            if section:
                yield replace(section, text="".join(body))
            section, body = _Section(*heading, text=""), []
        elif section is None and line.strip():
            raise CorpusError(
                f"Expected {path} to start with an article title such as ' = Title = ', "
                f"found: {line.strip()[:80]!r}. Is this a WikiText file?"
            )
        if section:
            body.append(line)
    if section:
        yield replace(section, text="".join(body))


def _lines(path: Path) -> Iterator[tuple[tuple[int, str] | None, str]]:
    """Give every line with its depth and title if it is a heading."""
    spaced = _is_spaced(path)
    for previous, line, following in _neighborhoods(path):
        heading = _heading(line)
        if heading and not _stands_alone(heading, (previous, following), spaced=spaced):
            heading = None
        yield heading, line


def _heading(line: str) -> tuple[int, str] | None:
    if line.lstrip()[:1] != "=":
        return None
    words = line.split()
    depth = len(list(takewhile("=".__eq__, words)))
    title = words[depth:-depth]
    if not title or title[-1] == "=" or words[-depth:] != ["="] * depth:
        return None
    return depth, " ".join(title)


def _stands_alone(heading: tuple[int, str], around: tuple[str, str], *, spaced: bool) -> bool:
    """
    Tell a heading from a formula or table legend that was broken at its ``=`` signs.

    In the published files a heading has a blank line before and after it, and nothing else that
    looks like one does. Some copies have lost their blank lines; there an article title is told
    by the line of prose that follows it (measured: 599 of 600, and 2 that are none).
    """
    if spaced:
        return not any(line.strip() for line in around)
    depth, title = heading
    return depth > 1 or _opens_article(title, around[1].strip())


def _opens_article(title: str, line: str) -> bool:
    words = set(re.findall(r"\w{4,}", title.lower())) & set(re.findall(r"\w{4,}", line.lower()))
    return len(line) >= 60 and (bool(words) or line[0].isupper() or line[0] in "\"'<([.")


def _is_spaced(path: Path) -> bool:
    """Tell whether the first line that is not blank is followed by a blank one."""
    for _, line, following in _neighborhoods(path):
        if line.strip():
            return not following.strip()
    return True


def _neighborhoods(path: Path) -> Iterator[tuple[str, str, str]]:
    """Give every line between the one before and the one after it."""
    previous, line = "", None
    for following in chain(_read(path), [""]):
        if line is not None:
            yield previous, line, following
            previous = line
        line = following


def _read(path: Path) -> Iterator[str]:
    # newline="\n": nothing is translated, so that the documents are the file, to the character.
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            yield from file
    except UnicodeDecodeError as error:
        raise CorpusError(f"Expected {path} to be UTF-8, found: {error}.") from error
