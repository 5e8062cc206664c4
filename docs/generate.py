"""
Write docs/commands/: one page per command, made from the command line's own help.

    python docs/generate.py            write the pages
    python docs/generate.py --check    exit 1 if they are not what would be written
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import typer

from vicinal.cli import app

FOLDER = Path(__file__).parent / "commands"
NOTICE = "<!-- Written by docs/generate.py; change the help in src/vicinal/cli/ instead. -->"


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk all commands that can be run, each with its words after ``vicinal``."""
    yield from below((), typer.main.get_command(app))


def below(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk the commands of a group, or give the command itself."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name in sorted(command.commands):
        yield from below((*path, name), command.commands[name])


def pages() -> dict[str, str]:
    """Make all pages: file name to text. The commands of a group share a page."""
    sections: dict[str, list[str]] = {}
    for path, command in commands():
        sections.setdefault(path[0], []).append(section(path, command))
    made = {f"{name}.md": f"{NOTICE}\n\n" + "\n".join(parts) for name, parts in sections.items()}
    links = "".join(f"- [vicinal {name}]({name}.md)\n" for name in sorted(sections))
    return made | {"README.md": f"{NOTICE}\n\n# Commands\n\n{links}"}


def section(path: tuple[str, ...], command: Any) -> str:
    """Write what there is to know of one command."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    words = ["vicinal", *path, *(["[OPTIONS]"] if options else []), *map(named, arguments)]
    lines = [
        f"# vicinal {' '.join(path)}",
        "",
        prose(command.help),
        "",
        "```",
        " ".join(words),
        "```",
        "",
    ]
    for parameter in arguments + options:
        lines.append(f"- `{named(parameter)}`: {parameter.help}{default(parameter)}")
    return "\n".join(lines) + "\n"


def prose(text: str) -> str:
    """Set the paragraphs that click must not wrap, marked by a backspace, as code."""
    paragraphs = dedent(text).replace("\b\n", "\b").strip().split("\n\n")
    return "\n\n".join(f"```\n{p[1:]}\n```" if p.startswith("\b") else p for p in paragraphs)


def named(parameter: Any) -> str:
    """Write an argument or option as one types it."""
    if parameter.param_type_name == "argument":
        return (
            f"{parameter.metavar or parameter.name.upper()}{'...' if parameter.nargs < 0 else ''}"
        )
    words = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return words if parameter.is_flag else f"{words} {parameter.metavar or kind(parameter)}"


def kind(parameter: Any) -> str:
    """Write the type of an option's value."""
    choices = getattr(parameter.type, "choices", None)
    return "|".join(map(str, choices)) if choices else str(parameter.type.name).upper()


def default(parameter: Any) -> str:
    """Say what holds where the option is not given."""
    if parameter.required and parameter.param_type_name == "option":
        return " Required."
    if parameter.default in (None, False, ()) or callable(parameter.default) or parameter.required:
        return ""
    return f" Default: `{parameter.default}`."


def main() -> None:
    """Write the pages, or compare."""
    made = pages()
    found = {p.name: p.read_text("utf-8") for p in FOLDER.glob("*.md")}
    if "--check" in sys.argv:
        if made != found:
            sys.exit("docs/commands/ is not up to date. Run: make docs")
        return
    FOLDER.mkdir(exist_ok=True)
    for name in found.keys() - made.keys():
        (FOLDER / name).unlink()
    for name, text in made.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
