"""Pages read again by an HTML parser: nothing escapes, nothing is fetched, nothing is missing."""

import re
from html.parser import HTMLParser

import pytest

from observed import NAMES, observations
from vicinal.analysis import (
    PUBLISHED,
    Drawing,
    Moved,
    MovedNeighbor,
    Movements,
    Number,
    Page,
    Place,
    Section,
    Table,
    curves,
    draw_calibrated,
    image,
)

EVIL = "<script>alert('1')</script>\"&amp;{{ 7*7 }}<img src=x onerror=y>"
FETCHING = ("href", "src", "srcset", "xlink:href", "data", "action", "poster", "background")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Reader(HTMLParser):
    """Keeps tags, attributes, and the text outside of styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        if self.tags and self.tags[-1] != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def told(words: str, change: float = 0.5) -> Moved:
    """Make a case in which all that is text says *words*."""
    place = Place(words, words, 4, words, words)
    values = {words: (words, words), "directory": ()}
    neighbor = MovedNeighbor(place, values, 2, words, -0.001, -0.001)
    return Moved(place, values, -0.001, change, (neighbor,))


def page_of(words: str, figures=()) -> Page:
    """Make a page in which all that is text says *words*."""
    table = Table(words, words, [words, "n"], [[words, Number(1.5)], [None, Number(-2.0)]], words)
    moved = Movements((told(words),), (), (told(words, -0.5),), 1, 1, 2)
    drawn = [Drawing(figure, words) for figure in figures]
    sections = [Section(words, [words], [table], drawn), Section("cases", moved=moved)]
    return Page(words, [words, words], sections, {words: words}, [words, "directory"], 3)


@pytest.fixture(scope="module")
def figures() -> list[bytes]:
    drawn = curves(observations(1, n=200, k=9), NAMES, None, PUBLISHED)
    return [image(draw_calibrated(drawn, title), "svg") for title in (EVIL, "$_$ & <b>")]


def test_markup_is_text_everywhere(figures):
    """Whatever a document, a level or a store is called, the page has the tags it has without."""
    evil, plain = (Reader(page_of(w, figures).to_html()) for w in (EVIL, "plain"))
    assert evil.tags == plain.tags
    assert not {"script", "img", "iframe", "object", "embed", "link", "form", "base"} & {*evil.tags}
    assert [name for name, _ in evil.attributes] == [name for name, _ in plain.attributes]
    assert not [name for name, _ in evil.attributes if name.startswith("on")]
    # Tokens are told with their white space made visible; one of the figures is called so too.
    places = evil.text.count(EVIL) + evil.text.count(EVIL.replace(" ", "␣"))
    assert places - 1 == plain.text.count("plain") > 25


def test_figures_are_inline_and_their_titles_are_text(figures):
    """Each drawing is an SVG element, and its title is read as it was given."""
    reader = Reader(page_of("words", figures).to_html())
    assert reader.tags.count("svg") == reader.tags.count("figure") == 2
    assert EVIL in reader.text
    assert "$_$ & <b>" in reader.text
    assert Drawing(figures[0], "").svg.startswith("<svg")


def test_nothing_is_fetched(figures):
    """Every reference is to the page itself, styles fetch nothing, and the browser is told so."""
    html = page_of(EVIL, figures).to_html()
    reader = Reader(html)
    links = [value for name, value in reader.attributes if name in FETCHING]
    assert len(links) > 10
    assert all(value.startswith("#") for value in links)
    assert set(re.findall(r"url\((.)", html)) <= {"#"}
    assert "@import" not in html
    assert ("http-equiv", "Content-Security-Policy") in reader.attributes
    assert ("content", POLICY) in reader.attributes


def test_every_section_can_be_reached(figures):
    """The list on top points to what is there, by its title."""
    html = page_of("words", figures).to_html()
    links = re.findall(r'<a href="#(\w+)">(\w+)</a>', html)
    assert links == re.findall(r'<h2 id="(\w+)">(\w+)</h2>', html) != []
    assert [title for _, title in links] == ["words", "cases"]


def test_tables_are_set_as_in_the_files():
    """Title, head, cells and note; numbers to the right, long text may be folded."""
    table = Table("t", "A title", ["what", "how many"], [["few", Number(2.5, 1)], ["x" * 29, None]])
    html = Page("P", [], [Section("S", tables=[table])]).to_html()
    assert "<caption>A title</caption>" in html
    heads = re.findall(r'<th class="(\w*)">(.*?)</th>', html)
    assert heads == [("text", "what"), ("", "how many")]
    cells = re.findall(r'<td class="(\w*)">(.*?)</td>', html)
    assert cells == [("text", "few"), ("", "2.5"), ("long", "x" * 29), ("", "")]
    assert 'class="note"' not in html


def test_cases_tell_place_numbers_and_neighbors():
    """What moved is told with signs, a rounded zero without; each level has its color."""
    place = Place("a.py", "", 4, "x = ", "1\n")
    values = {"project": ("p", "q")}
    neighbor = MovedNeighbor(place, values, 1, "project", -0.75, -0.001)
    case = Moved(place, values, -0.001, 2.0, (neighbor,))
    moved = Movements((case,), (), (), 1, 0, 2)
    page = Page("P", [], [Section("S", moved=moved)], {}, ["project", "directory"], 2)
    text = " ".join(Reader(page.to_html()).text.split())
    assert "a.py:4 project: p; q directory: none x = 1⏎" in text
    assert "log pkNN of the gold token: 0.00, Δ +2.00" in text
    assert text.endswith(
        "-0.75 0.00 helped There is none among the measured positions. "
        "hurt There is none among the measured positions. Settings"
    )
    assert '<span class="level" style="border-color: #2668ab">project</span>' in page.to_html()


def test_settings_stand_at_the_end():
    """A page says what it was made with."""
    html = Page("P", ["first", "then"], [], {"seed": "7", "k": "12"}).to_html()
    assert re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html) == [("seed", "7"), ("k", "12")]
    assert html.index("<p>first</p>") < html.index("<p>then</p>") < html.index("Settings")
    assert html.lstrip().startswith("<!doctype html>")
