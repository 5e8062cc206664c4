"""Lexemes: Java as a slow lexer cuts it, other languages as whole literals and operators."""

import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.lexers import get_lexer_by_name
from pygments.token import Token

from slow_java import java_lexemes
from vicinal.corpus import Kind, Lexeme, lexemes, lexing
from vicinal.corpus.lexing import LONGEST, OPERATORS

FRAGMENTS = [
    *("a", "_$", "é", "😀", "int", "0", "9", "0x", "0b", "1e", "p", "f", "L", ".", "+", "-"),
    *('"', "'", '"""', "\\", "\\u0041", "\\uu", "/*", "*/", "//", "/", "*", "\n", "\r", " ", "\t"),
    *("<", ">", "=", "&", "|", "^", "%", ":", "@", "#", "(", ";", "\x0c", "\u2028", "\ud800"),
]
HOSTILE_TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map("".join)
LANGUAGES = ["", "java", "python", "c", "cpp", "javascript", "rust", "html", "php", "bash", "erl"]

NAMES = ["x", "_", "$a", "été", "String", "null", "goto", "a1", "\\u0041b", "c\\uuu00e9", "日本"]
NUMBERS = [
    *(
        "0",
        "1_000L",
        "017",
        "0xFFl",
        "0b1010",
        "1.",
        ".5",
        "1.5f",
        "2d",
        "1e10",
        "1.5e-3D",
        ".5E+2f",
    ),
    *("0x1p3", "0x1.8p-1f", "0x.8P+2", "0xCAFE_BABE", "6.02_2e2_3"),
]
LITERALS = [
    *('""', '"a"', '"\\""', '"\\\\"', '"// no"', '"/* no */"', '"\\u0022"', '"\'"', '"é😀"'),
    *("'a'", "'\\''", "'\"'", "'\\\\'", "'\\u0027'", "'\\177'"),
    *('"""\n  a "b" ""c\n  """', '"""  \r\n\\""" // no\n"""'),
]
SIGNS = [
    *("(", ")", "{", "}", "[", "]", ";", ",", ".", "...", "@", "::", "=", ">", "<", "!", "~", "?"),
    *(":", "->", "==", ">=", "<=", "!=", "&&", "||", "++", "--", "+", "-", "*", "/", "&", "|", "^"),
    *("%", "<<", "+=", "-=", "*=", "/=", "&=", "|=", "^=", "%=", "<<=", ">>=", ">>>="),
]
TOKENS = st.sampled_from([*NAMES, *NUMBERS, *LITERALS, *SIGNS])
COMMENTS = st.sampled_from(
    ["// \"it's\n", "//\r", "// /* \r\n", "/**/", "/***/", "/* // */", "/** 'a\n * \" */", "/*/ */"]
)
BLANKS = st.sampled_from([" ", "\n", "\t", "\r\n", "  "])
SEPARATORS = st.lists(BLANKS | COMMENTS, min_size=1, max_size=3).map("".join)


def tokens(text, language):
    return [text[a:b] for kind, a, b in lexemes(text, language) if kind is Kind.TOKEN]


@given(HOSTILE_TEXTS)
def test_java_is_cut_as_a_slow_lexer_cuts_it(text):
    """Whatever the text, each token and comment is where going by characters finds it."""
    kinds = {True: Kind.COMMENT, False: Kind.TOKEN}
    expected = [Lexeme(kinds[is_comment], a, b) for is_comment, a, b in java_lexemes(text)]
    assert list(lexemes(text, "java")) == expected


@given(st.lists(st.tuples(TOKENS, SEPARATORS), max_size=12), SEPARATORS)
def test_java_tokens_come_back(drawn, before):
    """Tokens with white space and comments between them are found again, one for one."""
    text = before + "".join(
        # A division's sign needs a blank before a comment's.
        f"{token} {separator}" if token == "/" else token + separator
        for token, separator in drawn
    )
    assert tokens(text, "java") == [token for token, _ in drawn]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Map<A,List<B>>m;", ["Map", "<", "A", ",", "List", "<", "B", ">", ">", "m", ";"]),
        ("a>>>2>>=b<<c", ["a", ">", ">", ">", "2", ">>=", "b", "<<", "c"]),
        ("@Override f(int...a)", ["@", "Override", "f", "(", "int", "...", "a", ")"]),
        ("import java.util.*;", ["import", "java", ".", "util", ".", "*", ";"]),
        ("1.0f-.5e-3+0x1p-2-0xe-1", ["1.0f", "-", ".5e-3", "+", "0x1p-2", "-", "0xe", "-", "1"]),
        (
            "a+++b==c?d::e:f->g",
            ["a", "++", "+", "b", "==", "c", "?", "d", "::", "e", ":", "f", "->", "g"],
        ),
        ('x="\\u0022+\\"/*";y', ["x", "=", '"\\u0022+\\"/*"', ";", "y"]),
        ('"open // no\nx', ['"open // no', "x"]),
        ("'\\", ["'\\"]),
        ('"""\n never closed // no', ['"""\n never closed // no']),
        ("x /* never closed", ["x"]),
    ],
)
def test_java_as_people_write_it(text, expected):
    """Type arguments, shifts, annotations, imports, numbers, and what is not closed."""
    assert tokens(text, "java") == expected


