"""
Which files are source that a person wrote, and why the others are left out.

Knows file names and contents, nothing of git, projects or attributes. A reason is a short phrase
for ``--dry-run``; an empty one means that the file is read.
"""

import os
import re
import stat
from dataclasses import dataclass
from functools import cache
from pathlib import PurePath

from pygments.lexers import find_lexer_class_for_filename, get_all_lexers

from vicinal.corpus.name_patterns import named_like
from vicinal.corpus.secrets import secret_in_name, secret_in_text

MAX_BYTES = 1_000_000
SMALL_BYTES = 20_000  # what a format that holds settings or data may weigh to count as source
LONG_LINE = 500  # characters
HEAD = 2_000  # characters in which a file says that a program wrote it

# Pygments' names for prose, whose full tokens are what white space separates.
PROSE = frozenset({"text", "markdown", "restructuredtext", "tid", "trac-wiki", "output"})
PROSE_NAMES = named_like("*.adoc *.asciidoc *.markdown *.md *.org *.rst *.txt")
DATA_NAMES = named_like(
    "*.csv *.tsv *.jsonl *.ndjson *.geojson *.log *.svg *.ipynb *.map *.po *.pot *.eps *.ps *.snap "
    "*.diff *.patch *.dat *.srt *.vtt *.bib *.ics *.vcf go.sum *.obj *.stl *.fasta *.arff *.rtf "
    "*.eml *.mbox *.pdf"
)
SETTINGS_NAMES = named_like(
    "*.json *.json5 *.jsonc *.xml *.yaml *.yml *.plist *.xsd *.wsdl *.xmi *.resx *.xib *.storyboard"
)
GENERATED_NAMES = named_like(
    "*.lock *-lock.json *-lock.yaml npm-shrinkwrap.json *.min.js *.min.css *.bundle.js "
    "*.bundle.css *_pb2.py *_pb2.pyi *_pb2_grpc.py *_pb.js *.pb.go *.pb.cc *.pb.h *.g.dart "
    "*.freezed.dart *.g.cs *.designer.cs *.generated.* *_generated.* moc_*.cpp ui_*.h parsetab.py"
)
# Of the whole file, that is: form editors say it of single methods.
DO_NOT = (
    r"(?:do\s+not|don't)\s+(?:edit|modify|change|hand[- ]edit)\b"
    r"(?!\s*(?://\s*GEN-|this\s+(?:code|method|section|block|region)))"
)
GENERATED_TEXT = re.compile(
    rf"@generated\b|<auto-?generated"
    rf"|\bgenerated\b[^\0]{{0,200}}\b{DO_NOT}|\b{DO_NOT}[^\0]{{0,200}}\bgenerated\b"
    r"|^\W*(?:this|the)\s+(?:file|code|class|module|source|document)\b[^.\n]{0,30}"
    r"\b(?:is|was|has been|were)\s+(?:\w+[- ])?(?:auto-?)?generated\b"
    r"|^\W*(?:(?:file|code|class|module)\s+)?(?:auto-?|automatically\s+)?generated\s+"
    r"(?:automatically\s+)?(?:by|from)\b",
    re.IGNORECASE | re.MULTILINE,
)
CONTROL = bytes({*range(32), 127} - set(b"\t\n\r\f\x1b"))


@dataclass(frozen=True)
class Judgment:
    """The text of a file that is read, or the reason why it is not."""

    text: str = ""
    reason: str = ""


def judge(path: str, *, max_bytes: int = MAX_BYTES, forced: bool = False) -> Judgment:
    """
    Read a file, or say why it is left out.

    A *forced* file is read although it is data, generated or minified; never one that is no text,
    too large, or looks like a secret.
    """
    name = os.path.basename(path)
    reason = secret_in_name(name) or ("" if forced else machine_made(name))
    if reason:
        return Judgment(reason=reason)
    content = read_bytes(path, max_bytes)
    if isinstance(content, str):
        return Judgment(reason=content)
    reason = "" if forced else settings_too_large(name, len(content))
    text = decode(content)
    if text is None:
        return Judgment(reason=reason or "binary, or text neither in UTF-8 nor mostly ASCII")
    reason = reason or text_fault(name, text, forced=forced)
    return Judgment(reason=reason) if reason else Judgment(text=text)


