import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.corpus.categories import Categories, wikipedia_title
from vicinal.errors import CorpusError

TABLE = """wikitext_title\tenwiki_title\tga_subtopic\tp31_qids
Ise @-@ class ( 1915 )\tIse-class (1915)\tWarships; Japan\tQ2
" Heroes "\t"Heroes"\tSongs\t
Du Fu\t\t\tQ5;Q36180
<unk> Baker\tMary Baker\tPeople\t
Long Baker\tLong Baker\tPlaces\t
<unk>\tRed kite\tBirds\tQ7
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "articles.tsv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("tokenized", "written"),
    [
        ("Ise @-@ class battleship", "Ise-class battleship"),
        ("Kiss You ( One Direction song )", "Kiss You (One Direction song)"),
        ("There 's Got to Be a Way", "There's Got to Be a Way"),
        ("Don 't Take It , Babe", "Don't Take It, Babe"),
        ("2011 \u2013 12 Blue Jackets season", "2011\u201312 Blue Jackets season"),
        ("AC / DC", "AC/DC"),
        ('" Heroes "', '"Heroes"'),
        ("10 @,@ 000 Days", "10,000 Days"),
        ("Burns ' Heir", "Burns' Heir"),
        ("Homarus gammarus", "Homarus gammarus"),
    ],
)
def test_both_ways_to_write_a_title_find_it(tokenized, written):
    """WikiText's tokens and Wikipedia's title are one title; the first tells the second."""
    assert wikipedia_title(tokenized) == written
    assert Categories({written: ["here"]}).of(tokenized) == ("here",)
    assert Categories({tokenized: ["here"]}).of(written.replace(" ", "_")) == ("here",)


def test_other_words_or_case_are_another_title():
    """What is made equal is spacing, nothing else."""
    categories = Categories({"Red Kite": ["bird"]})
    assert categories.of("Red kite") == categories.of("Red Kites") == categories.of("Red") == ()


def test_a_table_is_read_by_the_column_one_names(table):
    """Cells hold several values; quotation marks are part of a title."""
    categories = Categories.from_tsv(table)
    assert categories.of("Ise-class (1915)") == ("Japan", "Warships")
    assert categories.of('"Heroes"') == ("Songs",)
    assert categories.of("Du Fu") == ()
    assert Categories.from_tsv(table, separator="|").of("Ise-class (1915)") == ("Warships; Japan",)


def test_several_columns_are_united(table):
    """The values of all columns named count; every title column names the same article."""
    categories = Categories.from_tsv(table, column=["ga_subtopic", "p31_qids"])
    assert categories.of("Ise-class (1915)") == ("Japan", "Q2", "Warships")
    assert categories.of("Du Fu") == ("Q36180", "Q5")
    both = Categories.from_tsv(table, title=["wikitext_title", "enwiki_title"])
    assert both.of("Mary Baker") == both.of("<unk> Baker") == ("People",)
    assert "ga_subtopic, p31_qids of articles.tsv" in categories.report


def test_unk_stands_for_one_word_if_only_one_title_fits(table):
    """<unk> in a title is found as it stands, else by its other words; alone it says nothing."""
    categories = Categories.from_tsv(table, title="enwiki_title")
    assert categories.of("Mary <unk>") == ("People",)
    assert categories.of("<unk> Baker") == ()  # Mary or Long
    assert categories.of("<unk> Mary Baker") == ()  # the unknown word is there
    assert Categories.from_tsv(table).of("<unk> Baker") == ("People",)
    assert Categories.from_tsv(table).of("<unk>") == ()


def test_coverage_is_reported(table):
    """The titles without category are counted and named."""
    coverage = Categories.from_tsv(table).coverage(iter(["Long Baker", "Du Fu", '"Heroes"', "Owl"]))
    assert str(coverage) == "2 of 4 articles have a category"
    assert coverage.without == ("Du Fu", "Owl")


def test_an_unknown_column_is_answered_with_the_known_ones(table):
    """All missing names are told at once."""
    with pytest.raises(
        CorpusError, match=r"no column 'topic', 'kind'.*wikitext_title, enwiki_title"
    ):
        Categories.from_tsv(table, column=["topic", "ga_subtopic", "kind"])


@given(
    st.dictionaries(st.text("abcd", min_size=1), st.sets(st.text("xyz", min_size=1)), max_size=5)
)
def test_a_title_has_its_own_categories_sorted(by_title):
    """What goes in under a title comes out under it, sorted; the coverage counts the rest."""
    categories = Categories({title: list(values) for title, values in by_title.items()})
    for title, values in by_title.items():
        assert categories.of(title) == tuple(sorted(values))
    coverage = categories.coverage(by_title)
    assert set(coverage.without) == {title for title, values in by_title.items() if not values}
