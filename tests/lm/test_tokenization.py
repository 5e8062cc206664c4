"""Any text can be cut into tokens and joined again; every token knows where it starts."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from tiny_models import tiny_tokenizer
from vicinal.errors import ModelError
from vicinal.lm.tokenization import FastTokenizer, start_id

TOKENIZER = FastTokenizer.of(tiny_tokenizer())
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(any_text)
@example("\U0001d518nicode 😀 def main(self)\r\n\t  x\x00")
@example("<|endoftext|>a<pad>")
def test_text_comes_back_as_it_was(text):
    """Decoding the ids gives the text, byte for byte, special names in it included."""
    tokens = TOKENIZER.tokenize(text)
    assert TOKENIZER.decode(tokens.ids.tolist()) == text
    assert len(tokens.ids) == len(tokens.offsets)


@given(any_text)
def test_every_token_starts_where_the_one_before_ends(text):
    """Offsets start at 0, never go back, and cut the text into what the tokens say."""
    tokens = TOKENIZER.tokenize(text)
    starts = tokens.offsets.tolist()
    assert starts == sorted(starts)
    assert not starts or (starts[0] == 0 and starts[-1] < len(text))
    for i, start in enumerate(starts):
        end = starts[i + 1] if i + 1 < len(starts) else len(text)
        piece = TOKENIZER.decode(tokens.ids[i : i + 1].tolist())
        whole = start != end and "\ufffd" not in piece and start not in starts[:i]
        assert not whole or text[start:end] == piece


def test_offsets_are_characters_and_the_space_belongs_to_its_word():
    """An emoji counts as one character although it is four tokens; " cat" starts at its space."""
    tokens = TOKENIZER.tokenize("😀 cat")
    pieces = [TOKENIZER.decode([i]) for i in tokens.ids.tolist()]
    assert tokens.offsets[:4].tolist() == [0, 0, 0, 0]
    assert pieces[4:] == [" cat"]
    assert tokens.offsets[4] == 1


def test_a_special_name_in_a_text_is_plain_text():
    """Source code that mentions the start token does not contain it."""
    plain = TOKENIZER.tokenize("<|endoftext|>").ids
    assert 0 not in plain
    assert len(plain) > 3


def test_lone_surrogates_count_as_one_character_each():
    """What no tokenizer can read is replaced, without moving what comes after it."""
    tokens = TOKENIZER.tokenize("\ud83d\ude00 cat")
    assert TOKENIZER.decode(tokens.ids.tolist()) == "\ufffd\ufffd cat"
    assert tokens.offsets[-1] == 2


def test_the_users_tokenizer_stays_as_it_is():
    """Cutting plainly is a setting of the copy: the tokenizer given still knows its specials."""
    tokenizer = tiny_tokenizer()
    FastTokenizer.of(tokenizer).tokenize("x")
    assert tokenizer.backend_tokenizer.encode("<|endoftext|>").ids == [0]


@pytest.mark.parametrize(
    ("special", "expected"),
    [({}, 0), ({"eos_token": "b"}, "b"), ({"eos_token": "b", "bos_token": "c"}, "c")],
)
def test_the_start_token_is_the_best_there_is(special, expected):
    """Without <|endoftext|>: the beginning-of-sequence token, else the end's, else id 0."""
    core = tiny_tokenizer().backend_tokenizer
    state = core.to_str().replace("<|endoftext|>", "<none>")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=type(core).from_str(state), **special)
    wanted = tokenizer.convert_tokens_to_ids(expected) if special else 0
    assert start_id(tokenizer) == wanted
    assert start_id(tiny_tokenizer()) == 0


def test_a_slow_tokenizer_is_refused(monkeypatch):
    """A tokenizer that does not know where its tokens start is refused by name."""
    tokenizer = tiny_tokenizer()
    monkeypatch.setattr(type(tokenizer), "is_fast", property(lambda self: False))
    with pytest.raises(ModelError, match=r"fast one.*TokenizersBackend|PreTrainedTokenizerFast"):
        FastTokenizer.of(tokenizer)


@pytest.mark.real
def test_smollm2_cuts_numbers_into_digits(smollm2):
    """The real tokenizer cuts as it was trained: digit by digit, before everything else."""
    pieces = [smollm2.decode([i]) for i in smollm2.tokenize("x = 12  34").ids.tolist()]
    assert pieces == ["x", " =", " ", "1", "2", "  ", "3", "4"]
