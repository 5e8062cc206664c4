"""Scenes: one split, varied in order, and neighbors that no other variation ever reads."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vicinal.index import AbstractIndex, Neighbors, open_index
from vicinal.paper import How, approximations
from vicinal.paper.approximations import HalfPrecision, dropped_afterwards, quantized
from vicinal.paper.relabeling import mistaken_paths, truncated
from vicinal.paper.scene import Facts, Scene, Variation, facts

K = 7


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Train quantizers on few keys."""
    monkeypatch.setattr(approximations, "TRAINED_ON", 200)


@pytest.fixture
def scene(java_material, tmp_path):
    """See the test projects, with a memory of the test's own."""
    how = How(K, "exact")
    made = Scene.of(java_material.protocol, java_material.store, java_material.lm, how, "test")
    return replace(made, memory=tmp_path / "neighbors")


def retrieved(scene: Scene, n: int = 20):
    """Look up the first positions of a scene."""
    model = scene.model()
    examination = scene.examine(model, None, 0)
    return model.retrieve(examination.queries.rows(slice(0, n)))


def test_a_scene_is_a_split_of_a_store(java_material, scene):
    """It sees its split's documents, asks with them, and remembers beside the store."""
    assert (scene.split, scene.k, scene.label) == ("test", K, "")
    assert {d.name.partition("/")[0] for d in scene.snapshot.documents} == {"test"}
    assert scene.schema == java_material.protocol.domain.schema
    plain = Scene.of(java_material.protocol, java_material.store, java_material.lm, How(), "test")
    assert plain.memory == java_material.store.files.root.parent / "neighbors"
    assert plain.k == 1024
    model = scene.model()
    assert (model.k, model.mixture.lam) == (K, 0.25)
    assert model.mixture.calibration.weights.tolist() == [1.0, 1.0, 1.0]


def test_only_the_splits_own_documents_are_asked(wiki_material):
    """Training articles are searched, but no position of theirs is examined."""
    material = wiki_material
    scene = Scene.of(material.protocol, material.store, material.lm, How(99, "exact"), "valid")
    assert {d.name.partition("/")[0] for d in scene.snapshot.documents} == {"train", "valid"}
    examination = scene.examine(scene.model(), 50, 0)
    assert all(s.name.startswith("valid/") for s in examination.subjects)
    assert len(examination.subjects) == 20
    found = scene.snapshot.document_of(scene.model().retrieve(examination.queries).entries.numpy())
    names = {scene.snapshot.documents[i].name.partition("/")[0] for i in np.unique(found)}
    assert names == {"train", "valid"}


def test_examining_draws_by_size_and_seed(scene):
    """The same size and seed give the same positions, None all of them."""
    model = scene.model()
    one, again, other = (scene.examine(model, 40, seed).sample for seed in (3, 3, 4))
    assert np.array_equal(one.token, again.token)
    assert not np.array_equal(one.token, other.token)
    assert 40 <= len(one) < 60
    assert len(scene.examine(model, None, 0).sample) == scene.snapshot.n_live


def shifted(entries: int):
    """Make a search that answers with other entries than were found."""

    def search(before):
        class Shifted(AbstractIndex):
            def __init__(self, index):
                self.index = index

            def search(self, queries, k, *, without):
                found = self.index.search(queries, k, without=without)
                return Neighbors((found.entries + entries).clamp_min(0), found.distances)

        return lambda snapshot: Shifted(before(snapshot))

    search.__name__ = f"shifted_by_{entries}"
    return search


def test_variations_are_applied_in_order(scene):
    """Views, searches and readings each take what the variation before them made."""
    told = []

    def view(name):
        return lambda snapshot: (
            told.append((name, snapshot.n_live)) or truncated(scene.lm, 90)(snapshot)
        )

    first = Variation(view=view("first"), search=shifted(1), reading=HalfPrecision)
    second = Variation(view=view("second"), search=shifted(2))
    varied = scene.varied([first, second])
    assert [name for name, _ in told] == ["first", "second"]
    assert told[0][1] == scene.snapshot.n_live > told[1][1] == varied.snapshot.n_live
    assert varied.label == "+shifted_by_1+shifted_by_2"
    assert isinstance(varied.lm, HalfPrecision)
    assert varied.lm.lm is scene.lm
    outer = varied.search(varied.snapshot)
    assert type(outer.index).__name__ == "Shifted"
    query, without = torch.zeros(1, scene.lm.key_dim), torch.tensor([[0, 0]])
    plain = open_index(varied.snapshot, kind="exact").search(query, 3, without=without)
    assert outer.search(query, 3, without=without).entries.tolist() == (plain.entries + 3).tolist()


def test_what_is_not_varied_stays(scene):
    """Each part of a variation changes its own thing; none changes nothing."""
    assert scene.varied([]) == scene
    assert scene.varied([Variation()]) == scene
    viewed = scene.varied([Variation(view=mistaken_paths)])
    assert viewed == replace(scene, snapshot=viewed.snapshot)
    searched = scene.varied([Variation(search=dropped_afterwards)])
    assert searched == replace(scene, search=searched.search, label="+dropped_afterwards")
    read = scene.varied([Variation(reading=HalfPrecision)])
    assert read == replace(scene, lm=read.lm)


