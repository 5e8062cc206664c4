"""Domains as data: what is shipped gives the levels it says, and faults are named."""

import pytest

from vicinal.errors import SchemaError
from vicinal.locality import Overlap, Same, load_domain, shipped_domains

# Of each domain: a query's attributes, and stored spans with the level that a person would give.
WORKED = {
    "code": (
        {"project": ("kettle",), "directory": ("kettle/core",)},
        [
            ({"project": ("lantern",), "directory": ("lantern/core",)}, "not local"),
            ({"project": ("kettle",), "directory": ("kettle/ui",)}, "project"),
            ({"project": ("kettle",), "directory": ("kettle/core",)}, "directory"),
        ],
    ),
    "java-github": (
        {"project": ("Clara",), "directory": ("Clara/src",)},
        [
            ({"project": (), "directory": ()}, "not local"),
            ({"project": ("Clara",), "directory": ("Clara/demo",)}, "project"),
            ({"project": ("Clara",), "directory": ("Clara/src",)}, "directory"),
        ],
    ),
    "wikitext": (
        {"categories": ("rivers", "parks"), "section": ("History",)},
        [
            ({"categories": ("ships",), "section": ("Design",)}, "not local"),
            ({"categories": ("parks", "towns"), "section": ("Geography",)}, "categories"),
            ({"categories": (), "section": ("History",)}, "section"),
            ({"categories": ("rivers",), "section": ("History",)}, "categories & section"),
        ],
    ),
    "markdown": (
        {"project": ("tea",), "directory": ("tea/docs",), "section": ("Install",)},
        [
            ({"project": ("jam",), "directory": ("jam/docs",), "section": ("Use",)}, "not local"),
            ({"project": ("jam",), "directory": ("jam",), "section": ("Install",)}, "section"),
            ({"project": ("tea",), "directory": ("tea",), "section": ("Use",)}, "project"),
            (
                {"project": ("tea",), "directory": ("tea/docs",), "section": ("Use",)},
                "directory",
            ),
            (
                {"project": ("tea",), "directory": ("tea",), "section": ("Install",)},
                "project & section",
            ),
            (
                {"project": ("tea",), "directory": ("tea/docs",), "section": ("Install",)},
                "directory & section",
            ),
        ],
    ),
    "books": (
        {"author": ("Le Guin",), "dewey": ("8", "81", "813")},
        [
            ({"author": ("Euclid",), "dewey": ("5", "51", "516")}, "not local"),
            ({"author": ("Melville",), "dewey": ("8", "81")}, "dewey"),
            ({"author": ("Le Guin",), "dewey": ("1",)}, "author"),
            ({"author": ("Le Guin",), "dewey": ("8", "82")}, "dewey & author"),
        ],
    ),
    "papers": (
        {"venue": ("ICLR",), "area": ("cs.CL", "cs.LG")},
        [
            ({"venue": ("Cell",), "area": ("q-bio",)}, "not local"),
            ({"venue": ("ACL",), "area": ("cs.CL",)}, "area"),
            ({"venue": ("ICLR",), "area": ("cs.CV",)}, "venue"),
            ({"venue": ("ICLR",), "area": ("cs.LG", "stat.ML")}, "area & venue"),
        ],
    ),
    "manuals": (
        {"kind": ("kettle",), "section": ("Cleaning",)},
        [
            ({"kind": ("drill",), "section": ("Safety",)}, "not local"),
            ({"kind": ("kettle",), "section": ("Safety",)}, "kind"),
            ({"kind": ("drill",), "section": ("Cleaning",)}, "section"),
            ({"kind": ("kettle",), "section": ("Cleaning",)}, "kind & section"),
        ],
    ),
    "discussions": (
        {"topic": ("sourdough",), "time": ("2024-05",)},
        [
            ({"topic": ("chess",), "time": ("2019-01",)}, "not local"),
            ({"topic": ("chess",), "time": ("2024-05",)}, "time"),
            ({"topic": ("sourdough",), "time": ("2019-01",)}, "topic"),
            ({"topic": ("sourdough",), "time": ("2024-05",)}, "time & topic"),
        ],
    ),
}
GOOD = """
name = "mine"
reader = "jsonl"
[options]
depth = 2
[attributes]
author = "same"
area = "overlap"
[levels]
lattice = ["area", "author"]
"""


def test_every_shipped_domain_has_a_worked_example():
    """The domains that come along are the ones proven below, named in order."""
    assert shipped_domains() == sorted(WORKED)


@pytest.mark.parametrize("name", sorted(WORKED))
def test_shipped_domains_give_the_levels_they_say(name):
    """Each stored span has the level a person would give it, in rising order, none left out."""
    domain = load_domain(name)
    query, examples = WORKED[name]
    levels = domain.schema.bind([span for span, _ in examples]).levels(query).tolist()
    assert [domain.schema.level_names[n] for n in levels] == [word for _, word in examples]
    assert levels == list(range(domain.schema.n_levels))
    assert domain.name == domain.schema.name == name


