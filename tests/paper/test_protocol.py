"""The two experiments as corpora: names, splits, what a split sees, what missing data say."""

import json
from dataclasses import replace

import pytest

from vicinal.corpus import Categories
from vicinal.errors import CorpusError
from vicinal.paper import Encyclopedia, java, view, wikitext


def tops(corpus) -> set[str]:
    return {document.name.partition("/")[0] for document in corpus}


def test_names_start_with_their_split(java_data, encyclopedia):
    """Every document of both experiments says first which split it is of."""
    assert tops(java(java_data)) == {"valid", "test"}
    assert tops(wikitext(encyclopedia)) == {"train", "valid", "test"}
    for protocol in (java(java_data), wikitext(encyclopedia)):
        for split, corpus in protocol.splits.items():
            own = [d.name for d in protocol if d.name.startswith(f"{split}/")]
            assert own == [f"{split}/{d.name}" for d in corpus]
            assert len(set(own)) == len(own) > 0


def test_java_projects_are_folders_below_a_split(java_data):
    """Each file is a document with its project and directory, in Java's language."""
    documents = list(java(java_data))
    assert len(documents) == 16
    assert {d.language for d in documents} == {"java"}
    found = {d.spans[0].attributes["project"][0].rpartition("/")[2] for d in documents}
    assert found == {"ant", "bee", "cow", "doe"}
    assert len({d.spans[0].attributes["directory"] for d in documents}) == 8


def test_java_may_come_as_json_lines(java_data, tmp_path):
    """Lines with the same texts and attributes give the same documents as the folders."""
    expected = list(java(java_data))
    for split in ("valid", "test"):
        lines = [
            json.dumps(
                {
                    "name": d.name.partition("/")[2],
                    "text": d.text,
                    "language": d.language,
                    "attributes": {k: list(v) for k, v in d.spans[0].attributes.items()},
                }
            )
            for d in expected
            if d.name.startswith(f"{split}/")
        ]
        (tmp_path / f"{split}.jsonl").write_text("\n".join(lines), "utf-8")
    found = list(java(tmp_path))
    assert [replace(d, path="") for d in expected] == found
    assert [d.content_hash for d in expected] == [d.content_hash for d in found]
    assert len(list(java(tmp_path, limit=10))) < len(found)


def test_lines_are_read_in_place_of_folders(java_data, tmp_path):
    """Where a split has both, the lines are what was fetched."""
    for split in ("valid", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / f"{split}.jsonl").write_text('{"text": "class A {}"}\n', "utf-8")
    assert [d.text for d in java(tmp_path)] == ["class A {}"] * 2


