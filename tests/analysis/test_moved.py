"""Positions that moved, compared with going through all of them one by one."""

import math
from functools import cache

import pytest
import torch
from hypothesis import given

import oracles
from strategies import lines
from strategies import observations as drawn_observations
from vicinal.analysis import Change, Movements, log_p_gold, movements
from vicinal.analysis.cases import place_of
from vicinal.analysis.moved import LEAST, NEIGHBORS
from vicinal.evaluation import Examination, observe, stored_subjects
from vicinal.locality import LevelCalibration

FLAT = LevelCalibration(torch.full((3,), 0.05), torch.zeros(3))
LOCAL = LevelCalibration(torch.tensor([0.05, 0.1, 0.2]), torch.tensor([0.0, -1.0, -3.0]))
# What is near is pushed away, so that gold tokens are seldom among the weightiest neighbors.
FAR = LevelCalibration(torch.tensor([-0.3, -0.2, -0.1]), torch.tensor([0.0, 1.0, 3.0]))


@pytest.fixture(scope="module")
def examination(store, lm, model) -> Examination:
    subjects = stored_subjects(store.snapshot(), lm)
    return Examination.from_subjects(subjects, model, size=300, seed=5)


@pytest.fixture(scope="module")
def found(examination, model):
    return observe(examination.queries, model)


@pytest.fixture(scope="module")
def moved(found, examination, model):
    @cache
    def move(before=FLAT, after=LOCAL, n=3, seed=0) -> Movements:
        return movements(found, examination, model, Change(before, after, n, seed))

    return move


@pytest.fixture(scope="module")
def gains(found, examination, lm):
    """Say, from the oracles: row by row, the gain, the document, whether the token is black."""

    def go(before=FLAT, after=LOCAL):
        told = []
        for row in range(len(found)):
            old, new = (slow(found, row, c) for c in (before, after))
            token = lm.decode([int(examination.queries.targets[row])])
            gain = new - old if old > -math.inf else 0.0
            document = examination.subjects[int(examination.sample.subject[row])].name
            told.append((gain, document, token.strip() != "", old))
        return told

    return go


def slow(found, row, calibration) -> float:
    """Give log p_kNN of the gold token of one row."""
    weights, biases = calibration.weights.tolist(), calibration.biases.tolist()
    pairs = zip(found.distances[row].tolist(), found.levels[row].tolist(), strict=True)
    calibrated = [oracles.calibrate(d, level, weights, biases) for d, level in pairs]
    return oracles.log_p_hits(calibrated, found.hits[row].tolist())


@given(drawn_observations(), lines())
def test_log_p_of_the_gold_token_is_the_share_of_its_neighbors(one, calibration):
    """Row by row, in loops; nothing where no neighbor carries it."""
    found = log_p_gold(one, calibration)
    for row in range(len(one)):
        expected = slow(one, row, calibration)
        assert found[row].item() == pytest.approx(expected, abs=1e-4, rel=1e-4)
        assert (expected > -math.inf) == bool(one.covered[row])


def places(told) -> list[tuple[str, int, str]]:
    return [(m.place.document, m.place.line, m.place.token) for m in told]


def test_what_moved_is_counted(moved, gains, found):
    """Helped and hurt are the positions whose gain is beyond the least, whatever their token."""
    all_gains = [gain for gain, *_ in gains()]
    made = moved()
    assert made.n_helped == sum(gain > LEAST for gain in all_gains) > 20
    assert made.n_hurt == sum(gain < -LEAST for gain in all_gains) > 20
    assert made.n_covered == sum(map(any, found.hits.tolist()))
    assert made.n_helped + made.n_hurt <= made.n_covered < len(found)


def test_the_most_helped_come_first_one_of_each_document(moved, gains):
    """The largest gains, falling; no white space, no document twice."""
    expected, seen = [], set()
    for gain, document, black, old in sorted(gains(), key=lambda told: -told[0]):
        if black and document not in seen and gain > LEAST:
            seen.add(document)
            expected.append((document, gain, old))
    expected, made = expected[:4], moved(n=4).most
    assert [m.place.document for m in made] == [document for document, *_ in expected]
    assert [m.change for m in made] == pytest.approx(
        [gain for _, gain, _ in expected[:5]], abs=1e-4
    )
    assert [m.log_p for m in made] == pytest.approx([old for *_, old in expected[:5]], abs=1e-4)


def test_helped_and_hurt_differ_in_sign(moved):
    """Each kind is of its sign, and of no document twice; names of kinds are in order."""
    made = moved(n=4)
    assert list(made.kinds) == ["most helped", "helped", "hurt"]
    assert all(m.change > LEAST for m in (*made.most, *made.helped))
    assert all(m.change < -LEAST for m in made.hurt)
    assert not set(places(made.hurt)) & set(places(made.helped) + places(made.most))
    for several in made.kinds.values():
        documents = [m.place.document for m in several]
        assert len(set(documents)) == len(documents) == 4
        assert all(m.place.token.strip() for m in several)