def test_how_says_what_is_varied(java_material):
    """A scene made with variations is the plain one, varied."""
    variations = (Variation(search=dropped_afterwards), Variation(reading=HalfPrecision))
    how = How(K, "flat", variations)
    scene = Scene.of(java_material.protocol, java_material.store, java_material.lm, how, "valid")
    assert (scene.k, scene.label) == (K, "+dropped_afterwards")
    assert isinstance(scene.lm, HalfPrecision)
    plain = replace(how, variations=())
    made = Scene.of(java_material.protocol, java_material.store, java_material.lm, plain, "valid")
    assert type(made.search(made.snapshot)).__name__ == "FlatFaissIndex"


def kinds(scene: Scene) -> dict[str, Scene]:
    """Vary a scene in ways that must not share what they remember."""
    several = {
        "dropped": [Variation(search=dropped_afterwards)],
        "quantized": [Variation(search=quantized)],
        "both": [Variation(search=quantized), Variation(search=dropped_afterwards)],
        "shifted": [Variation(search=shifted(1))],
        "shifted more": [Variation(search=shifted(2))],
        "truncated": [Variation(view=truncated(scene.lm, 90))],
    }
    return {"plain": scene, **{name: scene.varied(v) for name, v in several.items()}}


@pytest.mark.parametrize("turn", [1, -1])
def test_no_variation_reads_what_another_remembers(scene, tmp_path, turn):
    """With one memory for all, in any order, each finds what it finds with a memory of its own."""
    names = list(kinds(scene))[::turn]
    for name in names:
        one = kinds(scene)[name]
        shared = retrieved(one)
        alone = retrieved(replace(one, memory=tmp_path / name))
        again = retrieved(one)
        for part in ("entries", "distances", "values", "levels"):
            assert torch.equal(getattr(shared, part), getattr(alone, part)), (name, part)
            assert torch.equal(getattr(again, part), getattr(alone, part)), (name, part)


def test_variations_that_ask_the_same_share_their_answers(scene):
    """Other labels or another reading need no search of their own; another search does."""
    retrieved(scene)

    def searches(varied):
        asked = []
        search = scene.varied(varied)

        class Counted(AbstractIndex):
            def __init__(self, index):
                self.index = index

            def search(self, queries, k, *, without):
                asked.append(len(queries))
                return self.index.search(queries, k, without=without)

        # The class an answer came from is part of what it is remembered by.
        Counted.__name__ = type(search.search(search.snapshot)).__name__
        counted = replace(search, search=lambda snapshot: Counted(search.search(snapshot)))
        retrieved(counted)
        return sum(asked)

    assert searches([]) == 0
    assert searches([Variation(view=lambda seen: mistaken_paths(seen, 1.0))]) == 0
    assert searches([Variation(reading=HalfPrecision)]) == 0
    assert searches([Variation(search=shifted(1))]) == 20
    assert searches([Variation(search=quantized)]) == 20


def test_query_keys_stay_exact_where_distances_do_not(scene):
    """A quantized scene asks with the keys as stored, and takes its own entries for nobody's."""
    model = scene.varied([Variation(search=quantized)]).model()
    examination, plain = scene.examine(model, 60, 0), scene.examine(scene.model(), 60, 0)
    assert torch.equal(examination.queries.keys, plain.queries.keys)
    found = model.retrieve(examination.queries)
    lo, hi = (examination.queries.without[:, i, None] for i in (0, 1))
    assert not ((found.entries >= lo) & (found.entries < hi)).any()
    keys = torch.from_numpy(scene.snapshot.keys(found.entries.numpy())).float()
    true = (keys - examination.queries.keys[:, None].float()).square().sum(2)
    assert not torch.allclose(true, found.distances, rtol=1e-3)


def test_facts_count_the_split(java_material, scene, java_data):
    """Documents, tokens, full tokens and entries are those of the split's own files."""
    texts = [d.text for d in java_material.protocol.splits["test"]]
    tokens = sum(len(scene.lm.tokenize(text).ids) for text in texts)
    counted = facts(scene)
    assert (counted.documents, counted.tokens) == (8, tokens)
    assert counted.stored == scene.snapshot.n_live == tokens
    assert 0 < counted.full_tokens < tokens
    assert counted.known == {"project": 1.0, "directory": 1.0}


def test_facts_tell_how_often_an_attribute_is_known(wiki_material):
    """Of the sections one in five has no category, one in four no title; training is stored too."""
    material = wiki_material
    scene = Scene.of(material.protocol, material.store, material.lm, How(), "test")
    counted = facts(scene)
    assert counted.known == {"categories": pytest.approx(0.8), "section": pytest.approx(0.75)}
    assert counted == Facts(20, counted.tokens, counted.full_tokens, counted.stored, counted.known)
    assert counted.stored > counted.tokens
