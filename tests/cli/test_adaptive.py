"""A λ of each position from the command line: fitted, measured, explained."""

import pytest


@pytest.fixture
def store(index, projects, tmp_path):
    assert index(projects, "--projects-are-folders").code == 0
    return tmp_path / "store"


def test_it_is_the_last_rung_of_the_ladder(vicinal, store):
    """The ladder ends with it, machines read its λ as numbers, people as a range."""
    told = vicinal("fit", "--store", store, "--self", "--ladder", "--k", 4, "--json").json
    rows = {row["calibration"]: row for row in told["parameters"]}
    assert list(rows) == ["temperature", "bias", "linear", "mlp", "adaptive"]
    smallest, mean, largest = rows["adaptive"]["lams"]
    assert 0 <= smallest <= mean == rows["adaptive"]["lam"] <= largest < 1
    assert "lams" not in rows["linear"]
    assert isinstance(rows["linear"]["lam"], float)
    assert (rows["adaptive"]["w"], rows["adaptive"]["b"]) == (
        rows["linear"]["w"],
        rows["linear"]["b"],
    )
    measured = vicinal("eval", "--store", store, "--self", "--ladder", "--allow-fitted", "--json")
    names = [row["name"] for row in measured.json["rows"]]
    assert names == ["lm", "knn", "temperature", "bias", "linear", "mlp", "adaptive"]
    last = measured.json["rows"][-1]
    assert last["over_temperature"] is not None
    assert last["difference"] == pytest.approx(last["ppl"] - measured.json["rows"][-2]["ppl"])


def test_alone_it_is_fitted_and_preferred(vicinal, store, projects):
    """Fitted by its name it is what explain uses; each token tells its own λ."""
    fitted = vicinal("fit", "--store", store, "--self", "--calibration", "adaptive", "--k", 4)
    assert "fitting adaptive" in fitted.err
    assert ", mean " in fitted.out
    measured = vicinal("eval", "--store", store, "--self", "--allow-fitted", "--json").json
    assert [row["name"] for row in measured["rows"]] == ["lm", "knn", "adaptive"]
    line = ("explain", "--store", store, "--file", projects / "kettle" / "app.py", "--line", 5)
    told = vicinal(*line, "--json").json
    assert told["lam"] is None
    assert all(0 <= token["lam"] < 1 for token in told["tokens"])
    for token in told["tokens"]:
        mixed = token["lam"] * token["p_knn"] + (1 - token["lam"]) * token["p_lm"]
        assert token["p"] == pytest.approx(mixed, rel=1e-3)
    page = vicinal(*line).out
    assert "λ" in page
    assert ", mean " in page


def test_a_fixed_lam_is_told_as_before(vicinal, store, projects):
    """With lines only, λ is one number for all tokens."""
    assert vicinal("fit", "--store", store, "--self", "--lam", 0.375, "--k", 4).code == 0
    line = ("explain", "--store", store, "--file", projects / "kettle" / "app.py", "--line", 5)
    told = vicinal(*line, "--json").json
    assert told["lam"] == 0.375
    assert {token["lam"] for token in told["tokens"]} == {0.375}
    assert "0.375" in vicinal(*line).out
