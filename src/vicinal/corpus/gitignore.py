"""
What git would ignore, decided without git: ``.gitignore`` files, their patterns, and the walk.

Knows nothing of source code. Paths are bytes, as they are to git (``?`` matches one byte of ``é``).
A library's prefix match will not do here: ``!b`` must not take back ``b/x.txt`` from ``*.txt``,
because each entry is matched alone, on the way down, and an ignored folder is never entered.
"""

import os
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

NEVER = rb"(?!)"  # what git calls malformed matches nothing
POSIX_CLASSES = {
    b"alnum": string.ascii_letters + string.digits,
    b"alpha": string.ascii_letters,
    b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])),
    b"digit": string.digits,
    b"graph": "".join(map(chr, range(33, 127))),
    b"lower": string.ascii_lowercase,
    b"print": "".join(map(chr, range(32, 127))),
    b"punct": string.punctuation,
    b"space": string.whitespace,
    b"upper": string.ascii_uppercase,
    b"xdigit": string.hexdigits,
}
# One item of a pattern: stars, a question mark, a bracket, an escape, or plain text.
ITEM = re.compile(rb"(?P<stars>\*+)|(?P<one>\?)|(?P<set>\[)|\\(?P<escaped>.)|(?P<plain>.)", re.S)
# One item of a bracket expression: a class by name, a range, or one byte.
SET_ITEM = re.compile(
    rb"\[:(?P<name>[^\]]*):\]|(?P<low>\\.|[^\\])-(?P<high>\\.|[^\\\]])|(?P<one>\\.|[^\\])", re.S
)


@dataclass(frozen=True)
class Pattern:
    """One line of a ``.gitignore``: what it matches, and whether that is ignored or taken back."""

    regex: re.Pattern[bytes]
    negative: bool
    directories_only: bool
    whole_path: bool

    @classmethod
    def from_line(cls, line: bytes) -> "Pattern":
        """Read one line, comments and empty lines taken out before."""
        negative = line.startswith(b"!")
        body = line.removeprefix(b"!")
        directories_only = body.endswith(b"/")
        body = body.removesuffix(b"/")
        whole_path = b"/" in body
        regex = re.compile(translate(body.removeprefix(b"/")), re.DOTALL)
        return cls(regex, negative, directories_only, whole_path)

    def matches(self, path: bytes, *, is_directory: bool) -> bool:
        """Match one entry alone, never what lies inside it."""
        if self.directories_only and not is_directory:
            return False
        subject = path if self.whole_path else path.rpartition(b"/")[2]
        return self.regex.fullmatch(subject) is not None


@dataclass(frozen=True)
class IgnoreRules:
    """The patterns of one file, which speak of what lies below *base* (``b"a/b/"``)."""

    patterns: tuple[Pattern, ...]
    base: bytes = b""

    @classmethod
    def from_bytes(cls, content: bytes, base: bytes = b"") -> "IgnoreRules":
        """Read the lines of a ``.gitignore``."""
        lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        kept = [trimmed(x) for x in lines if x and not x.startswith(b"#")]
        return cls(tuple(Pattern.from_line(x) for x in kept if x.strip(b"!/")), base)

    @classmethod
    def from_file(cls, path: bytes, base: bytes = b"") -> "IgnoreRules":
        """Read a ``.gitignore``; a missing one, or a link to one, has no patterns."""
        try:
            with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW), "rb") as file:
                return cls.from_bytes(file.read(), base)
        except OSError:  # not there, a link, a folder, not ours to read: git goes on without it
            return cls((), base)

    def verdict(self, path: bytes, *, is_directory: bool) -> bool | None:
        """Say whether *path* is ignored; None if no pattern speaks of it. The last one wins."""
        subject = path.removeprefix(self.base)
        for pattern in reversed(self.patterns):
            if pattern.matches(subject, is_directory=is_directory):
                return not pattern.negative
        return None

    def covers(self, path: bytes) -> bool:
        """Say whether the file *path*, or a folder that holds it, is matched."""
        cuts = [i for i, byte in enumerate(path) if byte == ord("/")]
        folders = (self.verdict(path[:cut], is_directory=True) for cut in cuts)
        return any(folders) or bool(self.verdict(path, is_directory=False))


def walk(
    root: Path, prune: Callable[[bytes], bool] = lambda _: False, *, obey: bool = True
) -> Iterator[bytes]:
    """
    List every file below *root* that git would not ignore, as paths relative to it, unordered.

    A folder for which *prune* (given its path) is true, or which may not be read, is listed itself
    with a trailing slash. Links are listed and never followed; ``.git`` is passed over. Without
    *obey*, no ignore file counts.
    """
    top, above = rules_above(root)
    prefix = below(root, top)
    pending = [(b"", above)]
    while pending:
        base, outer = pending.pop()
        absolute, inside = os.path.join(os.fsencode(root), base), prefix + base
        own = IgnoreRules.from_file(os.path.join(absolute, b".gitignore"), inside)
        rules = (own, *outer)
        found = entries(absolute)
        if found is None:
            yield base or b"./"
        for name, is_directory in found or ():
            path = base + name
            if name == b".git" or (obey and ignored(rules, inside + name, is_directory)):
                continue
            if not is_directory:
                yield path
            elif prune(path):
                yield path + b"/"
            else:
                pending.append((path + b"/", rules))


