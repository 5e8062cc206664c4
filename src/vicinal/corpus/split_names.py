"""
Which file holds which split, told by its name, where a publication has many files and no plan.

Knows how the pre-processed corpora of Karampatsis et al. (2020) are named: ``java_test_pre``,
``java_validation_pre``, ``java_training_huge_pre``, and the same texts again in other forms.
"""

import re
from collections.abc import Iterable, Sequence

from vicinal.corpus.archives import stem
from vicinal.corpus.source import SPLITS

# The same text cut into subwords, maps of its identifiers, lists of its projects, checksums.
_OTHER_FORM = re.compile(r"bpe|_sub$|id_map|project|path|vocab|\.md5|\.sha\d")


def choose(names: Iterable[str], splits: Sequence[str], *, huge: bool) -> dict[str, str]:
    """
    Take for each split the one file that is named after it; splits without one are left out.

    Of several training sets the one called *huge* is taken, or one that is not.

    >>> choose(["a_training_pre", "a_training_huge_pre", "a_test_pre_enc_bpe_2000"],
    ...        ["train", "test"], huge=True)
    {'train': 'a_training_huge_pre'}
    """
    names = sorted(names)
    found = {split: [name for name in names if split_of(name) == split] for split in splits}
    if not huge:
        found = {split: [n for n in kept if "huge" not in stem(n)] for split, kept in found.items()}
    return {split: min(kept, key=_rank) for split, kept in found.items() if kept}


def split_of(name: str) -> str:
    """Tell a file's split by its name; the empty string is none."""
    text = stem(name).lower()
    said = [split for split in SPLITS if split in text]
    return said[0] if len(said) == 1 and not _OTHER_FORM.search(text) else ""


def is_other_form(name: str) -> bool:
    """Say whether a file holds something else than the text itself."""
    return bool(_OTHER_FORM.search(stem(name).lower()))


def _rank(name: str) -> tuple[bool, bool, int, str]:
    text = stem(name).lower()
    return "huge" not in text, not text.endswith("_pre"), len(text), name
