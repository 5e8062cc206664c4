"""Where entries come from: the line and the text before them, compared with the documents."""

import pytest

from vicinal.analysis import Provenance
from vicinal.errors import StoreError


def test_every_entry_is_found_where_it_stands(store, lm, texts):
    """Line, path, token and the text before it agree with the document that was indexed."""
    snapshot = store.snapshot()
    provenance = Provenance(snapshot, lm)
    document = snapshot.documents[3]
    text = texts[document.name]
    for entry in range(document.lo, document.hi):
        place = provenance.of(entry)
        assert (place.document, place.path) == (document.name, f"/src/{document.name}")
        ids = lm.tokenize(text).ids.tolist()[: entry - document.lo]
        head = lm.decode(ids)
        if "\ufffd" in head + place.token:
            continue  # in the middle of a character
        assert place.line == 1 + head.count("\n")
        assert head.endswith(place.before)
        assert text.startswith(head + place.token)
    assert place.line > 5
    assert place.before.count("\n") == 2


def test_a_document_is_decoded_once(store, lm, monkeypatch):
    """A second question about a document costs its own token only."""
    snapshot = store.snapshot()
    sizes = []
    decode = lm.decode
    monkeypatch.setattr(lm, "decode", lambda ids: sizes.append(len(ids)) or decode(ids))
    provenance = Provenance(snapshot, lm)
    for entry in (5, 6, 7):
        provenance.of(entry)
    first = snapshot.documents[0]
    assert sorted(sizes) == [1, 1, 1, first.hi - first.lo]


def test_an_absent_neighbor_is_refused(store, lm):
    """Entry -1 stands nowhere."""
    with pytest.raises(StoreError, match="found -1"):
        Provenance(store.snapshot(), lm).of(-1)


def test_the_text_before_is_short(store, lm, monkeypatch):
    """A line without an end is cut."""
    from vicinal.analysis.provenance import CHARACTERS, snippet

    assert snippet("x" * 999, 900) == "x" * CHARACTERS
