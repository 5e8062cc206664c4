"""Cases: which positions are chosen, and whether what is told of them is true."""

import math

import numpy as np
import pytest
import torch

from vicinal.analysis import cases, turned_right
from vicinal.evaluation import Examination, Scored, Scores, score, stored_subjects
from vicinal.knnlm import Mixture
from vicinal.locality import LevelCalibration


@pytest.fixture(scope="module")
def examination(store, lm, model) -> Examination:
    subjects = stored_subjects(store.snapshot(), lm)
    return Examination.from_subjects(subjects, model, size=300, seed=3)


@pytest.fixture(scope="module")
def rungs(model) -> dict[str, Mixture | None]:
    local = LevelCalibration(torch.tensor([0.2, 0.5, 0.5]), torch.tensor([0.0, -2.0, -4.0]))
    flat = LevelCalibration(torch.full((3,), 0.01), torch.zeros(3))
    return {"lm": None, "flat": Mixture(flat, 0.3), "local": Mixture(local, 0.8)}


@pytest.fixture(scope="module")
def found(examination, model, rungs):
    scored = score(examination.queries, model, rungs)
    return scored, cases(scored, examination, model, rungs, n=4)


def made_up(examination, ranks) -> Scored:
    """Say that the first rows have these ranks and log-probabilities before and after."""
    n = len(examination.sample)
    before = Scores(np.full(n, -3, np.float32), np.ones(n, np.int64))
    after = Scores(np.full(n, -3, np.float32), np.ones(n, np.int64))
    for row, (old, new, p) in ranks.items():
        before.rank[row], after.rank[row], after.log_p[row] = old, new, math.log(p)
    return Scored({"b": before, "a": after}, np.ones(n, np.bool_))


def test_those_turned_right_come_by_their_gain_one_of_each_document(examination, lm):
    """Wrong before and right after, largest gain of p first, no white space, one per document."""
    subject, targets = examination.sample.subject, examination.queries.targets.tolist()
    black = [i for i in range(len(subject)) if lm.decode([targets[i]]).strip()]
    (blank, *_) = (i for i in range(len(subject)) if i not in black)
    first = black[0]
    same = next(i for i in black if subject[i] == subject[first] and i != first)
    other = next(i for i in black if subject[i] != subject[first])
    third = next(i for i in black if subject[i] not in (subject[first], subject[other]))
    ranks = {
        first: (2, 1, 0.4),
        same: (3, 1, 0.6),
        other: (5, 1, 0.5),
        third: (1, 1, 0.9),
        blank: (2, 1, 0.99),
    }
    rows = turned_right(made_up(examination, ranks), examination, lm, before="b", after="a")
    assert list(rows) == [same, other]


def test_each_case_was_wrong_and_is_right(found):
    """The last rung's best guess is the gold token, the rung's before it is another."""
    _, told = found
    assert 2 <= len(told) <= 4
    assert len({case.place.document for case in told}) == len(told)
    for case in told:
        lm, flat, local = case.told
        assert [t.rung for t in case.told] == ["lm", "flat", "local"]
        assert local.guesses[0].token == case.place.token != flat.guesses[0].token
        assert local.p == pytest.approx(local.guesses[0].p)
        assert lm.guesses[0].p > lm.guesses[1].p > lm.guesses[2].p
    gains = [case.told[2].p - case.told[1].p for case in told]
    assert gains == sorted(gains, reverse=True)


def test_the_probabilities_are_those_that_were_scored(found, examination, lm, rungs):
    """What a case tells of the gold token is what the scoring said of the same position."""
    scored, told = found
    rows = list(turned_right(scored, examination, lm, before="flat", after="local"))
    for case, row in zip(told, rows, strict=False):
        for t in case.told:
            assert math.log(t.p) == pytest.approx(scored.rungs[t.rung].log_p[row], abs=1e-4)


def test_neighbors_come_by_share_and_stand_where_they_say(found, rungs, texts):
    """Shares fall, g is the level's line of d, and the text of the neighbor's file agrees."""
    calibration = rungs["local"].calibration.lines
    for case in found[1]:
        shares = [n.share for n in case.neighbors]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1 + 1e-6
        for n in case.neighbors:
            w, b = calibration.weights[n.level].item(), calibration.biases[n.level].item()
            assert n.calibrated == pytest.approx(w * n.distance + b, rel=1e-5)
            assert n.place.document != case.place.document
            assert n.place.before in texts[n.place.document]
            same = n.place.document.rpartition("/")[0] == case.place.document.rpartition("/")[0]
            assert (n.level_name == "directory") == same
            assert n.place.path == f"/src/{n.place.document}"


def test_the_place_of_a_case_is_its_documents(found, texts):
    """The line and the text before the gold token are those of the document."""
    for case in found[1]:
        text = texts[case.place.document]
        lines = text.split("\n")
        assert (
            case.place.before.split("\n")[-1] + case.place.token
            in lines[case.place.line - 1] + "\n"
        )
