"""Explaining a line from the command line, on a tiny model."""

import pytest


@pytest.fixture
def store(index, projects, tmp_path):
    assert index(projects, "--projects-are-folders").code == 0
    return tmp_path / "store"


def explain(vicinal, store, file, *more):
    return vicinal("explain", "--store", store, "--file", file, *more)


def test_every_token_of_the_line_is_told(vicinal, store, projects):
    """Joined, the tokens are the line; each neighbor has a place, a level and a share."""
    file = projects / "kettle" / "app.py"
    told = explain(vicinal, store, file, "--line", 5, "--json").json
    assert "".join(t["token"] for t in told["tokens"]) == file.read_text().split("\n")[4]
    neighbor = told["tokens"][0]["neighbors"][0]
    assert neighbor["place"]["document"] != "projects/kettle/app.py"
    assert neighbor["level"] in {"not local", "project", "directory"}
    assert 0 < neighbor["share"] <= 1


def test_the_table_names_places(vicinal, store, projects):
    """For people: document:line of each neighbor."""
    outcome = explain(vicinal, store, projects / "kettle" / "app.py", "--line", 4, "--top", 2)
    assert outcome.code == 0
    assert ".py:" in outcome.out
    assert "p(kNN)" in outcome.out


def test_an_unsaved_neighbor_of_stored_files_is_explained(vicinal, store, projects):
    """A file that the store has not seen takes the attributes of its folder."""
    new = projects / "kettle" / "new.py"
    new.write_text("def boil_kettle(level):\n", "utf-8")
    told = explain(vicinal, store, new, "--line", 1, "--json").json
    assert told["document"] == "projects/kettle/new.py"
    levels = {n["level"] for t in told["tokens"] for n in t["neighbors"]}
    assert "directory" in levels


def test_a_line_too_far_is_one_line_of_error(vicinal, store, projects):
    """Exit code 1, and how many lines there are."""
    outcome = explain(vicinal, store, projects / "kettle" / "app.py", "--line", 99)
    assert outcome.code == 1
    assert "from 1 to 6, was: 99" in outcome.err
