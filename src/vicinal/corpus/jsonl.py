"""
JSON lines: a document on each line, with any attributes, for every domain that has no reader.

    {"text": "…", "name": "…", "attributes": {"author": "…", "dewey": ["5", "51"]},
     "spans": [{"start": 0, "end": 80, "attributes": {"section": "…"}}], "language": "java"}

Only ``text`` is needed. Any other field is an attribute of the document. A span's attributes stand
beside the document's, or in their place; characters outside of all spans have the document's.
Offsets count characters. Knows nothing of what attributes mean.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

from vicinal.corpus.document import AbstractCorpus, Attributes, Decision, Document, Span
from vicinal.errors import CorpusError

FIELDS = frozenset({"text", "name", "attributes", "spans", "language"})
MAX_FAULTS = 10


@dataclass(frozen=True)
class Fault:
    """What is wrong with a line."""

    line: int
    message: str


@dataclass(frozen=True)
class JsonLines(AbstractCorpus):
    """
    The documents of one file of JSON lines; ``-`` is the standard input, which is read only once.

    A document without a name is called after its file and line. Names begin with *name_prefix*.
    """

    path: str | PathLike[str]
    _: KW_ONLY
    name_prefix: str = ""

    def __iter__(self) -> Iterator[Document]:
        """Read line after line; at the first fault, look for more, and tell the first ten."""
        found = self._lines()
        for item in found:
            if isinstance(item, Fault):
                more = (later for later in found if isinstance(later, Fault))
                raise self._error([item, *islice(more, MAX_FAULTS - 1)])
            yield item

    def decisions(self) -> Iterator[Decision]:
        """Say of the file whether it has a document."""
        path = str(self.path)
        with self._open() if path != "-" else nullcontext([b"standard input"]) as file:
            kept = any(line.strip() for line in file)
        yield Decision(path, kept, "" if kept else "empty")

    def _lines(self) -> Iterator[Document | Fault]:
        taken: dict[str, int] = {}
        with self._open() as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    document = self._document(number, line)
                except ValueError as error:
                    yield Fault(number, str(error))
                    continue
                first = taken.setdefault(document.name, number)
                is_new = first == number
                yield document if is_new else Fault(number, named_twice(document.name, first))

    def _document(self, number: int, line: bytes) -> Document:
        fields = parse(line)
        text = string(fields, "text")
        attributes = attributes_of(fields)
        label = self.name_prefix or Path(self.path).name
        own = string(fields, "name", default="")
        name = "/".join(filter(None, [self.name_prefix, own])) if own else f"{label}:{number}"
        spans = tuple(cover(fields.get("spans") or [], len(text), attributes))
        return Document(name, text, spans, language=string(fields, "language", default=""))

    def _open(self) -> "IO[bytes] | nullcontext[IO[bytes]]":
        if str(self.path) == "-":
            return nullcontext(sys.stdin.buffer)
        try:
            return Path(self.path).expanduser().open("rb")
        except OSError as error:
            raise CorpusError(
                f"Expected a file of JSON lines, found at {str(self.path)!r}: {error.strerror}. "
                "Check the path, or give - for the standard input."
            ) from error

    def _error(self, faults: list[Fault]) -> CorpusError:
        listed = "\n".join(f"  {self.path}:{fault.line}: {fault.message}" for fault in faults)
        rest = f" (the first {MAX_FAULTS} are shown)" if len(faults) == MAX_FAULTS else ""
        return CorpusError(
            'Expected on every line a document such as {"text": "…", "author": "…"}, '
            f"found lines at fault{rest}:\n{listed}\nCorrect these lines, or take them out."
        )


def named_twice(name: str, first: int) -> str:
    """Say that a name is taken."""
    return f"'name' must differ from line to line, found {name!r} on line {first} too"


def parse(line: bytes) -> Mapping[str, Any]:
    """Read one line as a JSON object."""
    try:
        fields = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"must be JSON in UTF-8, found: {error}") from error
    if not isinstance(fields, dict):
        raise CorpusError(f"must be an object in braces, found: {shown(fields)}")
    return fields


def string(fields: Mapping[str, Any], key: str, *, default: str | None = None) -> str:
    """Take a field that is text, and not empty where it is needed."""
    value = fields.get(key, default)
    if not isinstance(value, str) or (default is None and not value):
        must = "a string that is not empty" if default is None else "a string"
        raise CorpusError(f"'{key}' must be {must}, found: {shown(value)}")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise CorpusError(f"'{key}' must be whole characters, found half of a surrogate pair")
    return value


def attributes_of(fields: Mapping[str, Any]) -> Attributes:
    """Take what is under ``attributes``, and every field that has no meaning of its own."""
    given = fields.get("attributes") or {}
    if not isinstance(given, dict):
        raise CorpusError(f"'attributes' must be an object in braces, found: {shown(given)}")
    loose = {key: value for key, value in fields.items() if key not in FIELDS}
    return {key: values(key, value) for key, value in {**loose, **given}.items()}


def values(key: str, value: Any) -> tuple[str, ...]:
    """Sort an attribute's values; null is none, and a number is as JSON writes it."""
    given = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(one, str | int | float) for one in given):
        raise CorpusError(f"'{key}' must be a string or a list of strings, found: {shown(value)}")
    texts = (one if isinstance(one, str) else json.dumps(one) for one in given)
    return tuple(sorted({string({key: text}, key) for text in texts if text}))


def cover(spans: Any, length: int, attributes: Attributes) -> Iterator[Span]:
    """Give the spans of a text, and those between them with the document's own attributes."""
    if not isinstance(spans, list):
        raise CorpusError(f"'spans' must be a list, found: {shown(spans)}")
    at = 0
    for span in spans:
        start, end = bounds(span)
        if not at <= start < end <= length:
            raise CorpusError(
                f"'spans' must follow one another within the {length} characters of the text, "
                f"found {start} to {end} where {at} to {length} is left"
            )
        if at < start:
            yield Span(at, start, attributes)
        inner = {key: span[key] for key in span if key not in ("start", "end")}
        yield Span(start, end, {**attributes, **attributes_of(inner)})
        at = end
    if at < length:
        yield Span(at, length, attributes)


def bounds(span: Any) -> tuple[int, int]:
    """Take where a span starts and ends."""
    start, end = (span.get("start"), span.get("end")) if isinstance(span, dict) else (None, None)
    if type(start) is not int or type(end) is not int:
        raise CorpusError(f"a span must have whole numbers 'start' and 'end', found: {shown(span)}")
    return start, end


def shown(value: Any) -> str:
    """Write a value as JSON, cut short."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
