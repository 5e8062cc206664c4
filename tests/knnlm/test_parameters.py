"""Fitted parameters: kept exactly, and refused where they would mean nothing."""

import json
from dataclasses import replace

import pytest
import torch

from vicinal.errors import CalibrationError, FingerprintError
from vicinal.knnlm import Mixture, Parameters
from vicinal.locality import LevelCalibration, LocalitySchema, MLPCalibration, Overlap, Same

SCHEMA = LocalitySchema.nested("code", [Same("project"), Same("directory")])
LINES = LevelCalibration(torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.0, -1.1, 2.7]))
NETWORK = MLPCalibration(
    mean=torch.randn(4),
    scale=torch.rand(4) + 0.5,
    hidden=torch.randn(3, 5),
    out=torch.randn(5, 4),
    start=LINES,
    unit=1 / 3,
)
PARAMETERS = Parameters(
    "0123456789abcdef-model",
    SCHEMA,
    48,
    {"linear": Mixture(LINES, 0.3), "mlp": Mixture(NETWORK, 0.1 + 0.2)},
    frozenset({"hash-b", "hash-a"}),
    {"positions": 7, "rungs": {"linear": {"loss": 1.5}}},
)


def test_survive_json():
    """Every field is the same after JSON, the tensors bit for bit."""
    again = Parameters.from_json(PARAMETERS.to_json())
    kept = ("fingerprint", "schema", "k", "fitted_on", "notes")
    assert [getattr(again, n) for n in kept] == [getattr(PARAMETERS, n) for n in kept]
    assert list(again.rungs) == ["linear", "mlp"]
    assert torch.equal(again.rungs["linear"].calibration.weights, LINES.weights)
    assert torch.equal(again.rungs["mlp"].calibration.out, NETWORK.out)
    assert [m.lam for m in again.rungs.values()] == [0.3, 0.1 + 0.2]
    assert again.to_json() == PARAMETERS.to_json()


def test_are_written_as_plain_json():
    """A person can read whose parameters they are, and the documents stand in order."""
    data = json.loads(PARAMETERS.to_json())
    assert list(data) == ["format", "fingerprint", "schema", "k", "rungs", "fitted_on", "notes"]
    assert (data["format"], data["k"]) == (1, 48)
    assert data["fitted_on"] == ["hash-a", "hash-b"]
    assert data["schema"] == SCHEMA.to_dict()
    assert "\n" in PARAMETERS.to_json()


def test_fit_their_own_model_and_schema():
    """The model and an equal schema they were fitted for are taken."""
    equal = LocalitySchema.nested("code", [Same("project"), Same("directory")])
    PARAMETERS.check("0123456789abcdef-model", equal)


def test_another_model_is_refused():
    """The message has the beginnings of both fingerprints."""
    with pytest.raises(
        FingerprintError, match=r"0123456789abcdef, .* fedcba9876543210\. Fit again"
    ):
        PARAMETERS.check("fedcba9876543210-model", SCHEMA)


@pytest.mark.parametrize(
    "other",
    [
        LocalitySchema.nested("code", [Same("directory"), Same("project")]),
        LocalitySchema.nested("code", [Same("project")]),
        LocalitySchema.nested("code", [Same("project"), Overlap("directory")]),
    ],
)
def test_another_schema_is_refused(other):
    """Levels in another order, fewer, or compared otherwise: the message has both lists."""
    with pytest.raises(CalibrationError) as caught:
        PARAMETERS.check(PARAMETERS.fingerprint, other)
    assert "levels not local, project, directory; the store's are" in str(caught.value)
    assert ", ".join(other.level_names) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "7", "{}", '{"format": 1}', '{"format": 1, "fingerprint": "x", "schema": 3}'],
)
def test_what_is_not_ours_is_refused(text):
    """Broken JSON and JSON of something else are answered with what was expected."""
    with pytest.raises(
        CalibrationError, match=r"not vicinal's parameters.*\. Expected what `vicinal"
    ):
        Parameters.from_json(text)


def test_a_rung_without_its_numbers_is_refused():
    """A calibration that lacks a field is not read as another."""
    data = json.loads(PARAMETERS.to_json())
    del data["rungs"]["linear"]["calibration"]["weights"]
    with pytest.raises(CalibrationError, match="weights"):
        Parameters.from_json(json.dumps(data))


def test_another_format_is_refused():
    """A file of a newer format is named by its number."""
    text = PARAMETERS.to_json().replace('"format": 1', '"format": 2')
    with pytest.raises(CalibrationError, match=r"of format 1, found 2\. Fit again, or use the v"):
        Parameters.from_json(text)


def test_nothing_need_be_fitted():
    """Parameters may have been fitted on nothing known, and have no notes."""
    bare = replace(PARAMETERS, fitted_on=frozenset(), notes={}, rungs={})
    assert Parameters.from_json(bare.to_json()) == bare
    assert Parameters("x", SCHEMA, 1, {}).fitted_on == frozenset()
