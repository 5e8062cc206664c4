"""
Where the sections of a text begin: headings of Markdown and of reStructuredText.

Knows text only. A heading is the offset of its first character and its title; what stands in a code
block, a comment or the front matter is no heading.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

FRONT_MATTER = re.compile(
    r"---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE
)
ITEM = r" {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]+"
FENCE = re.compile(rf"({ITEM})? {{0,3}}(`{{3,}}(?=[^`]*$)|~{{3,}}).*")
ATX = re.compile(r" {0,3}#{1,6}(?:[ \t](.*))?")
UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*")
BREAK = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
CODE = re.compile(r" {4}| {0,3}\t")
LIST_ITEM = re.compile(rf"{ITEM}|[ \t]*[-+*]$")
INTERRUPTION = re.compile(r" {0,3}(?:>|(?:[-+*]|1[.)])[ \t]+\S)")
NO_PARAGRAPH = re.compile(rf"{CODE.pattern}|{LIST_ITEM.pattern}| {{0,3}}>")
RULE = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
NO_TITLE = re.compile(r"\s|(?:[-+*|\u2022\u2023\u2043]|\.\.|__|>>>)(?:\s|$)|:[^:\s][^:]*:(?:\s|$)")


@dataclass(frozen=True)
class Heading:
    """A section's first character, and its title, which may be empty."""

    start: int
    title: str


@dataclass(frozen=True)
class Line:
    """A line without its end, and the offset of its first character."""

    start: int
    text: str


def lines_of(text: str, start: int = 0) -> Iterator[Line]:
    """Cut a text into lines from *start* on."""
    for line in text[start:].splitlines(keepends=True):
        yield Line(start, line.rstrip("\r\n"))
        start += len(line)


def markdown_headings(text: str) -> Iterator[Heading]:
    """Find the headings of Markdown: after ``#`` signs, or underlined with ``=`` or ``-``."""
    matter = FRONT_MATTER.match(text)
    block: list[Line] = []  # the lines of a paragraph, a quotation or a list item
    last = block
    for line in outside_of_blocks(lines_of(text, matter.end() if matter else 0)):
        atx = ATX.fullmatch(line.text)
        if atx:
            yield Heading(line.start, without_closing(atx[1] or ""))
        elif UNDERLINE.fullmatch(line.text) and block and not NO_PARAGRAPH.match(block[0].text):
            yield Heading(block[0].start, " ".join(part.text.strip() for part in block))
        elif not line.text.strip():
            block = []
            continue
        elif not BREAK.fullmatch(line.text):
            last = block = continued(block, last, line)
            continue
        last = block = []


def without_closing(title: str) -> str:
    """Take off the spaces around a title and the ``#`` signs that close it."""
    title = title.strip()
    opened = title.rstrip("#")
    return opened.rstrip() if opened[-1:] in ("", " ", "\t") else title


def continued(block: list[Line], last: list[Line], line: Line) -> list[Line]:
    """Add a line to its block, or open another; what is indented belongs to a list before it."""
    item = LIST_ITEM.match(last[0].text) if last and not block else None
    if item and len(line.text) - len(line.text.lstrip()) >= len(item[0]):
        return [last[0], line]
    ends_code = block and CODE.match(block[0].text) and not CODE.match(line.text)
    if not block or ends_code or INTERRUPTION.match(line.text):
        return [line]
    block.append(line)  # in place: a paragraph may have very many lines
    return block


def outside_of_blocks(lines: Iterator[Line]) -> Iterator[Line]:
    """Pass on the lines outside fenced code and comments, and an empty line for each block."""
    for line in lines:
        end = end_of_block(line.text)
        if end:
            next((inner for inner in lines if end.fullmatch(inner.text)), None)
        yield Line(line.start, "") if end else line


def end_of_block(opening: str) -> re.Pattern[str] | None:
    """Tell which line ends the code block or comment that a line opens, if it opens one."""
    fence = FENCE.fullmatch(opening)
    if fence:
        indent = "[ \t]*" if fence[1] else " {0,3}"
        return re.compile(rf"{indent}{fence[2]}{fence[2][0]}*[ \t]*")
    opens_comment = opening.lstrip().startswith("<!--") and "-->" not in opening
    return re.compile(".*-->.*") if opens_comment else None


def rst_headings(text: str) -> Iterator[Heading]:
    """Find the headings of reStructuredText: underlined, or with a line above and below."""
    lines = [Line(0, ""), *lines_of(text), *[Line(len(text), "")] * 2]
    at = 1
    while at < len(lines) - 2:
        here, after, last = lines[at : at + 3]
        fresh = not lines[at - 1].text.strip() or RULE.fullmatch(lines[at - 1].text)
        if fresh and RULE.fullmatch(here.text) and framed(here.text, after.text, last.text):
            yield Heading(here.start, after.text.strip())
            at += 3
        elif fresh and not NO_TITLE.match(here.text) and underlined(here.text, after.text):
            yield Heading(here.start, here.text.strip())
            at += 2
        else:
            at += 1


def underlined(title: str, rule: str) -> bool:
    """Say whether *rule* is a line under *title*, long enough not to be text itself."""
    long_enough = len(rule.rstrip()) >= min(4, len(title.rstrip()))
    is_text = bool(title.strip()) and not RULE.fullmatch(title)
    return is_text and long_enough and RULE.fullmatch(rule) is not None


def framed(above: str, title: str, below: str) -> bool:
    """Say whether a title stands between two equal lines."""
    return above.rstrip() == below.rstrip() and underlined(title, below)
