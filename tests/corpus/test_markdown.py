from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from vicinal.corpus import MarkdownTree
from vicinal.corpus.headings import markdown_headings, rst_headings

GUIDE = """\
Lead.

# Install

Run it.

```sh
# not a heading
```

Use it
------
First,
then.
## Questions ##
"""
PLAIN = [
    "",
    "",
    "",
    "text",
    "more text",
    "  text",
    "`a`",
    "| a | b |",
    "    code",
    "#no",
    "--",
    "= =",
]
HEADED = [
    "# One",
    "## Two ##",
    "####### no",
    " # Three",
    "#",
    "# Four #five",
    "#\tTab",
    "===",
    "---",
]
BLOCKS = ["***", "* * *", "```", "~~~", "````", "``` py", "```a```", "- item", "1. item", "> quote"]
MARKDOWN_LINES = st.sampled_from([*PLAIN, *HEADED, *BLOCKS])
RST = """\
========
 Manual
========

Lead.

Install
-------
::

    Code
    ----

.. note::
   Note
   ----

1. Numbered
~~~~~~~~~~~
- item
----

A line of
text
----

======  =====
A       B
======  =====
1       2
======  =====

-----

Übersicht
^^^^^^^^^
"""


def titles(headings):
    return [heading.title for heading in headings]


def test_sections_of_markdown(grow):
    """Each span is a section with its heading; the lead has none; fences hold no headings."""
    (document,) = MarkdownTree(grow({"docs/guide.md": GUIDE}))
    parts = [(s.attributes["section"], document.text[s.start : s.end]) for s in document.spans]
    assert [section for section, _ in parts] == [(), ("Install",), ("Use it",), ("Questions",)]
    assert [text.splitlines()[0] for _, text in parts] == [
        *("Lead.", "# Install", "Use it", "## Questions ##")
    ]
    assert document.spans[0].attributes["directory"] == ("root/docs",)
    assert document.spans[2].attributes["project"] == ("root",)
    assert (document.name, document.language) == ("root/docs/guide.md", "")


def oracle(text):
    """Find the headings that stand in no list or quotation with a full CommonMark parser."""
    tokens = MarkdownIt("commonmark").parse(text)
    return [
        (opening.map[0], " ".join(line.strip() for line in content.content.splitlines()))
        for opening, content in pairwise(tokens)
        if opening.type == "heading_open" and opening.level == 0
    ]


@settings(max_examples=300)
@given(st.lists(MARKDOWN_LINES, max_size=9))
@example(["text", "more text", "---"])
@example(["> quote", "text", "---"])
@example(["~~~", "# One", "```", "# Two", "~~~~", "# Three"])
def test_markdown_headings_are_those_of_a_full_parser(lines):
    """On generated texts, the headings and their lines equal CommonMark's."""
    text = "\n".join(["text", "", *lines])
    found = [(text.count("\n", 0, h.start), h.title) for h in markdown_headings(text)]
    assert found == oracle(text)


def test_front_matter_and_comments_hold_no_headings():
    """What a site generator reads, and what nobody reads, is no section."""
    text = "---\ntitle: A\n# comment\n---\n# One\n<!--\n# Two\n-->\n<!-- # Three -->\n# Four\n"
    assert titles(markdown_headings(text)) == ["One", "Four"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_any_kind(newline):
    """Offsets are those of the text as it is, whatever ends its lines."""
    text = newline.join(["a", "", "# One", "b", "", "Two", "===", ""])
    found = list(markdown_headings(text))
    assert [(h.title, text[h.start :][:3]) for h in found] == [("One", "# O"), ("Two", "Two")]


def test_headings_of_restructuredtext():
    """Underlined and framed titles count; tables, lists, rules and indented blocks do not."""
    found = list(rst_headings(RST))
    assert titles(found) == ["Manual", "Install", "1. Numbered", "Übersicht"]
    assert [RST[h.start :][:4] for h in found] == ["====", "Inst", "1. N", "Über"]


@pytest.mark.parametrize(
    "text", ["", "\n", "====", "====\n====\n====", "a\n-", "Title\n--\n", "\n\n--"]
)
def test_texts_of_rules_have_no_title(text):
    """A rule alone, or one too short for its title, makes no section."""
    assert titles(rst_headings(text)) == (["a"] if text == "a\n-" else [])


@given(st.text("ab#=-`~>. \n\r", max_size=60), st.sampled_from(["a.md", "a.rst"]))
def test_spans_cover_every_text(tmp_path_factory, text, name):
    """Whatever the text, its sections are a document, or it is left out as empty."""
    root = tmp_path_factory.mktemp("docs")
    (root / name).write_bytes(text.encode())
    corpus = MarkdownTree(root)
    assert [d.text for d in corpus] == ([text] if text.strip() else [])
    assert [d.kept for d in corpus.decisions()] == [bool(text.strip())]


def test_other_files_are_left_out_with_a_reason(grow):
    """Decisions agree with what is read, and name what is no documentation."""
    corpus = MarkdownTree(grow({"a.MD": "a\n", "b.py": "b\n", "c.rst": "c\n", "d.markdown": ""}))
    decisions = {d.path.rpartition("/")[2]: d.reason for d in corpus.decisions()}
    assert decisions == {
        "a.MD": "",
        "b.py": "not of this kind of file",
        "c.rst": "",
        "d.markdown": "empty",
    }
    assert [d.name for d in corpus] == ["root/a.MD", "root/c.rst"]


def test_a_heading_without_a_title_has_no_section(grow):
    """An empty heading starts a span that is the same section as nothing."""
    (document,) = MarkdownTree(grow({"a.md": "# A\na\n#\nb\n"}))
    assert [s.attributes["section"] for s in document.spans] == [("A",), ()]
