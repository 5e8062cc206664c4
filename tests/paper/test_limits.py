"""Small parts of a corpus: how much is taken, what stays together, and what the draw depends on."""

from collections import Counter, defaultdict
from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oracles
from vicinal.corpus import AbstractCorpus, CodeTree, Document
from vicinal.paper.limits import (
    FILES_PER_DIRECTORY,
    Chosen,
    drawn,
    even_cap,
    limited_articles,
    limited_code,
    sizes,
)


@dataclass(frozen=True)
class Given(AbstractCorpus):
    """Documents as they were given."""

    documents: tuple[Document, ...]

    def __iter__(self):
        return iter(self.documents)

    def decisions(self):
        return iter(())


def file(project: str, directory: str, number: int, size: int) -> Document:
    attributes = {"project": (project,), "directory": (f"{project}/{directory}",)}
    return Document.whole(f"{project}/{directory}/{number}.java", "x" * size, attributes)


def section(article: str, number: int, size: int, *categories: str) -> Document:
    attributes = {"article": (article,), "categories": categories, "section": (f"s{number}",)}
    return Document.whole(f"w/{article}/{number}", "x" * size, attributes)


def names(corpus) -> list[str]:
    return [document.name for document in corpus]


def bytes_of(corpus) -> int:
    return sum(len(document.text.encode()) for document in corpus)


@given(st.lists(st.integers(0, 30), max_size=6), st.integers(0, 120))
@example([5, 5, 5], 15)
@example([], 7)
def test_the_cap_is_the_largest_that_fits(found, total):
    """No larger cap keeps the sum within the total, and this one does."""
    by_name = {str(i): size for i, size in enumerate(found)}
    assert even_cap(by_name, total) == oracles.even_cap(found, total)


def tree(n_projects: int = 4, size: int = 100) -> Given:
    """Write projects of very different sizes, the first with one huge directory."""
    files = [
        file(f"p{p}", f"d{d}", n, size)
        for p in range(n_projects)
        for d in range(3 * (n_projects - p))
        for n in range(4)
    ]
    crowd = [file("p0", "crowd", n, size) for n in range(3 * FILES_PER_DIRECTORY)]
    return Given((*crowd, *files))


def test_without_a_limit_everything_is_read():
    """No limit is no wrapper: the corpus itself comes back."""
    corpus = tree()
    assert limited_code(corpus, None, seed=3) is corpus
    assert limited_articles(corpus, None, seed=3) is corpus


@pytest.mark.parametrize("seed", range(5))
def test_code_is_limited_evenly_in_whole_directories(seed):
    """Every project is there, no directory is torn, and the whole is about the limit."""
    corpus = tree()
    found = names(limited_code(corpus, 4000, seed))
    by_directory = Counter(name.rpartition("/")[0] for name in found)
    for directory, n in by_directory.items():
        assert n == (FILES_PER_DIRECTORY if directory == "p0/crowd" else 4)
    by_project = Counter(name.partition("/")[0] for name in found)
    assert set(by_project) == {"p0", "p1", "p2", "p3"}
    # 1000 bytes each; a project's last directory may go beyond, by less than itself.
    for project, n in by_project.items():
        torn_by = 100 * FILES_PER_DIRECTORY if project == "p0" else 400
        assert 1000 <= 100 * n < 1000 + torn_by


def test_what_a_small_project_leaves_the_others_get():
    """A project under its share is whole, and the rest is shared out again."""
    small = (file("tiny", "d", 0, 50),)
    large = tuple(file(p, f"d{d}", 0, 100) for p in ("one", "two") for d in range(40))
    found = limited_code(Given((*small, *large)), 2050, seed=0)
    assert sizes(found, "project") == {"tiny": 50, "one": 1000, "two": 1000}


@given(st.randoms(use_true_random=False), st.integers(0, 3))
def test_the_draw_knows_no_order(random, seed):
    """Files listed in another order give the same small part; another seed another one."""
    files = list(tree(3).documents)
    mixed = random.sample(files, len(files))
    one, other = (names(limited_code(Given(tuple(f)), 3000, seed)) for f in (files, mixed))
    assert sorted(one) == sorted(other)
    assert [d.name for d in mixed if d.name in set(one)] == other
    assert sorted(names(limited_code(Given(tuple(files)), 3000, seed + 1))) != sorted(one)


def articles() -> Given:
    """Write twelve articles of three sections; every fourth shares a category with the split."""
    return Given(
        tuple(
            section(f"a{n}", i, 100, *(("near", "x") if n % 4 == 0 else ("far",) if n % 2 else ()))
            for n in range(12)
            for i in range(3)
        )
    )


def by_article(corpus) -> dict[str, int]:
    found = defaultdict(int)
    for document in corpus:
        found[document.name.split("/")[1]] += 1
    return found


@pytest.mark.parametrize(("n_bytes", "n"), [(0, 0), (299, 0), (300, 1), (1000, 3), (9999, 12)])
def test_articles_are_whole_and_within_the_limit(n_bytes, n):
    """As many whole articles as fit are taken, in the order of the corpus."""
    found = limited_articles(articles(), n_bytes, seed=0)
    assert by_article(found) == dict.fromkeys(by_article(found), 3)
    assert len(by_article(found)) == n
    assert bytes_of(found) <= n_bytes
    assert names(found) == [name for name in names(articles()) if name in set(names(found))]


def test_the_seed_draws_the_articles():
    """The same seed gives the same articles, others give others."""
    drawn_by = [frozenset(by_article(limited_articles(articles(), 1000, s))) for s in range(8)]
    again = frozenset(by_article(limited_articles(articles(), 1000, 5)))
    assert again == drawn_by[5]
    assert len(set(drawn_by)) > 4


@pytest.mark.parametrize("seed", range(6))
def test_every_other_article_is_near_while_there_are_such(seed):
    """Of six articles three have a category of the split, of ten all three that there are."""
    near = frozenset({"near", "elsewhere"})
    local = {"a0", "a4", "a8"}
    taken = [
        set(by_article(limited_articles(articles(), 300 * n, seed, near))) for n in range(1, 11)
    ]
    assert [len(found & local) for found in taken] == [1, 1, 2, 2, 3, 3, 3, 3, 3, 3]
    assert [len(found) for found in taken] == list(range(1, 11))
    plain = set(by_article(limited_articles(articles(), 1800, seed, frozenset({"nothing"}))))
    assert plain == set(by_article(limited_articles(articles(), 1800, seed)))


def test_sizes_count_bytes():
    """A letter with an umlaut is two bytes, and half a surrogate pair is no error."""
    corpus = Given((Document.whole("a", "ü\ud800", {"project": ("p",)}),))
    assert sizes(corpus, "project") == {"p": 5}


@given(st.lists(st.text(max_size=3), unique=True, max_size=8), st.integers(0, 5))
def test_the_order_drawn_is_an_order_of_all(words, seed):
    """No name is lost, and where they stood before does not matter."""
    assert sorted(drawn(words, seed)) == sorted(words)
    assert drawn(words, seed) == drawn(reversed(words), seed)


def test_chosen_documents_tell_of_all_files(java_data):
    """Choosing documents changes nothing in what is said of files."""
    files = CodeTree(java_data / "valid", projects_are_folders=True)
    chosen = Chosen(files, "project", frozenset({"valid/ant"}))
    assert {d.name.split("/")[1] for d in chosen} == {"ant"}
    assert list(chosen.decisions()) == list(files.decisions())
