"""Full tokens and units: nothing is lost, nothing is cut through."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.corpus import Kind, lexemes, without_comments
from vicinal.evaluation import full_token_ends, units

LANGUAGES = st.sampled_from(["", "python", "java", "no-such-language"])
TEXTS = st.text(alphabet='ab1 \n()#;"é😀', min_size=1, max_size=25)


@st.composite
def tokenized(draw):
    text = draw(TEXTS)
    starts = draw(st.lists(st.integers(0, len(text) - 1), max_size=len(text)))
    return text, np.array(sorted([0, *starts]), np.int32)


def slow_units(text, ends, offsets):
    """Cut at every character where a full token ends and a model token starts."""
    cuts = [c for c in range(1, len(text)) if c in ends and c in offsets] + [len(text)]
    pieces, start = [], 0
    for cut in cuts:
        inside = [e for e in ends if start < e <= cut]
        pieces.append((start, cut, len(inside), len(text[start:cut].encode())))
        start = cut
    return pieces


@given(tokenized(), LANGUAGES)
def test_units_match_the_oracle(drawn, language):
    """Each unit has the tokens, full tokens and bytes that cutting by hand gives it."""
    text, offsets = drawn
    ends = {min(e, len(text)) for e in full_token_ends(text, language)}
    pieces = slow_units(text, ends, offsets.tolist())
    found = units(text, language, offsets)
    assert found.full_tokens.tolist() == [count for _, _, count, _ in pieces]
    assert found.n_bytes.tolist() == [n_bytes for *_, n_bytes in pieces]
    expected = [next(i for i, p in enumerate(pieces) if p[0] <= o < p[1]) for o in offsets]
    assert found.of_token.tolist() == expected


@given(tokenized(), LANGUAGES)
def test_units_partition_the_text(drawn, language):
    """Every token is in one unit, units follow one another, and nothing of the text is lost."""
    text, offsets = drawn
    found = units(text, language, offsets)
    ends = {min(e, len(text)) for e in full_token_ends(text, language)}
    assert sorted(set(found.of_token.tolist())) == list(range(len(found.full_tokens)))
    assert (np.diff(found.of_token) >= 0).all()
    assert (found.full_tokens.sum(), len(found.n_bytes)) == (len(ends), len(found.full_tokens))
    assert found.n_bytes.sum() == len(text.encode())


@given(TEXTS)
def test_prose_is_cut_by_whitespace(text):
    """Without a language, full tokens are the words."""
    ends = list(full_token_ends(text, ""))
    assert len(ends) == len(text.split())
    starts = [end - len(word) for end, word in zip(ends, text.split(), strict=True)]
    assert [text[s:e] for s, e in zip(starts, ends, strict=True)] == text.split()


def test_the_drawn_example():
    """`foo(); bar` in the model tokens |f|oo|();| bar| is three units of 1, 3 and 1 full tokens."""
    found = units("foo(); bar", "java", np.array([0, 1, 3, 6], np.int32))
    assert found.of_token.tolist() == [0, 0, 1, 2]
    assert found.full_tokens.tolist() == [1, 3, 1]
    assert found.n_bytes.tolist() == [3, 3, 4]


def words(text, language):
    """Give the full tokens, each with the white space before it."""
    ends = sorted(full_token_ends(text, language))
    return [text[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def test_code_is_cut_by_a_lexer():
    """Names, operators and brackets are full tokens of their own, white space is none."""
    assert words("if (a<=b1) x.y();", "java") == [
        "if", " (", "a", "<=", "b1", ")", " x", ".", "y", "(", ")", ";"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "language", "tokens"),
    [
        ('s += "a  b\\n" ;', "java", ["s", " +=", ' "a  b\\n"', " ;"]),
        (
            "@A List<B<C>>\td >>= .5f",
            "java",
            ["@", "A", " List", "<", "B", "<", "C", ">", ">", "\td", " >>=", " .5f"],
        ),
        ("x **= f'a b' 'c'", "python", ["x", " **=", " f'a b'", " 'c'"]),
        ('p->q++ == "a\\tb"', "c", ["p", "->", "q", "++", " ==", ' "a\\tb"']),
    ],
)
def test_literals_and_operators_are_whole(text, language, tokens):
    """A string with all that is in it is one full token, and so is an operator of two signs."""
    assert words(text, language) == tokens


def test_java_has_as_many_full_tokens_as_lexemes_without_comments():
    """Where the comments are out, what is counted is what a compiler's first stage counts."""
    text = 'class A { // one two\n  /** three */ String s = "// four" + 1e-5; }\n'
    found = units(without_comments(text, "java"), "java", np.array([0], np.int32))
    assert found.full_tokens.tolist() == [11]
    assert found.full_tokens.sum() == sum(
        kind is Kind.TOKEN for kind, _, _ in lexemes(text, "java")
    )


@pytest.mark.parametrize(
    ("text", "language", "tail"),
    [
        ("x = 1  # the lid sings\n", "python", ["  #", " the", " lid", " sings"]),
        ("x; // the lid\n", "java", [" //", " the", " lid"]),
        ('def f():\n  """Boil the tea."""\n', "python", ["Boil", " the", ' tea."""']),
    ],
)
def test_comments_are_cut_by_words(text, language, tail):
    """Words in comments and docstrings count like words of prose."""
    found = words(text, language)
    assert [w.strip(' \n"') for w in found[-len(tail) :]] == [w.strip(' \n"') for w in tail]


def test_an_unknown_language_is_read_as_prose():
    """What has no lexer is cut by whitespace."""
    assert words("a+b c", "no-such-language") == ["a+b", " c"]


def test_a_character_of_several_tokens_stays_whole():
    """Byte-level tokens that start at the same character lie in the same unit."""
    found = units("😀 é", "", np.array([0, 0, 0, 0, 1, 2, 2], np.int32))
    assert found.of_token.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert found.full_tokens.tolist() == [1, 1]
    assert found.n_bytes.tolist() == [4, 3]


def test_trailing_white_space_has_no_full_token():
    """White space at the end is a unit without a full token, or part of the last."""
    apart = units("a \n", "", np.array([0, 1], np.int32))
    assert (apart.full_tokens.tolist(), apart.of_token.tolist()) == ([1, 0], [0, 1])
    together = units("a \n", "", np.array([0, 2], np.int32))
    assert (together.full_tokens.tolist(), together.of_token.tolist()) == ([1], [0, 0])


def test_half_a_surrogate_has_bytes_too():
    """A text with half a surrogate, as broken files decode to, is counted without an error."""
    assert units("\ud83d a", "", np.array([0, 1], np.int32)).n_bytes.tolist() == [3, 2]
