"""Every pair of spans has exactly one level, and it is the one the schema's words say."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
from strategies import attributes, schema, schemas
from vicinal.errors import SchemaError
from vicinal.locality import Level, LocalitySchema, Overlap, Same

PROJECT, DIRECTORY = Same("project"), Same("directory")
CODE = LocalitySchema.nested("code", [PROJECT, DIRECTORY])


def level_of(schema, query, stored) -> int:
    (found,) = schema.bind([stored]).levels(query).tolist()
    return found


@given(schemas(), st.lists(attributes(), max_size=6), attributes())
def test_levels_are_the_oracles(drawn, stored, query):
    """Whatever the schema, each stored span has one level: the last whose attributes all match."""
    made = schema(drawn)
    levels = made.bind(stored).levels(query)
    assert levels.dtype == torch.uint8
    assert levels.tolist() == [oracles.level(made, query, span) for span in stored]


@given(schemas(), attributes(), attributes())
def test_levels_do_not_depend_on_who_asks(drawn, one, other):
    """A pair has the same level from either side."""
    assert level_of(schema(drawn), one, other) == level_of(schema(drawn), other, one)


@given(schemas(), attributes())
def test_a_span_is_as_close_as_can_be_to_itself(drawn, span):
    """A span whose attributes all have values is on the highest level to itself."""
    full = {name: span.get(name) or ("a",) for name in ("one", "two", "three")}
    made = schema(drawn)
    assert level_of(made, full, full) == made.n_levels - 1


def test_directory_lies_in_project():
    """Same directory is level 2, same project only is level 1, another project is level 0."""
    here = {"project": ("kettle",), "directory": ("kettle/core",)}
    stored = [
        here,
        {"project": ("kettle",), "directory": ("kettle/ui",)},
        {"project": ("lantern",), "directory": ("lantern/core",)},
    ]
    assert CODE.bind(stored).levels(here).tolist() == [2, 1, 0]


def test_the_deepest_match_wins():
    """A directory that matches while its project does not still counts: the last level wins."""
    query = {"project": ("kettle",), "directory": ("x",)}
    assert level_of(CODE, query, {"project": ("lantern",), "directory": ("x",)}) == 2


@pytest.mark.parametrize("kind", [Same, Overlap])
@pytest.mark.parametrize("empty", [{}, {"category": ()}])
def test_an_empty_attribute_matches_nothing(kind, empty):
    """Two articles without a category are not of the same category, nor is one with one."""
    wiki = LocalitySchema.nested("wiki", [kind("category")])
    assert wiki.bind([{}, {"category": ()}, {"category": ("tea",)}]).levels(empty).sum() == 0
    assert level_of(wiki, {"category": ("tea",)}, empty) == 0


@pytest.mark.parametrize("kind", [Same, Overlap])
@pytest.mark.parametrize("values", [("e",), (), ("a", "e")])
def test_what_is_not_stored_is_unlike_all_that_is(kind, values):
    """Among many different values, none is taken for one that no span has."""
    stored = [(v,) for v in "abcd"] + [()]
    matched = kind("area").matcher(stored)(values)
    assert matched.dtype == torch.bool
    assert matched.tolist() == [kind is Overlap and v in values for v in "abcd"] + [False]


def test_overlap_needs_one_common_value():
    """One of several values is enough for overlap, and not enough for equality."""
    query, stored = {"area": ("cs", "math")}, {"area": ("math", "physics")}
    assert level_of(LocalitySchema.nested("n", [Overlap("area")]), query, stored) == 1
    assert level_of(LocalitySchema.nested("n", [Same("area")]), query, stored) == 0
    assert level_of(LocalitySchema.nested("n", [Overlap("area")]), query, {"area": ("art",)}) == 0


def test_a_lattice_counts_the_combinations():
    """Two attributes make four levels, three make eight, small combinations first."""
    two = LocalitySchema.lattice("two", [Overlap("category"), Same("section")])
    assert two.level_names == ("not local", "category", "section", "category & section")
    three = LocalitySchema.lattice("three", [Same("a"), Same("b"), Same("c")])
    assert three.n_levels == 8
    assert [len(level.requires) for level in three.levels] == [1, 1, 1, 2, 2, 2, 3]


def test_no_spans_have_no_levels():
    """An empty store is asked in vain, without an error."""
    assert CODE.bind([]).levels({"project": ("p",)}).tolist() == []


@given(schemas())
def test_a_schema_survives_being_written(drawn):
    """What `to_dict` writes, `from_dict` reads as the same schema."""
    assert LocalitySchema.from_dict(schema(drawn).to_dict()) == schema(drawn)


def test_the_written_schema_is_plain():
    """Attributes are written by their comparison's word, requirements in order."""
    wiki = LocalitySchema.lattice("wiki", [Overlap("b"), Same("a")])
    assert wiki.to_dict() == {
        "name": "wiki",
        "attributes": {"b": "overlap", "a": "same"},
        "levels": [
            {"name": "b", "requires": ["b"]},
            {"name": "a", "requires": ["a"]},
            {"name": "b & a", "requires": ["a", "b"]},
        ],
    }


def test_faults_are_reported_together():
    """One message names every fault: twice declared, unknown, empty, equal names."""
    levels = (Level("x", frozenset({"nowhere"})), Level("x", frozenset()))
    with pytest.raises(SchemaError) as caught:
        LocalitySchema("broken", (PROJECT, PROJECT), levels)
    message = str(caught.value)
    assert message.startswith("The schema 'broken' is not well-formed: ")
    for words in (
        "attribute 'project' is declared twice",
        "level 'x' asks for ['nowhere']; known are ['project', 'project']",
        "level 'x' asks for nothing; level 0 is that already",
        "two levels have the same name",
    ):
        assert words in message
    assert message.count("; ") == 5


def test_a_level_is_a_byte():
    """255 levels above level 0 fit and are told apart, one more is refused."""
    names = [f"a{i}" for i in range(256)]
    most = LocalitySchema.nested("most", [Same(n) for n in names[:255]])
    assert level_of(most, {"a254": ("v",)}, {"a254": ("v",)}) == 255
    with pytest.raises(SchemaError, match="256 levels were declared, at most 255 fit"):
        LocalitySchema.nested("more", [Same(n) for n in names])
