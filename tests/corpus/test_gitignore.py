import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vicinal.corpus.gitignore import walk

NAMES = st.sampled_from(["a", "b", "ab", "a b", "ba", "é", ".a", "a.txt", "-", "A", "[a]"])
PIECES = st.sampled_from(
    ["a", "b", "*", "**", "?", "/", "/**/", "[ab]", "[!a]", "[^b", "[a-b]", "[]-a]", "[[:alpha:]]"]
    + [
        "[[:x:]]",
        "\\",
        "\\*",
        " ",
        "\\ ",
        "é",
        ".txt",
        "!",
        "#",
        "***",
        "[\\a-b]",
        "[b-a]",
        "/a",
        "-",
    ]
)
LINES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "", "!", "/", "!/", "**/"]),
    st.lists(PIECES, max_size=4).map("".join),
    st.sampled_from(["", "", "/", "/**", "/*", " ", "\r", "**", "**/b"]),
    st.just("\n"),
)
IGNORE_FILES = st.lists(LINES, max_size=4).map("".join)


def trees(depth=3):
    folder = st.dictionaries(NAMES, st.none(), max_size=5)
    for _ in range(depth):
        folder = st.dictionaries(NAMES, st.one_of(st.none(), folder), max_size=5)
    return folder


def grow(folder, tree, ignores):
    """Write the tree, and take the next ignore file for every folder."""
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_bytes(ignores.pop().encode() if ignores else b"")
    for name, below in tree.items():
        if below is None:
            (folder / name).touch()
        else:
            grow(folder / name, below, ignores)


def listed_by_git(root):
    command = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    out = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    return sorted(filter(None, out.split(b"\0")))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """One repository for all examples; each clears it first."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", "--template=", root], check=True)
    return root


def clear(root):
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@settings(max_examples=150, deadline=None)
@given(trees(), st.lists(IGNORE_FILES, min_size=1, max_size=6))
@example({"a": {"b": {"x.txt": None}}}, ["!b\n", "*.txt\n"])
@example({"a": {"ab": None, "b": None}}, ["a/a**/b\n"])
def test_the_walk_lists_what_git_lists(repository, tree, ignores):
    """On generated trees with nested ignore files, walking equals ``git ls-files``."""
    clear(repository)
    grow(repository, tree, list(ignores))
    assert sorted(walk(repository)) == listed_by_git(repository)
