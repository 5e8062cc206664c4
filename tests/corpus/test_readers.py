import pytest

from vicinal.corpus import READERS, AbstractCorpus, CodeTree, Joined, read
from vicinal.corpus.readers import distinct_names
from vicinal.errors import CorpusError


@pytest.fixture
def twins(grow):
    """Make two roots of the same name, and a third."""
    return [grow({"x.py": f"{name}\n"}, name=name) for name in ("a/src", "b/src", "lib")]


def test_every_reader_is_a_corpus():
    """Each name stands for a corpus that takes a path and a prefix."""
    assert list(READERS) == ["code", "jsonl", "markdown", "wikitext"]
    for make in READERS.values():
        assert issubclass(make, AbstractCorpus)
        assert make("anything", name_prefix="p").name_prefix == "p"


def test_one_path_keeps_its_names(twins):
    """A single path is the reader's own corpus, with the options it was given."""
    corpus = read("code", twins[:1], {"max_bytes": 7})
    assert corpus == CodeTree(twins[0], max_bytes=7)
    assert [d.name for d in corpus] == ["src/x.py"]


def test_roots_of_the_same_name_are_kept_apart(twins):
    """Names, projects and directories of two roots differ; documents come in the order asked."""
    corpus = read("code", twins[::-1])
    assert isinstance(corpus, Joined)
    documents = list(corpus)
    assert [d.name for d in documents] == ["lib/x.py", "b/src/x.py", "a/src/x.py"]
    assert [d.spans[0].attributes["project"] for d in documents] == [
        *(("lib",), ("b/src",), ("a/src",))
    ]
    assert [d.path for d in corpus.decisions()] == [d.path for d in documents]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["/x/a/src", "/x/b/src"], ["a/src", "b/src"]),
        (["/x/a/src/main", "/x/b/src/main", "/y/main"], ["a/src/main", "b/src/main", "y/main"]),
        (["/x/one", "/x/two"], ["one", "two"]),
        (["/src", "/x/src"], ["src", "x/src"]),
    ],
)
def test_names_are_as_long_as_they_must_be(paths, names):
    """Only paths whose ends are the same take more of their parts."""
    assert distinct_names(paths) == names


def test_paths_that_overlap_are_refused(twins):
    """One folder in another would be read twice."""
    with pytest.raises(CorpusError, match=r"do not overlap, found: '.*src' and '.*a'\. Leave out"):
        read("code", [twins[0], twins[0].parent])
    with pytest.raises(CorpusError, match="do not overlap"):
        read("code", [twins[0], twins[0]])


def test_an_unknown_reader_and_option_are_answered_with_the_known(twins):
    """The message lists what there is."""
    with pytest.raises(
        CorpusError, match=r"reader: 'java'\. Use one of: code, jsonl, markdown, wi"
    ):
        read("java", twins)
    with pytest.raises(
        CorpusError, match=r"reader 'code': 'projects'\. Use one of: comments, excl"
    ):
        read("code", twins, {"projects": True})
    with pytest.raises(CorpusError, match="found none"):
        read("code", [])