@pytest.mark.parametrize("lost", ["valid", "test"])
def test_java_that_is_not_there_is_said(java_data, tmp_path, lost):
    """The split that is missing is named, and how to get it, in one line."""
    (tmp_path / ({"valid", "test"} - {lost}).pop()).mkdir()
    with pytest.raises(CorpusError, match=rf"{lost} .*{lost}\.jsonl.*corpus fetch java") as caught:
        java(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_limit_is_of_each_split(java_data, encyclopedia):
    """Java's limit goes to each split; half of WikiText's to training articles."""
    small = java(java_data, limit=600, seed=1)
    everything = {s: sum(len(d.text) for d in c) for s, c in java(java_data).splits.items()}
    for split, corpus in small.splits.items():
        taken = sum(len(d.text.encode()) for d in corpus)
        assert 300 <= taken < everything[split]
    for split, corpus in wikitext(replace(encyclopedia, limit=3000)).splits.items():
        assert 500 < sum(len(d.text.encode()) for d in corpus) <= 1500, split
    assert [d.name for d in java(java_data, limit=10**9)] == [d.name for d in java(java_data)]


def test_half_of_the_training_articles_are_near(encyclopedia):
    """Every other training article shares a category with an article of the splits."""
    for seed in range(4):
        protocol = wikitext(replace(encyclopedia, limit=2 * 2000, seed=seed))
        queried = [d for s in ("valid", "test") for d in protocol.splits[s]]
        near = {c for d in queried for c in d.spans[0].attributes["categories"]}
        train = [d.spans[0].attributes for d in protocol.splits["train"]]
        local = {a["article"] for a in train if near & set(a["categories"])}
        assert len(local) >= len({a["article"] for a in train}) / 2 > 0


def test_sections_and_articles_are_the_same_text(encyclopedia):
    """By articles, each section is a span with the attributes it has as a document."""
    sections = list(wikitext(encyclopedia))
    articles = list(wikitext(encyclopedia, unit="article"))
    assert "".join(d.text for d in sections) == "".join(d.text for d in articles)
    spans = [(d.text[s.start : s.end], s.attributes) for d in articles for s in d.spans]
    assert spans == [(d.text, d.spans[0].attributes) for d in sections]
    assert len(articles) == 15
    assert len(sections) == 60
    assert [p.unit for p in (wikitext(encyclopedia), wikitext(encyclopedia, unit="article"))] == [
        "section",
        "article",
    ]


def test_a_limit_takes_the_same_articles_by_section_and_whole(encyclopedia):
    """What is compared article by article is the same text."""
    small = replace(encyclopedia, limit=4000, seed=2)
    one, other = (
        ["".join(d.text for d in p.splits[s]) for s in ("train", "valid", "test")]
        for p in (wikitext(small), wikitext(small, unit="article"))
    )
    assert one == other


@pytest.mark.parametrize("folder", ["", "wikitext-103", "wikitext-2"])
@pytest.mark.parametrize("suffix", ["tokens", "raw"])
def test_wikitext_may_lie_in_a_folder_of_its_name(wiki_data, tmp_path, folder, suffix):
    """The three files are found in the folder, or in one called as the corpus is."""
    home = tmp_path / folder
    home.mkdir(exist_ok=True)
    for split in ("train", "valid", "test"):
        text = (wiki_data / f"wiki.{split}.tokens").read_text("utf-8")
        (home / f"wiki.{split}.{suffix}").write_text(text, "utf-8")
    protocol = wikitext(Encyclopedia(tmp_path, Categories({})))
    assert len(list(protocol)) == 60


def test_of_two_wikitexts_the_larger_is_read(wiki_data, tmp_path):
    """Where wikitext-2 and wikitext-103 lie side by side, a split comes from wikitext-103."""
    for folder, name in (("wikitext-2", "valid"), ("wikitext-103", "test")):
        (tmp_path / folder).mkdir()
        for split in ("train", "valid", "test"):
            text = (wiki_data / f"wiki.{name}.tokens").read_text("utf-8")
            (tmp_path / folder / f"wiki.{split}.tokens").write_text(text, "utf-8")
    protocol = wikitext(Encyclopedia(tmp_path, Categories({})))
    titles = {d.spans[0].attributes["article"][0] for d in protocol}
    assert {title.split()[1] for title in titles} == {"test"}


def test_wikitext_that_is_not_there_is_said(wiki_data, tmp_path):
    """The first file that is missing is named, where it was looked for, and how to get it."""
    text = (wiki_data / "wiki.valid.tokens").read_text("utf-8")
    (tmp_path / "wiki.valid.tokens").write_text(text, "utf-8")
    with pytest.raises(CorpusError, match=r"wiki\.test\.tokens.*corpus fetch wikitext") as caught:
        wikitext(Encyclopedia(tmp_path, Categories({})))
    assert "\n" not in str(caught.value)


def test_notes_say_what_the_data_are(encyclopedia, java_data):
    """Where categories come from, and what a document is, is said with the protocol."""
    assert "made up" in wikitext(encyclopedia).note
    assert "a document per article" in wikitext(encyclopedia, unit="article").note
    assert "a document per file" in java(java_data).note


def test_decisions_are_those_of_all_splits(java_data):
    """Every file of both splits is spoken of."""
    told = list(java(java_data).decisions())
    assert len(told) == 16
    assert all(decision.kept for decision in told)


def test_a_view_hides_the_other_split_and_nothing_else(java_material, wiki_material):
    """A split is seen with the training documents; what is seen is as it was."""
    for material in (java_material, wiki_material):
        whole = material.store.snapshot()
        for split, other in (("valid", "test"), ("test", "valid")):
            seen = view(whole, split)
            expected = [d.name for d in whole.documents if not d.name.startswith(f"{other}/")]
            assert [d.name for d in seen.documents] == expected
            assert seen.segments == whole.segments
            hidden = sum(d.hi - d.lo for d in whole.documents if d.name.startswith(f"{other}/"))
            assert seen.n_live == whole.n_live - hidden
            for document in seen.documents:
                before = whole.document(document.name)
                assert (document.lo, document.hi) == (before.lo, before.hi)
                assert (
                    seen.spans[document.first_span : document.last_span]
                    == whole.spans[before.first_span : before.last_span]
                )


def test_a_split_whose_name_begins_alike_is_another(java_material):
    """Only the whole first word counts."""
    assert view(java_material.store.snapshot(), "te").documents == ()
