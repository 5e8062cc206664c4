"""Documents cut short, lost or under wrong labels, compared with the text they come from."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from vicinal.corpus import Document
from vicinal.datastore import build
from vicinal.evaluation import full_token_ends
from vicinal.paper import Encyclopedia, java, view, wikitext
from vicinal.paper.relabeling import (
    exact_headings,
    mistaken_paths,
    no_category_is_one,
    shifted_sections,
    truncated,
)

HEADINGS = ["= = History = =", "= = Uses = =", "= = = In prose = = ="]


def attributes(snapshot) -> dict[str, list]:
    """Give the attributes of every span of every document."""
    return {
        d.name: [s.attributes for s in snapshot.spans[d.first_span : d.last_span]]
        for d in snapshot.documents
    }


def lengths(snapshot) -> dict[str, int]:
    return {d.name: d.hi - d.lo for d in snapshot.documents}


@pytest.fixture(scope="module")
def sections(wiki_material):
    return view(wiki_material.store.snapshot(), "test")


@pytest.fixture(scope="module")
def articles(encyclopedia, lm, material_of, tmp_path_factory):
    protocol = wikitext(encyclopedia, unit="article")
    store = material_of(protocol, tmp_path_factory.mktemp("whole"), lm).store
    return view(store.snapshot(), "test")


@pytest.fixture(scope="module")
def files(java_material):
    return view(java_material.store.snapshot(), "valid")


@pytest.mark.parametrize("longest", [1, 2, 7, 40, 41, 42, 43, 44, 150])
def test_a_document_is_cut_before_the_first_torn_full_token(java_data, files, lm, longest):
    """What is left is at most so many subtokens, ends with a full token, and could not be more."""
    texts = {d.name: d.text for d in java(java_data)}
    cut = truncated(lm, longest)(files)
    before = lengths(files)
    for name, n in before.items():
        offsets = [*lm.tokenize(texts[name]).offsets.tolist(), len(texts[name])]
        ends = {0, len(texts[name]), *full_token_ends(texts[name], "java")}
        whole = [i for i, offset in enumerate(offsets) if offset in ends]
        expected = n if n <= longest else max(i for i in whole if i <= longest)
        assert lengths(cut).get(name, 0) == expected <= max(longest, 0)
    assert cut.n_live == sum(lengths(cut).values()) + files.n_live - sum(before.values())


def test_short_documents_are_left_as_they_are(files, lm):
    """Where nothing is longer, nothing is cut; the released length is far above these files."""
    longest = max(lengths(files).values())
    for same in (truncated(lm, longest)(files), truncated(lm)(files)):
        assert same.documents == files.documents
        assert same.spans == files.spans
        assert np.array_equal(same.dead, files.dead)
    assert lengths(truncated(lm, longest - 1)(files)) != lengths(files)


def test_exact_headings_keep_their_signs(sections, lm):
    """A section's title is its heading as written, a lead's that of its article."""
    found = attributes(exact_headings(lm)(sections))
    for name, (own,) in attributes(sections).items():
        number = int(name.rpartition("/")[2].partition(" ")[0])
        title = own["article"][0]
        heading = HEADINGS[number - 1] if number else f"= {title} ="
        assert found[name] == [{**own, "section": (heading,)}]


def test_a_title_at_another_depth_is_another(lm, material_of, tmp_path, encyclopedia):
    """Where one article has a section deeper than the other, the two no longer match."""
    text = " \n = A = \n \n lead . \n \n = = Uses = = \n \n one . \n \n"
    text += " \n = B = \n \n lead . \n \n = = = Uses = = = \n \n two . \n \n"
    for split in ("train", "valid", "test"):
        (tmp_path / f"wiki.{split}.tokens").write_text(text, "utf-8")
    protocol = wikitext(Encyclopedia(tmp_path, encyclopedia.categories))
    snapshot = view(material_of(protocol, tmp_path, lm).store.snapshot(), "valid")
    titles = Counter(s.attributes["section"] for s in snapshot.spans)
    assert titles[("Uses",)] == 4
    exact = Counter(s.attributes["section"] for s in exact_headings(lm)(snapshot).spans)
    assert (exact[("= = Uses = =",)], exact[("= = = Uses = = =",)]) == (2, 2)


def test_every_section_gets_the_next_heading(sections, lm):
    """A section is called as the one after it; the last one of each article is gone."""
    shifted = shifted_sections(lm)(sections)
    expected = {
        name: {**own, "section": (HEADINGS[int(name.rpartition("/")[2].partition(" ")[0])],)}
        for name, (own,) in attributes(sections).items()
        if not name.endswith("3 In prose")
    }
    assert attributes(shifted) == {name: [own] for name, own in expected.items()}
    before = lengths(sections)
    assert lengths(shifted) == {name: before[name] for name in expected}
    assert shifted.n_live == sum(before[name] for name in expected)
    assert len(before) - len(expected) == 10


def test_a_slash_in_a_title_starts_no_article(lm, material_of, tmp_path, encyclopedia):
    """A section called "A/B" has a next one and is a next one like any other."""
    text = " \n = Kettle x = \n \n lead . \n \n = = On / off = = \n \n one . \n \n"
    text += " = = Later/earlier = = \n \n two . \n \n = = End = = \n \n three . \n \n"
    for split in ("train", "valid", "test"):
        (tmp_path / f"wiki.{split}.tokens").write_text(text, "utf-8")
    protocol = wikitext(Encyclopedia(tmp_path, encyclopedia.categories))
    snapshot = view(material_of(protocol, tmp_path, lm).store.snapshot(), "valid")
    found = [s.attributes["section"][0] for s in shifted_sections(lm)(snapshot).spans]
    assert found == ["= = On / off = =", "= = Later/earlier = =", "= = End = ="] * 2


def test_of_a_whole_article_each_section_gets_the_next_heading(sections, articles, lm):
    """Where articles are documents, their spans are called, and lost, as sections would be."""
    for vary in (shifted_sections(lm), exact_headings(lm)):
        by_section, by_article = (attributes(vary(seen)) for seen in (sections, articles))
        expected = {}
        for name, (own,) in by_section.items():
            expected.setdefault(name.rpartition("/")[0], []).append(own)
        assert by_article == expected
        assert vary(articles).n_live == vary(sections).n_live


def test_uncategorized_articles_share_one_category(sections, wiki_material):
    """Pairs of articles without a category become local; no other pair changes its level."""
    schema = wiki_material.protocol.domain.schema
    changed = no_category_is_one(sections)
    assert [d.name for d in changed.documents] == [d.name for d in sections.documents]
    levels, after = (
        np.array([schema.bind([s.attributes for s in seen.spans]).levels(s.attributes).numpy()
                  for s in seen.spans])
        for seen in (sections, changed)
    )  # fmt: skip
    none = np.array([not s.attributes["categories"] for s in sections.spans])
    both = none[:, None] & none[None, :]
    assert both.any()
    assert np.array_equal(levels[~both], after[~both])
    # Level 1 is the category, 2 the section, 3 both.
    assert set(levels[both].tolist()) == {0, 2}
    assert np.array_equal(after[both], levels[both] + 1)


def test_only_the_category_is_changed(sections):
    """Titles, articles and known categories stay."""
    for own, other in zip(sections.spans, no_category_is_one(sections).spans, strict=True):
        expected = own.attributes["categories"] or ("(none)",)
        assert other == replace(own, attributes={**own.attributes, "categories": expected})


@pytest.fixture(scope="module")
def many_files(lm, material_of, tmp_path_factory, java_data):
    """Four hundred files, each in a project of its own."""
    several = [
        Document.whole(f"valid/{n}.java", "class A {}", {"project": (f"p{n}",)}, language="java")
        for n in range(400)
    ]
    protocol = replace(java(java_data), splits={})
    material = material_of(protocol, tmp_path_factory.mktemp("many"), lm)
    build(material.store, several, lm)
    return material.store.snapshot()


@pytest.mark.parametrize("share", [0.05, 0.4])
def test_about_the_share_of_files_is_mistaken(many_files, share):
    """As many files as asked for, give or take the draw, have the place of another file."""
    before, after = attributes(many_files), attributes(mistaken_paths(many_files, share))
    wrong = [name for name in before if after[name] != before[name]]
    assert abs(len(wrong) - share * 400) < 4 * (share * (1 - share) * 400) ** 0.5
    places = [own for (own,) in before.values()]
    assert all(after[name][0] in places for name in wrong)


def test_mistakes_are_the_same_each_time_and_labels_only(many_files):
    """The draw depends on the names and the seed; entries, texts and languages stay."""
    one, again = (mistaken_paths(many_files, 0.2, seed=4) for _ in range(2))
    other = mistaken_paths(many_files, 0.2, seed=5)
    assert attributes(one) == attributes(again) != attributes(other)
    assert one.documents == many_files.documents
    assert one.segments == many_files.segments
    assert [(s.lo, s.hi) for s in one.spans] == [(s.lo, s.hi) for s in many_files.spans]


def test_no_mistakes_and_nothing_but_mistakes(many_files):
    """With a share of zero all labels are right, with one they are dealt out anew."""
    assert attributes(mistaken_paths(many_files, 0.0)) == attributes(many_files)
    dealt = [own["project"] for (own,) in attributes(mistaken_paths(many_files, 1.0)).values()]
    assert sorted(dealt) == sorted(s.attributes["project"] for s in many_files.spans)
    assert dealt != [s.attributes["project"] for s in many_files.spans]
