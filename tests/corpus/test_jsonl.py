import io
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.corpus import Decision, JsonLines
from vicinal.errors import CorpusError

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@pytest.fixture
def lines(tmp_path):
    """Write lines, given as objects or raw, and name the file."""

    def write(*items):
        file = tmp_path / "a.jsonl"
        raw = [item if isinstance(item, bytes) else json.dumps(item).encode() for item in items]
        file.write_bytes(b"\n".join(raw))
        return file

    return write


def test_a_line_becomes_a_document(lines):
    """Attributes come from their object and from loose fields, sorted; a number is written out."""
    line = {"text": "To be", "name": "hamlet", "author": "W. S.", "year": 1603, "isbn": None}
    line |= {"attributes": {"dewey": ["822", "8", "8"]}, "language": "java"}
    (document,) = JsonLines(lines(line))
    assert document.name == "hamlet"
    assert (document.language, document.path) == ("java", "")
    assert document.spans[0].attributes == {
        "author": ("W. S.",),
        "year": ("1603",),
        "isbn": (),
        "dewey": ("8", "822"),
    }


def test_spans_inherit_and_gaps_are_filled(lines):
    """A span has the document's attributes and its own, which win; the rest is the document's."""
    spans = [{"start": 2, "end": 4, "attributes": {"part": "b"}}, {"start": 4, "end": 5, "a": "2"}]
    (document,) = JsonLines(lines({"text": "01234567", "a": "1", "spans": spans}))
    assert [(s.start, s.end, dict(s.attributes)) for s in document.spans] == [
        (0, 2, {"a": ("1",)}),
        (2, 4, {"a": ("1",), "part": ("b",)}),
        (4, 5, {"a": ("2",)}),
        (5, 8, {"a": ("1",)}),
    ]


def test_names_come_from_the_file_and_the_line(lines):
    """Blank lines are passed over and counted; a prefix stands in the file's place."""
    file = lines({"text": "a"}, b"  ", {"text": "b", "name": "own"}, {"text": "c"}, b"")
    assert [d.name for d in JsonLines(file)] == ["a.jsonl:1", "own", "a.jsonl:4"]
    prefixed = JsonLines(file, name_prefix="p")
    assert [d.name for d in prefixed] == ["p:1", "p/own", "p:4"]


@given(WORDS, st.dictionaries(st.sampled_from(["k", "l"]), st.lists(WORDS, max_size=3)))
def test_what_is_written_is_read(tmp_path_factory, text, attributes):
    """Any text and any values come back, the values sorted and each once."""
    file = tmp_path_factory.mktemp("lines") / "a.jsonl"
    file.write_text(json.dumps({"text": text, "attributes": attributes}) + "\r\n")
    (document,) = JsonLines(file)
    assert document.text == text
    expected = {key: tuple(sorted(set(given))) for key, given in attributes.items()}
    assert document.spans[0].attributes == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "must be JSON in UTF-8, found: Expecting property name"),
        (b'{"text": "\xff"}', "must be JSON in UTF-8, found: 'utf-8' codec"),
        (b"[" * 100_000, "must be JSON in UTF-8"),
        (["text"], r'must be an object in braces, found: \["text"\]'),
        ({}, "'text' must be a string that is not empty, found: null"),
        ({"text": ""}, "'text' must be a string that is not empty"),
        (b'{"text": "\\ud800"}', "'text' must be whole characters"),
        ({"text": "a", "name": 7}, "'name' must be a string, found: 7"),
        ({"text": "a", "language": []}, r"'language' must be a string, found: \[\]"),
        ({"text": "a", "attributes": "b"}, "'attributes' must be an object in braces"),
        ({"text": "a", "b": {"c": 1}}, "'b' must be a string or a list of strings"),
        ({"text": "a", "b": [["c"]]}, "'b' must be a string or a list of strings"),
        ({"text": "a", "spans": {"a": 1}}, "'spans' must be a list"),
        ({"text": "a", "spans": [3]}, "a span must have whole numbers 'start' and 'end', found: 3"),
        ({"text": "a", "spans": [{"start": 0, "end": True}]}, "a span must have whole numbers"),
        (
            {"text": "abc", "spans": [{"start": 0, "end": 2}, {"start": 1, "end": 3}]},
            ".*follow one another within the 3 characters of the text, found 1 to 3 where 2 to 3",
        ),
        ({"text": "abc", "spans": [{"start": 0, "end": 4}]}, ".*found 0 to 4 where 0 to 3 is left"),
        ({"text": "abc", "spans": [{"start": 1, "end": 1}]}, ".*found 1 to 1"),
    ],
)
def test_a_fault_is_told_with_its_place(lines, line, message):
    """The message names file and line, what was expected and what was found."""
    with pytest.raises(CorpusError, match=rf"a\.jsonl:2: {message}"):
        list(JsonLines(lines({"text": "fine"}, line)))


def test_several_faults_are_told_at_once(lines):
    """Documents before the first fault are given; then ten faults are told, not eleven."""
    file = lines({"text": "fine"}, *[{"text": number} for number in range(2, 20)])
    documents = iter(JsonLines(file))
    assert next(documents).text == "fine"
    with pytest.raises(CorpusError, match=r"the first 10 are shown") as caught:
        next(documents)
    assert str(caught.value).count("a.jsonl:") == 10
    assert "a.jsonl:11: 'text' must be a string that is not empty, found: 11" in str(caught.value)


def test_names_differ(lines):
    """A name given twice would replace the first document in a store."""
    file = lines({"text": "a", "name": "n"}, {"text": "b"}, {"text": "c", "name": "n"})
    with pytest.raises(CorpusError, match=r"a\.jsonl:3: 'name' must differ.*'n' on line 1 too"):
        list(JsonLines(file))


def test_decisions_agree_with_what_is_read(lines):
    """A file of blank lines is left out as empty; any other is read."""
    file = lines({"text": "a"})
    assert list(JsonLines(file).decisions()) == [Decision(str(file), kept=True)]
    file = lines(b" ", b"")
    assert list(JsonLines(file)) == []
    assert list(JsonLines(file).decisions()) == [Decision(str(file), False, "empty")]


def test_the_standard_input(monkeypatch):
    """A dash reads what is piped in."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"text": "a"}\n')))
    assert [d.name for d in JsonLines("-")] == ["-:1"]
    assert next(JsonLines("-").decisions()).kept


def test_a_missing_file(tmp_path):
    """The message says what to check."""
    with pytest.raises(
        CorpusError, match=r"found at '.*none\.jsonl': No such file.*Check the path"
    ):
        list(JsonLines(tmp_path / "none.jsonl"))
