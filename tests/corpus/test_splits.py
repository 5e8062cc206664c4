from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.corpus import AbstractCorpus, CodeTree, Decision, Document, MarkdownTree, Sampled
from vicinal.errors import CorpusError


class Listed(AbstractCorpus):
    """Documents at hand, named project/directory/file; their text is given by its length."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __iter__(self):
        for name, size in self.sizes.items():
            project, directory, _ = name.split("/")
            attributes = {"project": (project,), "directory": (f"{project}/{directory}",)}
            yield Document.whole(name, "x" * size, attributes, path=f"/{name}")

    def decisions(self):
        return (Decision(f"/{name}", kept=True) for name in self.sizes)


NAMES = st.builds("{}/{}/{}".format, *[st.integers(0, n).map(str) for n in (2, 4, 9)])
CORPORA = st.dictionaries(NAMES, st.integers(1, 40), max_size=60).map(Listed)
LIMITS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 3),
        "files_per_directory": st.integers(1, 5),
        "bytes_per_project": st.integers(1, 100),
        "characters": st.integers(1, 50),
    }
)


@given(CORPORA, LIMITS)
def test_a_sample_keeps_its_limits(corpus, limits):
    """Whole directories up to F files, cut at C; a project stops at the directory that fills it."""
    most, fill, length = (
        limits[key] for key in ("files_per_directory", "bytes_per_project", "characters")
    )
    documents = list(Sampled(corpus, **limits))
    assert [d.name for d in documents] == [
        n for n in corpus.sizes if n in {d.name for d in documents}
    ]
    assert all(len(d.text) == min(corpus.sizes[d.name], length) for d in documents)
    everything = Counter(d.rpartition("/")[0] for d in corpus.sizes)
    taken = Counter(d.name.rpartition("/")[0] for d in documents)
    assert all(taken[d] == min(most, everything[d]) for d in taken)
    for project in {name.partition("/")[0] for name in corpus.sizes}:
        sizes = Counter()
        for d in documents:
            if d.name.startswith(f"{project}/"):
                sizes[d.name.rpartition("/")[0]] += len(d.text)
        left_out = [d for d in everything if d.startswith(f"{project}/") and d not in taken]
        assert sum(sizes.values()) >= fill or not left_out
        assert not sizes or sum(sizes.values()) - max(sizes.values()) < fill


@given(CORPORA, LIMITS)
def test_projects_are_drawn_apart(corpus, limits):
    """What is drawn of one project does not depend on the others."""
    alone = Listed({n: s for n, s in corpus.sizes.items() if n.startswith("0/")})
    drawn = [d.name for d in Sampled(corpus, **limits) if d.name.startswith("0/")]
    assert drawn == [d.name for d in Sampled(alone, **limits)]


@given(CORPORA, LIMITS)
def test_decisions_agree_with_what_is_drawn(corpus, limits):
    """What was not drawn is left out, and the reason names the seed."""
    sample = Sampled(corpus, **limits)
    decisions = list(sample.decisions())
    assert [d.path for d in decisions if d.kept] == [d.path for d in sample]
    assert all("sample of seed" in d.reason for d in decisions if not d.kept)


def test_the_seed_decides():
    """The same seed draws the same documents, another one others, between none and all."""
    corpus = Listed({f"p/{i}/{j}": 10 for i in range(20) for j in range(5)})
    draws = [
        {d.name for d in Sampled(corpus, seed=seed, bytes_per_project=200)} for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]
    assert [len(draw) for draw in draws] == [20, 20, 20]


def test_a_draw_is_the_same_for_ever():
    """A fixed draw: results named by a seed stay comparable between versions and machines."""
    corpus = Listed({f"p/{i}/f": 10 for i in range(9)})
    assert [d.name for d in Sampled(corpus, seed=7, bytes_per_project=30)] == [
        "p/2/f",
        "p/3/f",
        "p/8/f",
    ]


def test_spans_are_cut_with_the_text(grow):
    """A section that begins after the cut is gone, one that spans it ends there."""
    root = grow({"a.md": "# A\nü\n# B\nb\n# C\n"})
    (document,) = Sampled(MarkdownTree(root), characters=8)
    assert document.text == "# A\nü\n# "
    assert [(s.start, s.end) for s in document.spans] == [(0, 6), (6, 8)]


def test_sampling_a_tree_keeps_its_reasons(grow):
    """Files that the tree leaves out keep their own reason."""
    root = grow({"a/x.py": "x\n", "b/y.py": "y\n", "c.csv": "c\n"})
    sample = Sampled(CodeTree(root), bytes_per_project=1)
    reasons = Counter(d.reason for d in sample.decisions())
    assert reasons == {"": 1, "not in the sample of seed 0": 1, "data, not source (.csv)": 1}


def test_limits_must_leave_something():
    """A limit of zero is refused."""
    with pytest.raises(CorpusError, match="at least 1, found: 0"):
        Sampled(Listed({}), files_per_directory=0)