def test_the_shipped_readers_and_groups():
    """Each domain names the reader that gives its attributes, and what averages go by."""
    found = {name: load_domain(name) for name in shipped_domains()}
    assert {name: d.reader for name, d in found.items()} == {
        "books": "jsonl",
        "code": "code",
        "discussions": "jsonl",
        "java-github": "jsonl",
        "manuals": "jsonl",
        "markdown": "markdown",
        "papers": "jsonl",
        "wikitext": "wikitext",
    }
    assert {name: d.group for name, d in found.items()} == {
        "books": "author",
        "code": "project",
        "discussions": "topic",
        "java-github": "project",
        "manuals": "kind",
        "markdown": "project",
        "papers": "venue",
        "wikitext": "article",
    }


def test_wikitext_has_the_papers_levels():
    """Level 1 is category, 2 section, 3 both, as the paper numbers them."""
    names = load_domain("wikitext").schema.level_names
    assert names == ("not local", "categories", "section", "categories & section")


def test_a_domain_of_ones_own(tmp_path):
    """A TOML file gives reader, options and schema; averages go by the first attribute."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD, "utf-8")
    domain = load_domain(str(file))
    assert (domain.name, domain.reader, domain.options) == ("mine", "jsonl", {"depth": 2})
    assert domain.schema.attributes == (Overlap("area"), Same("author"))
    assert domain.schema.level_names[1:] == ("area", "author", "area & author")
    assert domain.group == "author"


def test_what_may_be_left_out(tmp_path):
    """A domain without options has none, and what it lacks beside that is told at once."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace("[options]\ndepth = 2\n", ""), "utf-8")
    assert load_domain(str(file)).options == {}
    file.write_text('name = "x"', "utf-8")
    with pytest.raises(SchemaError) as caught:
        load_domain(str(file))
    assert str(caught.value) == (
        f"{file} is not well-formed: key 'reader' is missing; "
        "table [attributes] is missing; table [levels] is missing"
    )


def test_an_unknown_domain_is_answered_with_the_known():
    """A name that is neither shipped nor a file is answered with what there is."""
    with pytest.raises(SchemaError, match=r"'cod'.*Known domains: books, code, discussions"):
        load_domain("cod")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('name = "mine"', "", "key 'name' is missing"),
        ('reader = "jsonl"', "", "key 'reader' is missing"),
        ('name = "mine"', 'name = "mine"\nread = 1', "unknown key 'read'"),
        ('"overlap"', '"equal"', "attribute 'area' compares by 'equal'; known: same, overlap"),
        ('author = "same"\narea = "overlap"', "", r"table \[attributes\] is missing"),
        (
            "lattice",
            'nested = ["area"]\nlattice',
            "one of nested, lattice, named; found: lattice, n",
        ),
        ("lattice", "lettuce", "one of nested, lattice, named; found: lettuce"),
        ('lattice = ["area", "author"]', "", r"table \[levels\] is missing"),
        ('["area", "author"]', '["aria"]', r"declared attributes \(author, area\).*'aria'"),
        ("lattice", "named", "could not read string indices"),
        ("lattice = [", "named = [{name = 'x'}] #", "could not read 'requires'"),
        ('["area", "author"]', "3", r"\[levels\] lattice must name declared attributes"),
        (
            'lattice = ["area", "author"]',
            'named = [{name = "x", requires = ["aria"]}]',
            r"'x' asks for \['aria'\]; known are \['author', 'area'\]",
        ),
        ("[options]", "[options", "is not TOML"),
    ],
)
def test_faults_in_a_file_are_named(tmp_path, before, after, words):
    """Each way to write a domain wrongly is answered with the file and what is wrong in it."""
    file = tmp_path / "mine.toml"
    file.write_text(GOOD.replace(before, after), "utf-8")
    with pytest.raises(SchemaError, match=words) as caught:
        load_domain(str(file))
    if "asks for" not in words:
        assert "mine.toml" in str(caught.value)


def test_faults_in_a_file_are_reported_together(tmp_path):
    """Several faults are one message."""
    file = tmp_path / "mine.toml"
    file.write_text('writer = "x"\n[attributes]\na = "near"\n[levels]\nnested = ["a"]\nnamed = []')
    with pytest.raises(SchemaError) as caught:
        load_domain(str(file))
    assert str(caught.value) == (
        f"{file} is not well-formed: unknown key 'writer'; key 'name' is missing; "
        "key 'reader' is missing; attribute 'a' compares by 'near'; known: same, overlap; "
        "[levels] has one of nested, lattice, named; found: named, nested"
    )
