"""What holds for every command: exit codes, one line per error, the version."""

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import vicinal as package
from vicinal.cli.app import Commands
from vicinal.errors import CorpusError


def failing(error: BaseException) -> typer.Typer:
    """Make a command line whose only real command raises *error*."""
    app = typer.Typer(cls=Commands, pretty_exceptions_enable=False, rich_markup_mode=None)

    def fail() -> None:
        raise error

    app.command("fail")(fail)
    app.command("other")(lambda: None)
    return app


def test_version(vicinal):
    """``--version`` prints the version on stdout."""
    outcome = vicinal("--version")
    assert (outcome.code, outcome.out) == (0, f"vicinal {package.__version__}\n")


@pytest.mark.parametrize("arguments", [["nonsense"], ["index"], ["store", "info", "--nonsense"]])
def test_misuse_exits_with_2(vicinal, arguments):
    """An unknown command, a missing argument and an unknown option are misuse."""
    outcome = vicinal(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Try 'vicinal" in outcome.err


def test_our_errors_are_one_line_and_exit_with_1():
    """An error raised on purpose is said in one line on stderr, however it was written."""
    result = CliRunner().invoke(failing(CorpusError("Expected a file,\n  found a pipe.")), ["fail"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "error: Expected a file, found a pipe.\n"


@pytest.mark.parametrize(("said", "line"), [("", "Interrupted.\n"), ("Kept 3.", "Kept 3.\n")])
def test_an_interruption_exits_with_130(said, line):
    """Ctrl-C ends a command with one line: its own, if it has something to say."""
    result = CliRunner().invoke(failing(KeyboardInterrupt(said)), ["fail"])
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", line)


def test_faults_of_ours_are_not_hidden():
    """An exception no one raised on purpose is not made to look like an error of the user's."""
    result = CliRunner().invoke(failing(ZeroDivisionError("a fault")), ["fail"])
    assert isinstance(result.exception, ZeroDivisionError)


def test_the_process_itself_speaks_on_the_right_streams(tmp_path):
    """As a process, too, an error is one line on stderr, and nothing is on stdout."""
    code = "from vicinal.cli import main; main()"
    command = [sys.executable, "-c", code, "store", "info", "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