def entries(folder: bytes) -> list[tuple[bytes, bool]] | None:
    """List the names in a folder and whether each is a folder; None if it may not be read."""
    try:
        with os.scandir(folder) as found:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    except OSError:
        return None


def ignored(rules: tuple[IgnoreRules, ...], path: bytes, is_directory: bool) -> bool:
    """Ask the rules from the nearest to the farthest; the first that speaks decides."""
    verdicts = (r.verdict(path, is_directory=is_directory) for r in rules if r.patterns)
    return next((v for v in verdicts if v is not None), False)


def rules_above(root: Path) -> tuple[Path, tuple[IgnoreRules, ...]]:
    """Find the work tree *root* lies in, if any, and the rules that stand above *root* in it."""
    top = next((p for p in (root, *root.parents) if os.path.lexists(p / ".git")), root)
    rules = [IgnoreRules.from_file(os.fsencode(top / ".git" / "info" / "exclude"))]
    for folder in reversed(root.parents):
        if folder.is_relative_to(top):
            path = os.fsencode(folder / ".gitignore")
            rules.insert(0, IgnoreRules.from_file(path, below(folder, top)))
    return top, tuple(rules)


def below(folder: Path, top: Path) -> bytes:
    """Give the path from *top* to *folder* as a prefix: ``b"a/b/"``, or nothing if they are one."""
    return b"" if folder == top else os.fsencode(folder.relative_to(top).as_posix()) + b"/"


def trimmed(line: bytes) -> bytes:
    r"""Take off the line end's ``\r`` and trailing spaces, but not an escaped space."""
    line = line.removesuffix(b"\r")
    found = re.fullmatch(rb"((?:\\.|[^\\ ]| +(?=[^ ]))*) *(\\?)", line, re.S)
    return line if found is None or found[2] else found[1]


def translate(pattern: bytes) -> bytes:
    r"""
    Turn a pattern into a regular expression that matches what git's own matcher does.

    Git compares the text before the first special byte by itself and hands on the rest; therefore
    the stars of ``a**/b`` stand at a beginning too, and it matches ``ab``.
    """
    length = len(re.match(rb"[^*?\[\\]*", pattern)[0])  # type: ignore[index]
    parts, rest = [re.escape(pattern[:length])], pattern[length:]
    at = 0
    while at < len(rest):
        item = ITEM.match(rest, at)
        if item is None:  # a lone backslash at the end
            return NEVER
        part, at = translate_item(rest, item)
        parts.append(part)
    return b"".join(parts)


def translate_item(rest: bytes, item: re.Match[bytes]) -> tuple[bytes, int]:
    """Translate one item; give the expression and where the next item begins."""
    if item["stars"]:
        return translate_stars(rest, item.start(), item.end())
    if item["set"]:
        return translate_set(rest, item.end())
    return b"[^/]" if item["one"] else re.escape(item["escaped"] or item["plain"]), item.end()


def translate_stars(rest: bytes, start: int, end: int) -> tuple[bytes, int]:
    """Translate ``*`` within a name, and ``**`` over folders where it stands between slashes."""
    opens = start == 0 or rest[start - 1 : start] == b"/"
    closes = end == len(rest) or rest.startswith((b"/", rb"\/"), end)
    if end - start < 2 or not opens or not closes:
        return b"[^/]*", end
    return (b"(?:.*/)?", end + 1) if rest.startswith(b"/", end) else (b".*", end)


def translate_set(rest: bytes, at: int) -> tuple[bytes, int]:
    """Translate ``[a-z]``, ``[!ab]``, ``[[:digit:]]``; one that never ends matches nothing."""
    negative = rest.startswith((b"!", b"^"), at)
    first = at = at + negative
    members: set[int] = set()
    while at == first or not rest.startswith(b"]", at):
        item = SET_ITEM.match(rest, at)
        if item is None or (item["name"] is not None and item["name"] not in POSIX_CLASSES):
            return NEVER, len(rest)
        members |= set_members(item)
        at = item.end()
    chosen = sorted((set(range(256)) - members if negative else members) - {ord("/")})
    return (b"[" + re.escape(bytes(chosen)) + b"]" if chosen else NEVER), at + 1


def set_members(item: re.Match[bytes]) -> set[int]:
    """List the bytes of one item of a bracket expression; a range always has its low end."""
    if item["name"] is not None:
        return set(POSIX_CLASSES[item["name"]].encode())
    if item["one"]:
        return {item["one"][-1]}
    return {item["low"][-1], *range(item["low"][-1], item["high"][-1] + 1)}