def text_fault(name: str, text: str, *, forced: bool) -> str:
    """Say what is wrong with a text that could be read."""
    if not text.strip():
        return "empty"
    if not forced and not is_prose(name) and is_minified(text):
        return f"minified: most of it stands in lines of over {LONG_LINE} characters"
    if not forced and (mark := generated_mark(text)):
        return f"generated: it says {mark!r}"
    return secret_in_text(text)


def generated_mark(text: str) -> str:
    """Quote where a file says that a program wrote it."""
    head = text[:HEAD]
    mark = GENERATED_TEXT.search(head) if "generated" in head.lower() else None
    return " ".join(mark[0].split())[:60] if mark else ""


def machine_made(name: str) -> str:
    """Say by its name alone that a file is data or was written by a program."""
    if GENERATED_NAMES.match(name.lower()):
        return "generated, by its name"
    if DATA_NAMES.match(name.lower()):
        return f"data, not source ({PurePath(name).suffix})"
    return ""


def settings_too_large(name: str, size: int) -> str:
    """Say that a file of a format for settings and data is too large to be settings."""
    if size <= SMALL_BYTES or not SETTINGS_NAMES.match(name.lower()):
        return ""
    return f"data, not source ({size} bytes; settings are read up to {SMALL_BYTES})"


def read_bytes(path: str, max_bytes: int) -> bytes | str:
    """Read a regular file of at most *max_bytes*, never through a link; otherwise say why not."""
    try:
        found = os.lstat(path)
        reason = kind_fault(found.st_mode) or size_fault(found.st_size, max_bytes)
        if reason:
            return reason
        # The file may have become a link or a pipe since: neither is followed or waited for.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        with open(os.open(path, flags), "rb") as file:
            content = file.read(max_bytes + 1)
    except FileNotFoundError:
        return "deleted, though git still lists it"
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return size_fault(len(content), max_bytes) or content


def kind_fault(mode: int) -> str:
    """Say that something is no regular file."""
    if stat.S_ISLNK(mode):
        return "symbolic link: its target is read where it lies, if it lies in the tree"
    if stat.S_ISDIR(mode):
        return "folder of another repository that is not checked out"
    return "" if stat.S_ISREG(mode) else "not a regular file (pipe, socket or device)"


def size_fault(size: int, max_bytes: int) -> str:
    """Say that a file is too large."""
    return f"huge: over {max_bytes} bytes" if size > max_bytes else ""


def decode(content: bytes) -> str | None:
    r"""
    Decode UTF-8, with or without byte order mark, and keep ``\r\n`` as it is.

    What is not UTF-8 and yet mostly ASCII (an umlaut in a comment) is read as Windows-1252.
    """
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        high = len(content.translate(None, bytes(range(128))))
        if high * 10 > len(content) or len(content.translate(None, CONTROL)) < len(content):
            return None
        return content.decode("cp1252", "replace")


def is_minified(text: str) -> bool:
    """Say whether more than half of the text stands in very long lines."""
    return 2 * sum(len(x) for x in text.splitlines() if len(x) > LONG_LINE) > len(text)


def is_prose(name: str) -> bool:
    """Say whether a file is written for people, by its name (``CMakeLists.txt`` is not)."""
    return PROSE_NAMES.match(name.lower()) is not None and name not in whole_names()


def language_of(name: str) -> str:
    """Name the language of a file as Pygments does, or give nothing for prose and the unknown."""
    suffix = PurePath(name).suffix
    is_whole = not suffix or name in whole_names()
    return "" if is_prose(name) else alias_of(name if is_whole else f"_{suffix}")


@cache
def alias_of(name: str) -> str:
    """Ask Pygments once for each suffix: it tries hundreds of patterns."""
    lexer = find_lexer_class_for_filename(name)
    alias = str(lexer.aliases[0]) if lexer and lexer.aliases else ""
    return "" if alias in PROSE else alias


@cache
def whole_names() -> frozenset[str]:
    """List the file names that Pygments knows in full (``CMakeLists.txt``)."""
    patterns = (pattern for _, _, patterns, _ in get_all_lexers() for pattern in patterns)
    return frozenset(p for p in patterns if not set(p) & set("*?["))