def test_the_lot_is_drawn_by_the_seed(moved):
    """The same seed draws the same positions, another one others; the most do not depend on it."""
    assert moved(seed=1) == moved.__wrapped__(seed=1)
    drawn = {tuple(places(moved(seed=seed).helped)) for seed in range(3)}
    assert len(drawn) > 1
    assert moved(seed=0).most == moved(seed=1).most
    helped, most = moved().helped, moved().most
    assert places(helped) != places(most), "those drawn by lot are not the best ones"


def test_nothing_moves_without_a_change(moved):
    """From a calibration to itself nothing moves; back and forth, helped and hurt change places."""
    still = moved(LOCAL, LOCAL)
    assert (still.most, still.helped, still.hurt) == ((), (), ())
    assert (still.n_helped, still.n_hurt) == (0, 0)
    there, back = moved(FLAT, LOCAL), moved(LOCAL, FLAT)
    assert (there.n_helped, there.n_hurt) == (back.n_hurt, back.n_helped)
    assert there.n_covered == back.n_covered == still.n_covered > 0
    assert places(back.hurt) != []


def by_weight(model, examination, case, change):
    """Give all neighbors of a case's position, the weightiest before or after first."""
    (row, *_) = (
        row
        for row in range(len(examination.sample))
        if place_of(examination, row, model.lm) == case.place
    )
    retrieved = model.retrieve(examination.queries.rows(slice(row, row + 1)))
    shares = []
    for calibration in change:
        weights, biases = calibration.weights.tolist(), calibration.biases.tolist()
        pairs = zip(retrieved.distances[0].tolist(), retrieved.levels[0].tolist(), strict=True)
        g = [oracles.calibrate(d, level, weights, biases) for d, level in pairs]
        total = oracles.log_sum([-d for d in g])
        shares.append([-d - total for d in g])
    told = zip(retrieved.entries[0].tolist(), retrieved.levels[0].tolist(), *shares, strict=True)
    return sorted(told, key=lambda one: -max(one[2:]))


@pytest.mark.parametrize(("change", "seldom"), [((FLAT, LOCAL), False), ((LOCAL, FAR), True)])
def test_the_weightiest_neighbors_are_shown_and_one_that_is_right(
    moved, model, examination, change, seldom
):
    """The first by weight, before or after; if none of them has the gold token, one that does."""
    snapshot, n_replaced = model.retriever.snapshot, 0
    made = moved(*change, n=4)
    for case in (*made.most, *made.helped, *made.hurt):
        ordered = by_weight(model, examination, case, change)
        documents = [snapshot.documents[int(d)].name for d in _documents(snapshot, ordered)]
        shown = case.neighbors
        assert len(shown) == NEIGHBORS
        right = [n.place.token == case.place.token for n in shown]
        assert any(right)
        replaced = not any(
            model.lm.decode([oracles.value_of(snapshot, one[0])]) == case.place.token
            for one in ordered[:NEIGHBORS]
        )
        n_replaced += replaced
        assert right == [False, False, True] or not replaced
        first = NEIGHBORS - replaced
        assert [n.place.document for n in shown[:first]] == documents[:first]
        assert [n.level for n in shown[:first]] == [one[1] for one in ordered[:first]]
        for neighbor, (_, _, old, new) in zip(shown[:first], ordered, strict=False):
            assert neighbor.log_share == pytest.approx(old, abs=1e-4)
            assert neighbor.change == pytest.approx(new - old, abs=1e-4)
    assert n_replaced or not seldom


def _documents(snapshot, ordered):
    return [
        next(i for i, d in enumerate(snapshot.documents) if d.lo <= one[0] < d.hi)
        for one in ordered
    ]


def test_positions_and_neighbors_are_told_with_what_they_are(moved, model, texts):
    """Attributes are those of the spans, the level's name is the schema's, no one is his own."""
    names = model.retriever.schema.level_names
    made = moved(n=4)
    for case in (*made.most, *made.hurt):
        project, folder = case.attributes["project"][0], case.attributes["directory"][0]
        assert case.place.document.startswith(f"{folder}/")
        assert case.place.before in texts[case.place.document]
        for neighbor in case.neighbors:
            assert neighbor.place.document != case.place.document
            assert neighbor.level_name == names[neighbor.level]
            same = neighbor.attributes["project"][0] == project
            near = neighbor.attributes["directory"][0] == folder
            assert neighbor.level == (2 if near else 1 if same else 0)
            assert neighbor.log_share <= 1e-6
