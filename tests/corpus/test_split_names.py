"""Which file holds which split, by the names that such corpora have been published under."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vicinal.corpus.split_names import choose, is_other_form, split_of

ALL = ["train", "valid", "test"]
PUBLISHED = [
    "java_training_pre",
    "java_training_huge_pre",
    "java_validation_pre",
    "java_test_pre",
    "java_training_huge_pre_enc_bpe_2000",
    "java_test_pre_enc_bpe_10000",
    "java_test_slp_pre_sub",
    "id_map_java_test_slp_pre_bpe_10000",
    "testProjects",
    "README",
]
SPLITS = {
    "java_training_huge_pre": "train",
    "java/java_validation_slp_pre": "valid",
    "Java-Test-Pre.tar.gz": "test",
    "valid.txt": "valid",
    "train_and_test.zip": "",
    "java_test_pre_enc_bpe_2000": "",
    "testProjects": "",
    "java_test_pre.original_path": "",
    "java_test_pre.md5": "",
    "LICENSE": "",
    "test/README": "",
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_name_says_its_split(name):
    """A name that has exactly one of the three words is of that split, if it is the text itself."""
    assert split_of(name) == SPLITS[name]


@pytest.mark.parametrize(("huge", "train"), [(True, "huge_pre"), (False, "pre")])
def test_of_what_was_published_the_text_is_taken(huge, train):
    """Of all files the three of the text are taken, the training set as large as was asked."""
    assert choose(PUBLISHED, ALL, huge=huge) == {
        "train": f"java_training_{train}",
        "valid": "java_validation_pre",
        "test": "java_test_pre",
    }


def test_without_a_huge_one_the_other_is_taken_but_not_the_reverse():
    """The huge training set is preferred; who wants the small one does not want the huge one."""
    assert choose(["a_train"], ["train"], huge=True) == {"train": "a_train"}
    assert choose(["a_train_huge"], ["train"], huge=False) == {}


def test_only_the_splits_that_are_asked_for_are_given():
    """A split that was not asked for, or has no file, is not in the answer."""
    assert choose(PUBLISHED, ["test"], huge=True) == {"test": "java_test_pre"}
    assert choose(["java_test_pre", "b_valid_bpe"], ALL, huge=True) == {"test": "java_test_pre"}


def test_other_forms_are_told():
    """Subwords, maps and lists are other forms; the text and its archive are not."""
    assert is_other_form("java_bpe_2000.zip")
    assert not is_other_form("java.zip")


@given(st.permutations(PUBLISHED))
def test_the_order_of_the_list_does_not_matter(names):
    """Whatever order a server lists its files in, the choice is the same."""
    assert choose(names, ALL, huge=True) == choose(PUBLISHED, ALL, huge=True)
