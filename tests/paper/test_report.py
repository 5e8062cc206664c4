"""The report: every file in every format, self-contained, and the same each time."""

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from vicinal.analysis import FORMATS
from vicinal.paper import Baseline, PaperReport, tables

SETTINGS = {"seed": "0", "limit": "7 <kB>"}


def report(found, name: str = "java") -> PaperReport:
    return PaperReport(name, found, tables(found), ["What <this> is."], SETTINGS)


@pytest.fixture(scope="module")
def written(java_findings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    return folder, report(java_findings).write(folder)


class Page(HTMLParser):
    """All tags of a page, with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def test_every_file_is_there(written, java_findings):
    """A page; each table as CSV, Markdown and LaTeX; each figure in each format, and its data."""
    folder, page = written
    assert page == folder / "report.html"
    names = [table.name for table in tables(java_findings)]
    expected = {"report.html"}
    expected |= {f"tables/{name}.{kind}" for name in names for kind in ("csv", "md", "tex")}
    expected |= {
        f"figures/{name}.{kind}" for name in ("figure2", "figure3") for kind in (*FORMATS, "csv")
    }
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    assert files == expected
    assert all((folder / name).stat().st_size for name in files)


def test_the_page_needs_nothing_else(written):
    """No script, no style sheet, no image, font or frame comes from anywhere."""
    text = written[1].read_text("utf-8")
    page = Page(text)
    assert not {"script", "link", "iframe", "object", "embed", "base"} & {t for t, _ in page.tags}
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "srcset", "data", "action"):
            value = attributes.get(name) or ""
            assert not value or value.startswith(("#", "data:")), (tag, value)
    assert "@import" not in text
    assert not re.search(r"url\((?!['\"]?(#|data:))", text)


def test_the_page_tells_all_tables_and_figures(written, java_findings):
    """Every table's title stands on the page once, both figures are drawn in it, cases too."""
    page = Page(written[1].read_text("utf-8"))
    for table in tables(java_findings):
        if table.name != "cases":
            assert table.title in page.text, table.name
    assert sum(tag == "svg" for tag, _ in page.tags) == 2
    assert "Figure 2." in page.text
    assert "Figure 3." in page.text
    assert "Capturing structural locality: java" in page.text
    for title in ("Departures", "Positions that locality moved (Tables 4 and 6)"):
        assert title in page.text
    case = next(c for cases in java_findings.moved.kinds.values() for c in cases)
    assert case.place.token.strip() in page.text


def test_what_is_said_is_escaped(written):
    """Leads and settings are text, not markup."""
    text = written[1].read_text("utf-8")
    assert "What &lt;this&gt; is." in text
    assert "7 &lt;kB&gt;" in text
    assert "<this>" not in text


def test_files_of_a_table_have_the_same_numbers(written, java_findings):
    """The CSV has the cells of the table; Markdown and LaTeX have as many rows."""
    folder, _ = written
    for table in tables(java_findings):
        rows = list(
            csv.reader(io.StringIO((folder / f"tables/{table.name}.csv").read_text("utf-8")))
        )
        assert rows == [list(table.columns), *table.cells]
        markdown = (folder / f"tables/{table.name}.md").read_text("utf-8")
        assert sum(line.startswith("|") for line in markdown.splitlines()) == 2 + len(table.rows)
        latex = (folder / f"tables/{table.name}.tex").read_text("utf-8")
        assert latex.count(r"\\") >= 1 + len(table.rows)
        assert rf"\label{{tab:{table.name}}}" in latex


def test_the_data_of_figures_are_those_of_the_curves(written, java_findings):
    """Every bin of every level is a row, with its band and how many neighbors speak for it."""
    folder, _ = written
    with (folder / "figures" / "figure2.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    raw = java_findings.raw
    several = (raw.by_distance, raw.by_rank, raw.distance_by_rank)
    assert len(rows) == sum(len(curve.x) for curves in several for curve in curves)
    ranks = [r for r in rows if r["panel"] == "rank and accuracy" and r["level"] == "project"]
    (project,) = (curve for curve in raw.by_rank if curve.level == "project")
    assert [int(r["neighbors"]) for r in ranks] == project.count.tolist()
    assert [float(r["y"]) for r in ranks] == pytest.approx(project.y.tolist(), abs=1e-6)
    assert all(float(r["low"]) <= float(r["y"]) <= float(r["high"]) for r in rows)


def test_the_same_findings_give_the_same_bytes(written, java_findings, tmp_path):
    """Tables, figures in every format and the page are the same files, to the byte."""
    folder, _ = written
    report(java_findings).write(tmp_path)
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        other = tmp_path / file.relative_to(folder)
        assert file.read_bytes() == other.read_bytes(), file.name


def test_what_was_left_out_has_no_section(wiki_findings, tmp_path):
    """Without departures and whole articles the page does not speak of them."""
    page = report(wiki_findings, "wikitext").write(tmp_path)
    titles = [words for words in Page(page.read_text("utf-8")).words]
    assert "Departures" not in titles
    assert "Article by article" not in titles
    assert any("Table 7" in words for words in titles)
    assert not (tmp_path / "tables" / "departures.csv").exists()


def test_baselines_stand_in_the_results(java_findings, tmp_path):
    """A baseline's row is in the table on the page as in its files."""
    told = {**java_findings.ladders.results("paper", "test")[0].rows[0].measures}
    made = tables(java_findings, [Baseline("a <recurrent> net", {**told, "ppl_full_token": 7.77})])
    one = replace(report(java_findings), tables=made)
    text = one.write(tmp_path).read_text("utf-8")
    assert "a &lt;recurrent&gt; net" in text
    first = (tmp_path / "tables" / "table2.csv").read_text("utf-8").splitlines()[1]
    assert first.startswith("a <recurrent> net,,7.770,")
