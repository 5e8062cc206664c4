"""Why the model says what it says, on a store whose numbers can be checked by hand."""

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vicinal.analysis import explain_line, find_document
from vicinal.analysis.explaining import tokens_of_line
from vicinal.corpus import Document
from vicinal.errors import CorpusError

LINES = st.lists(st.text(alphabet="ab c", max_size=5), min_size=1, max_size=5)


@given(LINES, st.data())
def test_a_line_has_the_tokens_that_stand_on_it(lines, data):
    """A token is of a line exactly if one of its characters is, line ends aside."""
    text = "\n".join(lines)
    starts = sorted(data.draw(st.sets(st.integers(0, max(0, len(text) - 1)))) | {0})
    line_of = np.cumsum([0, *(c == "\n" for c in text)]) + 1
    for line in range(1, len(lines) + 1):
        expected = [
            i
            for i, (a, b) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True))
            if any(text[j] != "\n" and line_of[j] == line for j in range(a, b))
        ]
        assert tokens_of_line(text, starts, line) == expected


@pytest.mark.parametrize("line", [0, 4])
def test_a_line_that_is_not_there_is_named(line):
    """The message says how many lines there are."""
    with pytest.raises(CorpusError, match=f"from 1 to 3, was: {line}"):
        tokens_of_line("a\nb\nc", [0], line)


@pytest.fixture
def document(texts):
    name = "kettle/core/glow.py"
    attributes = {"project": ("kettle",), "directory": ("kettle/core",)}
    return Document.whole(name, texts[name], attributes, language="python")


def test_tells_what_each_model_gave(model, document):
    """The probabilities are those of the models asked directly, and the shares sum to one."""
    found = explain_line(model, document, 2, top=model.k)
    ids = model.lm.tokenize(document.text)
    queries = model.queries(document.text, document.spans[0].attributes, name=document.name)
    rows = tokens_of_line(document.text, ids.offsets.tolist(), 2)
    targets = torch.from_numpy(ids.ids[rows]).long()[:, None]
    p_lm = model.lm.log_p(queries.outputs)[rows].gather(1, targets).exp()[:, 0]
    p = model.log_p(queries)[rows].gather(1, targets).exp()[:, 0]
    assert [e.p_lm for e in found] == pytest.approx(p_lm.tolist(), rel=1e-5)
    assert [e.p for e in found] == pytest.approx(p.tolist(), rel=1e-5)
    lam = model.mixture.lam
    for e in found:
        assert e.p == pytest.approx(lam * e.p_knn + (1 - lam) * e.p_lm, rel=1e-4)
        same = [n.share for n in e.neighbors if n.place.token == e.token]
        assert sum(n.share for n in e.neighbors) == pytest.approx(1, abs=1e-4)
        assert sum(same) == pytest.approx(e.p_knn, abs=1e-4)


def test_never_shows_the_document_to_itself(model, document):
    """No neighbor is of the document explained, and levels are as the names say."""
    for e in explain_line(model, document, 2, top=model.k):
        for neighbor in e.neighbors:
            assert neighbor.place.document != document.name
            folder = str(Path(neighbor.place.document).parent)
            local = "project" if folder.startswith("kettle") else "not local"
            assert neighbor.level == ("directory" if folder == "kettle/core" else local)


def test_largest_shares_first_and_no_more_than_asked(model, document):
    """The neighbors that decided come first."""
    e = explain_line(model, document, 2, top=3)[0]
    shares = [n.share for n in e.neighbors]
    assert len(shares) == 3
    assert shares == sorted(shares, reverse=True)


def test_an_empty_line_has_nothing_to_explain(model, document):
    """Byte tokens: the line end belongs to no line."""
    text = document.text.replace("\n", "\n\n", 1)
    changed = Document.whole(document.name, text, document.spans[0].attributes)
    assert explain_line(model, changed, 2) == []


def test_a_file_the_store_does_not_know_is_refused(model, tmp_path):
    """It says to index first."""
    with pytest.raises(CorpusError, match=r"vicinal index"):
        find_document(model.retriever.snapshot, tmp_path / "other.py")