@pytest.mark.parametrize("before", ["", "x ", '"', '"""\n', "/*"])
@pytest.mark.parametrize(
    "unit",
    [
        *(
            '"',
            '"\\',
            "'",
            "'\\",
            '"""',
            '"""\n"',
            '"""\n\\',
            '""" ',
            "/*",
            "*/",
            "/**",
            "// ",
            "/",
        ),
        *(
            "\\",
            "\\u",
            "\\uuuu",
            "u",
            "0x",
            "0x1.",
            "1e",
            "1.",
            "0b",
            "1",
            "a",
            ".",
            ">",
            "\n",
            " ",
        ),
        *("/**/", "/**/ ", "//\n", "\x00", "é", "\ud800", "0x1.1p"),
    ],
)
def test_hostile_java_takes_linear_time(unit, before):
    """200 kB of anything are cut in under a second."""
    text = (before + unit * 200_000)[:200_000]
    start = time.process_time()
    found = sum(1 for _ in lexemes(text, "java"))
    assert time.process_time() - start < 1
    assert found <= len(text)


@given(st.text() | HOSTILE_TEXTS, st.sampled_from(LANGUAGES))
def test_lexemes_lose_nothing_but_white_space(text, language):
    """In any language lexemes follow one another and leave out only white space between them."""
    at = 0
    for _, start, end in lexemes(text, language):
        assert at <= start < end
        assert not text[at:start].strip()
        at = end
    assert at <= len(text)
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "python",
            "f(*a) -> x**2 // y != -1",
            ["f", "(", "*", "a", ")", "->", "x", "**", "2", "//", "y", "!=", "-", "1"],
        ),
        ("python", "rb'a\\n' f\"b{c}d\" 'e''f'", ["rb'a\\n'", 'f"b{', "c", '}d"', "'e'", "'f'"]),
        ("py", "x[::2]", ["x", "[", ":", ":", "2", "]"]),
        (
            "c",
            'p->x+=L"a\\t"; a>>=b++',
            ["p", "->", "x", "+=", 'L"a\\t"', ";", "a", ">>=", "b", "++"],
        ),
        ("c++", "std::vector<A<B>>x", ["std", "::", "vector", "<", "A", "<", "B", ">", ">", "x"]),
        ("javascript", "a?.b=>`c${d}e`", ["a", "?.", "b", "=>", "`c${", "d", "}e`"]),
        ("ruby", "x = 'a b'", ["x", "=", "'a b'"]),
        ("lua", "x=='y z'", ["x", "==", "'y z'"]),
    ],
)
def test_pieces_are_joined(language, text, expected):
    """A literal is whole, and so is an operator of the language and no other's."""
    assert tokens(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        ("c", "#include <a>\nx // y", "PPTC"),
        ("python", '#!python\n"""Doc."""\n# no', "PPC"),
        ("rust", "/// Doc\nx /* a /* b */ */", "CTC"),
        ("html", "<b>text</b><!-- c -->", "TTTPTTTTC"),
        ("", "# heading", "P"),
        ("no-such-language", "// x", "P"),
        ("JAVA", "// x\ny", "CT"),
    ],
)
def test_what_a_comment_is(language, text, kinds):
    """Lines for a preprocessor and docstrings are none; documentation before a function is one."""
    found = "".join(kind.name[0] for kind, _, _ in lexemes(text, language))
    assert found == kinds


def test_a_lexer_that_loses_text_is_not_believed(monkeypatch):
    """Where the pieces are not the text, all of it is prose."""
    forgetful = SimpleNamespace(
        aliases=["c"], get_tokens_unprocessed=lambda text: [(0, Token.Name, text[1:])]
    )
    monkeypatch.setattr(lexing, "get_lexer_by_name", lambda *_, **__: forgetful)
    assert list(lexemes("x + y\n", "c")) == [Lexeme(Kind.PROSE, 0, 5)]


def test_operators_are_listed_by_pygments_first_names():
    """Otherwise they would never be looked up; none is longer than what is tried."""
    assert [get_lexer_by_name(language).aliases[0] for language in OPERATORS] == list(OPERATORS)
    assert max(len(o) for operators in OPERATORS.values() for o in operators) <= LONGEST
