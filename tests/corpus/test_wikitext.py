from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vicinal.corpus.categories import Categories
from vicinal.corpus.wikitext import WikiText
from vicinal.errors import CorpusError

SMALL = (
    " \n = Red Kite = \n \n The red kite is a bird . \n"
    " \n = = Range = = \n \n It lives in Wales . \n"
    " \n = = = In winter = = = \n \n It stays . \n Key : Pld \n = Played , W = \n Wins \n"
    " \n = Ise @-@ class = \n \n Two ships . \n"
    " \n = = Range = = \n \n Long . \n"
)

WORDS = st.lists(
    st.sampled_from(["Red", "kite", "@-@", "class", "AC", "/", "DC", "(", ")", "#2", "1"]),
    min_size=1,
    max_size=3,
).map(" ".join)
BODY_LINES = st.sampled_from(
    ["It flies .", "= Played , W =", "= = x = =", "=", "= =", "a = b", "\u2028", "caf\u00e9 \r"]
)
# An article: its title, the lead's lines, and (depth, title, lines) of each section.
ARTICLES = st.lists(
    st.tuples(
        WORDS,
        st.lists(BODY_LINES, max_size=2),
        st.lists(st.tuples(st.integers(2, 5), WORDS, st.lists(BODY_LINES, max_size=3)), max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "wiki.tiny.tokens"
    path.write_text(SMALL, encoding="utf-8", newline="")
    return path


def rendered(articles) -> str:
    """Lay articles out as the published files are: blank lines around headings and nowhere else."""
    parts = []
    for title, lead, sections in articles:
        for depth, heading, lines in [(1, title, lead), *sections]:
            signs = "= " * depth
            # A line that follows prose, so that nothing but a heading has blank lines around it.
            body = "".join(f" {line} \n" for line in ["It is .", *lines, "It was ."])
            parts.append(f" \n {signs}{heading} {signs}\n \n{body}")
    return "".join(parts)


def sections_of(path: Path, **settings):
    return [d.spans[0].attributes["section"] for d in WikiText(path, **settings)]


def test_a_section_has_its_own_title_and_the_last_one_counts(small):
    """Titles are not shifted by one, and what follows the last heading of an article is kept."""
    documents = list(WikiText(small))
    assert [
        (d.spans[0].attributes["article"], d.spans[0].attributes["section"]) for d in documents
    ] == [
        (("Red Kite",), ()),
        (("Red Kite",), ("Range",)),
        (("Red Kite",), ("In winter",)),
        (("Ise @-@ class",), ()),
        (("Ise @-@ class",), ("Range",)),
    ]
    assert documents[1].text == " = = Range = = \n \n It lives in Wales . \n \n"
    assert documents[-1].text == " = = Range = = \n \n Long . \n"


def test_names_tell_file_article_and_section(small):
    """A name leads back to the place, and starts with the prefix."""
    names = [document.name for document in WikiText(small, name_prefix="w2/")]
    assert names[:3] == [
        "w2/wiki.tiny/Red Kite/0",
        "w2/wiki.tiny/Red Kite/1 Range",
        "w2/wiki.tiny/Red Kite/2 In winter",
    ]


def test_a_legend_that_looks_like_a_heading_is_text(small):
    """Only a line with a blank line before and after it is a heading."""
    assert "= Played , W =" in list(WikiText(small))[2].text


def test_an_article_read_whole_has_a_span_per_section(small):
    """Spans say their section and share the rest; their texts are the documents of the sections."""
    whole = list(WikiText(small, unit="article"))
    pieces = [(d.text[s.start : s.end], s.attributes) for d in whole for s in d.spans]
    assert pieces == [(d.text, d.spans[0].attributes) for d in WikiText(small)]
    assert [d.name for d in whole] == ["wiki.tiny/Red Kite", "wiki.tiny/Ise @-@ class"]


def test_deeper_headings_can_stay_in_their_section(small):
    """With depth 2 a subsection is text of its section; with depth 1 an article is one section."""
    assert sections_of(small, depth=2) == [(), ("Range",), (), ("Range",)]
    assert "= = = In winter = = =" in list(WikiText(small, depth=2))[1].text
    assert sections_of(small, depth=1) == [(), ()]


def test_leads_are_one_section_only_if_they_are_given_a_name(small):
    """By default the lead of an article shares its section with nothing."""
    leads = [values for values in sections_of(small, lead="(lead)") if values != ("Range",)]
    assert leads == [("(lead)",), ("In winter",), ("(lead)",)]


def test_categories_are_those_of_the_article(small):
    """Each section has the categories of its article; an article without any has none."""
    categories = Categories({"Ise-class": ["ship", "battleship"]})
    found = [d.spans[0].attributes["categories"] for d in WikiText(small, categories=categories)]
    assert found == [(), (), (), ("battleship", "ship"), ("battleship", "ship")]


def test_an_unknown_title_matches_nothing(tmp_path):
    """Two articles called <unk> are not one article, two such sections not one section."""
    path = tmp_path / "a.tokens"
    path.write_text(rendered([("<unk>", [], [(2, "The <unk>", []), (2, "History", [])])] * 2))
    attributes = [d.spans[0].attributes for d in WikiText(path)]
    assert [a["section"] for a in attributes] == [(), (), ("History",)] * 2
    assert {a["article"] for a in attributes} == {("a/<unk>",), ("a/<unk> #2",)}


def test_a_repeated_title_is_another_article(tmp_path):
    """The second article of one title is numbered, in its name and in its attribute."""
    path = tmp_path / "a.tokens"
    path.write_text(rendered([("Kite", [], []), ("Kite", [], [])]))
    found = [(d.name, d.spans[0].attributes["article"]) for d in WikiText(path, unit="article")]
    assert found == [("a/Kite", ("Kite",)), ("a/Kite #2", ("a/Kite #2",))]


def test_a_slash_in_a_title_makes_no_two_names_equal(tmp_path):
    """A section's name cannot be that of a section of an article with a longer title."""
    path = tmp_path / "a.tokens"
    one = ("A", [], [(2, "B/2 D", [])])
    two = ("A/1 B", [], [(2, "C", []), (2, "D", [])])
    path.write_text(rendered([one, two]))
    names = [document.name for document in WikiText(path)]
    assert len(set(names)) == len(names) == 5


def test_a_copy_without_blank_lines_is_read(tmp_path):
    """Where blank lines are lost, a title is known by the prose that follows it."""
    lead = "Du Fu was a prominent Chinese poet of the Tang dynasty , and a minor official . "
    lines = ["= Du Fu =", lead, "= = Life = =", "= = = Youth = = =", "He gave L"]
    lines += ["= 1 henry , C =", "2 . This is produced by a filter of a kind well known by now . "]
    lines += ["Key : Pld", "= Played , W =", "Wins", "= Kiss =", lead]
    path = tmp_path / "wiki.test.raw"
    path.write_text("".join(f" {line} \n" for line in lines))
    documents = list(WikiText(path))
    assert [d.name for d in documents] == [
        "wiki.test/Du Fu/0",
        "wiki.test/Du Fu/1 Life",
        "wiki.test/Du Fu/2 Youth",
        "wiki.test/Kiss/0",
    ]
    assert "= 1 henry , C =" in documents[2].text
    assert "= Played , W =" in documents[2].text


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ARTICLES)
def test_reading_gives_back_what_was_written(tmp_path, articles):
    """Titles and depths are those written, no character is lost, and no two names are equal."""
    path = tmp_path / "wiki.tokens"
    path.write_text(rendered(articles), encoding="utf-8", newline="")
    sections, whole = list(WikiText(path)), list(WikiText(path, unit="article"))
    assert list(WikiText(path).titles()) == [title for title, _, _ in articles]
    written = [() if not n else (s[1],) for _, _, ss in articles for n, s in enumerate([None, *ss])]
    assert [d.spans[0].attributes["section"] for d in sections] == written
    text = rendered(articles).removeprefix(" \n")
    assert "".join(d.text for d in sections) == "".join(d.text for d in whole) == text
    assert len({d.name for d in sections}) == len(sections)
    assert len({d.spans[0].attributes["article"] for d in whole}) == len(articles)


def test_a_folder_is_read_file_by_file(small):
    """Files come in the order of their names; others are left out, saying why."""
    (small.parent / "wiki.a.raw").write_text(rendered([("Kite", [], [])]))
    (small.parent / "README.md").write_text("no corpus")
    (small.parent / "more.raw").mkdir()
    corpus = WikiText(str(small.parent), unit="article")
    assert [d.name.split("/")[0] for d in corpus] == ["wiki.a", "wiki.tiny", "wiki.tiny"]
    assert [(Path(d.path).name, d.kept, d.reason) for d in corpus.decisions()][:2] == [
        ("README.md", False, "neither .tokens nor .raw"),
        ("more.raw", False, "neither .tokens nor .raw"),
    ]
    assert all(d.path == str(small) for d in corpus if "tiny" in d.name)


def test_says_what_is_not_wikitext(tmp_path):
    """A file that starts with text, is not UTF-8, or is not there, is refused with its path."""
    path = tmp_path / "notes.tokens"
    path.write_text(" \n Dear diary , \n")
    with pytest.raises(
        CorpusError, match=r"notes\.tokens to start with.*' = Title = '.*'Dear diary ,'"
    ):
        list(WikiText(path))
    path.write_bytes(b" = A = \n \n \xff \n")
    with pytest.raises(CorpusError, match=r"notes\.tokens to be UTF-8.*0xff"):
        list(WikiText(path))
    with pytest.raises(CorpusError, match=r"found nothing at .*absent"):
        list(WikiText(tmp_path / "absent"))
    path.write_text("")
    assert list(WikiText(path)) == []
