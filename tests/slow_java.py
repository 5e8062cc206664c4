"""Java cut character by character, and comments taken out line by line: slow, but obvious."""

import re

LONG_OPERATORS = (
    *(">>>=", "<<=", ">>=", "...", "<<", "->", "::", "++", "--", "&&", "||", "==", "!=", "<="),
    *(">=", "+=", "-=", "*=", "/=", "&=", "|=", "^=", "%="),
)
LOST = "\0"  # stands for a character of a comment
DIGITS, HEXADECIMAL = "0123456789_", "0123456789abcdefABCDEF_"


def java_lexemes(text):
    """List of each token and comment whether it is a comment, where it starts and where it ends."""
    found, start = [], 0
    while start < len(text):
        if text[start].isspace():
            start += 1
            continue
        is_comment = text[start : start + 2] in ("//", "/*")
        end = comment_end(text, start) if is_comment else token_end(text, start)
        found.append((is_comment, start, end))
        start = end
    return found


def comment_end(text, start):
    if text[start : start + 2] == "//":
        return run(text, start, lambda c: c not in "\r\n")
    for end in range(start + 4, len(text) + 1):
        if text[end - 2 : end] == "*/":
            return end
    return len(text)


def token_end(text, start):
    if opens_block(text, start):
        return literal_end(text, start, '"""', "")
    if text[start] in "\"'":
        return literal_end(text, start, text[start], "\r\n")
    if is_digit(text, start) or (text[start] == "." and is_digit(text, start + 1)):
        return number_end(text, start)
    end = name_end(text, start)
    if end > start:
        return end
    known = [o for o in LONG_OPERATORS if text[start : start + len(o)] == o]
    return start + max(map(len, known), default=1)


def opens_block(text, start):
    """A text block opens with three quotes that end their line."""
    end = run(text, start + 3, lambda c: c.isspace() and c not in "\r\n")
    return text[start : start + 3] == '"""' and text[end : end + 1] in ("\r", "\n")


def literal_end(text, start, quote, never):
    """Go to the closing quote; a literal that has none ends before a character it *never* has."""
    at = start + len(quote)
    while at < len(text) and text[at] not in never:
        if text[at : at + len(quote)] == quote:
            return at + len(quote)
        escapes = text[at] == "\\" and at + 1 < len(text) and text[at + 1] not in never
        at += 2 if escapes else 1
    return at


def number_end(text, start):
    prefix = text[start : start + 2].lower()
    if prefix == "0x":
        return hexadecimal_end(text, start)
    if prefix == "0b" and text[start + 2 : start + 3] in tuple(DIGITS):
        return suffix_end(text, run(text, start + 2, DIGITS.__contains__), "lL")
    end = run(text, start, DIGITS.__contains__)
    if text[end : end + 1] == ".":
        end = run(text, end + 1, DIGITS.__contains__)
    return suffix_end(text, exponent_end(text, end, "eE"), "fFdDlL")


def hexadecimal_end(text, start):
    whole = end = run(text, start + 2, HEXADECIMAL.__contains__)
    if text[end : end + 1] == ".":
        end = run(text, end + 1, HEXADECIMAL.__contains__)
    for fraction in (end, whole):
        if exponent_end(text, fraction, "pP") > fraction:
            return suffix_end(text, exponent_end(text, fraction, "pP"), "fFdD")
    return suffix_end(text, whole, "lL") if whole > start + 2 else start + 1


def exponent_end(text, at, letters):
    if text[at : at + 1] not in tuple(letters):
        return at
    digits = at + 2 if text[at + 1 : at + 2] in ("+", "-") else at + 1
    end = run(text, digits, DIGITS.__contains__)
    return end if end > digits else at


def suffix_end(text, at, letters):
    return at + 1 if text[at : at + 1] in tuple(letters) else at


def name_end(text, at):
    while at < len(text):
        after = escape_end(text, at)
        if after == at and not is_in_names(text[at]):
            break
        at = max(after, at + 1)
    return at


def escape_end(text, at):
    r"""Go behind ``\u0041`` or ``\uuu0041``; stay where there is none."""
    digits = run(text, at + 1, "u".__contains__)
    code = text[digits : digits + 4]
    is_hexadecimal = len(code) == 4 and all(c in HEXADECIMAL and c != "_" for c in code)
    return digits + 4 if text[at] == "\\" and digits > at + 1 and is_hexadecimal else at


def is_in_names(c):
    return (c.isalnum() or c in "_$") if c.isascii() else not c.isspace()


def is_digit(text, at):
    return text[at : at + 1] in tuple("0123456789")


def run(text, at, belongs):
    while at < len(text) and belongs(text[at]):
        at += 1
    return at


def without_spans(text, spans):
    """Take comments out of a text line by line; a line's end inside of a comment is none."""
    lost = {i for start, end in spans for i in range(start, end)}
    kept, line, at = "", "", 0
    while at < len(text):
        end = "\r\n" if text[at : at + 2] == "\r\n" else text[at]
        if at in lost:
            line += LOST
        elif end in ("\r\n", "\r", "\n"):
            kept += line_without(line, end)
            line = ""
        else:
            line += end
        at += len(end) if at not in lost else 1
    return kept + line_without(line, "")


def line_without(line, end):
    """Write a line without what is lost; a line of nothing else goes with its *end*."""
    if LOST not in line:
        return line + end
    line = re.sub(rf"{LOST}(\s*{LOST})*", LOST, line)
    if not line.replace(LOST, "").strip():
        return ""
    line = re.sub(rf"\s*{LOST}\s*\Z", "", line)
    line = re.sub(rf"\A(\s*){LOST}\s*", r"\1", line)
    line = re.sub(rf"(\s+){LOST}\s*|{LOST}(\s+)", lambda m: m[1] or m[2], line)
    return line.replace(LOST, " ") + end
