"""Texts without comments: the tokens stay, nothing of the comments does."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slow_java import java_lexemes, without_spans
from vicinal.corpus import Kind, lexemes, without_comments

FRAGMENTS = [
    *(
        "a",
        "1",
        "é",
        '"',
        "'",
        '"""',
        "\\",
        "\\u002f",
        "/*",
        "*/",
        "//",
        "/",
        "*",
        "/**/",
        "+",
        ".",
    ),
    *("\n", "\r\n", "\r", " ", "\t", "\x0c", "\xa0"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
PYTHON = '#!a\nx = "# b"\ndef f():\n    """# e"""\n'


def tokens(text):
    return [text[a:b] for kind, a, b in lexemes(text, "java") if kind is Kind.TOKEN]


@given(TEXTS)
def test_comments_go_as_a_slow_version_takes_them(text):
    """Going line by line over the text, with each character marked, gives the same."""
    spans = [(start, end) for is_comment, start, end in java_lexemes(text) if is_comment]
    assert without_comments(text, "java") == without_spans(text, spans)


@given(TEXTS)
def test_the_tokens_stay_and_no_comment_does(text):
    """The text that is left has the same tokens, no comment, and nothing more to lose."""
    left = without_comments(text, "java")
    assert [text for _, *text in java_lexemes(left)] == [
        [a, b] for _, a, b in lexemes(left, "java")
    ]
    assert tokens(left) == tokens(text)
    assert not [kind for kind, _, _ in lexemes(left, "java") if kind is Kind.COMMENT]
    assert without_comments(left, "java") == left


@pytest.mark.parametrize(
    ("language", "text", "left"),
    [
        ("java", "a; // b\nc;\n", "a;\nc;\n"),
        ("java", "/* a\n * b\n */\n\nc; /* d */ // e\r\n  // f\r\n\tg;\n", "\nc;\r\n\tg;\n"),
        ("java", "a/*b*/c +/**/+ d( /* e */ f)/* g */ h", "a c + + d( f) h"),
        ("java", "  /* a */ b;\n/* c\n */ d;\n", "  b;\nd;\n"),
        ("java", 'a("// b", \'"\', "/* c */"); // "d"', 'a("// b", \'"\', "/* c */");'),
        ("java", "a /* never closed\n", "a"),
        ("java", "// a\n/* b */\n", ""),
        ("java", "a\n\n  \nb  \n", "a\n\n  \nb  \n"),
        ("python", '#!a\nx = "# b"  # c\n# d\ndef f():\n    """# e"""\n', PYTHON),
        ("c", "#define A 1 // b\nx; /* c */\n", "#define A 1\nx;\n"),
        ("rust", "/// a\nfn f() {}  //! b\n", "fn f() {}\n"),
        ("c", "x; // no end of line", "x;"),
        ("", "# a heading\n// b\n", "# a heading\n// b\n"),
        ("no-such-language", "x // y", "x // y"),
    ],
)
def test_what_is_left(language, text, left):
    """Comments take with them the blanks before a line's end and lines of nothing else."""
    assert without_comments(text, language) == left


@pytest.mark.parametrize("unit", ["/**/", "/* */ ", "//\n", " //\r\n", "a/**/", "/*", " ", "\n"])
def test_hostile_comments_take_linear_time(unit):
    """200 kB of comments are gone in under a second."""
    text = (unit * 200_000)[:200_000]
    start = time.process_time()
    without_comments(text, "java")
    assert time.process_time() - start < 1
