"""What a result was made with: told truly, whether from a checkout, a foreign one or a wheel."""

import platform
import subprocess
from importlib.metadata import version

import pytest

import vicinal
from vicinal.cli import versions as module
from vicinal.cli.versions import commit, versions


def git(folder, *arguments):
    identity = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    """Commit a package whose cli holds a versions.py, as ours does."""
    folder = tmp_path / "src" / "package" / "cli"
    folder.mkdir(parents=True)
    (folder / "versions.py").write_text("")
    (folder.parent / "model.py").write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    return folder


def test_versions_are_those_installed():
    """Python, vicinal and its libraries are named with the versions that run."""
    told = versions()
    assert (told["vicinal"], told["python"]) == (vicinal.__version__, platform.python_version())
    assert told["torch"] == version("torch")


def test_a_library_that_is_not_there_has_no_version(monkeypatch):
    """What is not installed is named all the same, with None."""
    monkeypatch.setattr(module, "LIBRARIES", ("numpy", "no-such-library"))
    told = versions()
    assert (told["numpy"], told["no-such-library"]) == (version("numpy"), None)


def test_the_commit_is_the_one_checked_out(checkout):
    """Of a clean checkout the bare commit, of a changed one the commit with a plus."""
    head = git(checkout, "rev-parse", "HEAD")
    assert commit(checkout) == head
    (checkout.parent / "model.py").write_text("changed = True\n")
    assert commit(checkout) == head + "+"


def test_changes_outside_of_the_package_do_not_count(checkout):
    """An edited README makes no result doubtful."""
    readme = checkout.parent.parent / "README"
    readme.write_text("one")
    git(checkout, "add", str(readme))
    git(checkout, "commit", "--quiet", "--message", "Say what it is")
    readme.write_text("two")
    assert commit(checkout) == git(checkout, "rev-parse", "HEAD")


def test_a_checkout_of_something_else_is_not_taken_for_ours(checkout):
    """A package that lies below a checkout but is not in it has no commit."""
    git(checkout, "rm", "--quiet", "--cached", "versions.py")
    git(checkout, "commit", "--quiet", "--message", "Forget")
    assert commit(checkout) is None


def test_outside_of_any_checkout_there_is_no_commit(tmp_path, monkeypatch):
    """An installed wheel has a version and no commit; so has a machine without git."""
    assert commit(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert commit(tmp_path) is None
