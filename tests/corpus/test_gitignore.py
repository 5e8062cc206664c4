import os
import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vicinal.corpus.gitignore import IgnoreRules, walk

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is the oracle here")

NAMES = st.sampled_from(["a", "b", "ab", "a b", "ba", "é", ".a", "a.txt", "-", "A", "[a]"])
SPECIAL = ["*", "**", "***", "?", "/", "/**/", "/a", "\\", "\\*", " ", "\\ ", "!", "#", "-"]
SETS = ["[ab]", "[!a]", "[^b", "[a-b]", "[b-a]", "[]-a]", "[\\a-b]", "[[:alpha:]]", "[[:x:]]"]
PIECES = st.sampled_from(["a", "b", "é", ".txt", *SPECIAL, *SETS])
LINES = st.builds(
    "{}{}{}\n".format,
    st.sampled_from(["", "", "", "!", "/", "!/", "**/"]),
    st.lists(PIECES, max_size=4).map("".join),
    st.sampled_from(["", "", "/", "/**", "/*", " ", "\r", "**", "**/b"]),
)
IGNORE_FILES = st.lists(LINES, max_size=4).map("".join)
# A file is None, a folder maps names to what is in it.
TREES = st.none()
for _ in range(4):
    TREES = st.dictionaries(NAMES, st.one_of(st.none(), TREES), max_size=5)


def plant(folder, tree, ignores):
    """Write the tree; every folder takes the next ignore file."""
    folder.mkdir(exist_ok=True)
    if ignores:
        (folder / ".gitignore").write_bytes(ignores.pop().encode())
    for name, below in tree.items():
        if below is None:
            (folder / name).touch()
        else:
            plant(folder / name, below, ignores)


def listed_by_git(root):
    command = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
    listing = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    return sorted(filter(None, listing.split(b"\0")))


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """One repository for all examples; each clears it first."""
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", "--template=", root], check=True)
    return root


def replant(root, tree, ignores):
    for path in root.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    plant(root, tree, list(ignores))


@settings(max_examples=200)
@given(TREES, st.lists(IGNORE_FILES, min_size=1, max_size=6))
@example({"a": {"b": {"x.txt": None}}}, ["!b\n", "*.txt\n"])
@example({"a": {"ab": None, "b": None}}, ["a/a**/b\n"])
@example({"a": {"b": None, "ab": None}}, ["a/*\n!a/b/\n!a/a*\n"])
def test_the_walk_lists_what_git_lists(repository, tree, ignores):
    """On generated trees with nested ignore files, walking equals ``git ls-files``."""
    replant(repository, tree, ignores)
    assert sorted(walk(repository)) == listed_by_git(repository)


@settings(max_examples=30)
@given(TREES, st.lists(IGNORE_FILES, min_size=2, max_size=6))
def test_a_walk_from_inside_obeys_the_rules_above(repository, tree, ignores):
    """Below the top of a work tree, the ignore files above the folder count too."""
    replant(repository, {"a": {"b": tree}}, ignores)
    inside = repository / "a" / "b"
    if listed_by_git(repository / "a") and listed_by_git(inside):
        assert sorted(walk(inside)) == listed_by_git(inside)


def test_links_and_their_targets(grow):
    """Links are listed, not entered, even where they turn in circles."""
    root = grow({"a/x.py": "x", "out/y.py": "y", ".gitignore": "out/\n"}, git=True)
    (root / "a" / "loop").symlink_to(root)
    (root / "b").symlink_to("b")
    (root / "out2").symlink_to(root / "out")
    assert sorted(walk(root)) == listed_by_git(root)
    assert b"a/loop" in walk(root)


def test_names_that_are_hard_to_write(grow):
    """Spaces, quotes, newlines, bytes that are not UTF-8 and 40 levels come out as git has them."""
    deep = "/".join("d" * 40)
    root = grow({"a b.py": "", "ü\n\t.py": "", '"q".py': "", f"{deep}/x": ""}, git=True)
    (root / os.fsdecode(b"caf\xe9.py")).touch()
    assert sorted(walk(root)) == listed_by_git(root)
    assert b"caf\xe9.py" in walk(root)


def test_the_repository_s_own_exclude_file_counts(grow):
    """``.git/info/exclude`` is obeyed, after every ``.gitignore``."""
    root = grow({"a.log": "", "b.log": "", "c.tmp": "", ".gitignore": "!b.log\n"}, git=True)
    (root / ".git" / "info").mkdir(exist_ok=True)
    (root / ".git" / "info" / "exclude").write_text("*.log\n")
    assert sorted(walk(root)) == listed_by_git(root) == [b".gitignore", b"b.log", b"c.tmp"]


def test_a_link_or_a_folder_is_no_ignore_file(grow):
    """A ``.gitignore`` that is a link, a folder or a pipe is passed over, without waiting."""
    root = grow({"a/.gitignore/x": "", "b/rules": "*\n", "b/y": "", "c/z": ""}, git=True)
    (root / "b" / ".gitignore").symlink_to("rules")
    os.mkfifo(root / "c" / ".gitignore")
    assert {b"a/.gitignore/x", b"b/y", b"c/z"} <= set(walk(root))


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        ("*.py", b"a/b.py", True),
        ("gen/", b"a/gen/b.py", True),
        ("/gen/", b"a/gen/b.py", False),
        ("a/**/b.py", b"a/x/y/b.py", True),
        ("a/*/b.py", b"a/x/y/b.py", False),
    ],
)
def test_rules_cover_files_below_what_they_match(pattern, path, covered):
    """A pattern that matches a folder covers the files inside it."""
    assert IgnoreRules.from_bytes(pattern.encode()).covers(path) is covered
