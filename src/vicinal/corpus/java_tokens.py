r"""
Java, cut as the first stage of a compiler cuts it, by one regular expression.

Pygments colors Java rather than cuts it: ``java.util.*`` is one piece to it, ``@Override`` another,
and ``"a\n"`` is four. Joining would not be enough, pieces would have to be cut as well; a pattern
says it in fewer lines and runs several times as fast. The tokens are those of the language
specification (names, keywords, whole literals, text blocks, the longest operators, ``@`` apart from
its name), with these departures:

- ``>>`` and ``>>>`` are always so many ``>``. They may close lists of type arguments, and whether
  they do, only a parser can say. ``>>=`` and ``>>>=`` cannot, and stay whole.
- ``\u0041`` is left as it is written, as part of a name or a literal; it is never a quote.
- A literal that is not closed ends with its line, a comment or a text block with the text; what no
  token may start with is a token of one character. So every text is cut, and in linear time:
  repetitions keep what they took (``*+``), whatever comes after.

Knows nothing of other languages.
"""

import re

COMMENT = r"(?P<comment>//[^\r\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?+)"
# Neither white space nor an ASCII character that is no letter, digit, _ or $.
IN_NAMES = r"[^\s\x00-\x23%-/:-@\[-^`{-\x7f]"
UNICODE_ESCAPE = r"\\u++[0-9a-fA-F]{4}"
NAME = rf"(?![0-9])(?:{IN_NAMES}++|{UNICODE_ESCAPE})++"
TEXT_BLOCK = r'"""[^\S\r\n]*+[\r\n][^"\\]*+(?:(?:\\.?+|"(?!""))[^"\\]*+)*+(?:""")?+'
STRING = r'"[^"\\\r\n]*+(?:\\[^\r\n]?+[^"\\\r\n]*+)*+"?+'
CHARACTER = STRING.replace('"', "'")
# Hexadecimal digits have a point only before an exponent.
HEXADECIMAL = r"0[xX](?:{h}*+(?:\.{h}*+)?+[pP][+-]?+[0-9_]++[fFdD]?+|{h}++[lL]?+)".replace(
    "{h}", "[0-9a-fA-F_]"
)
BINARY = r"0[bB][0-9_]++[lL]?+"
DECIMAL = r"(?:[0-9][0-9_]*+(?:\.[0-9_]*+)?+|\.[0-9][0-9_]*+)(?:[eE][+-]?+[0-9_]++)?+[fFdDlL]?+"
OPERATOR = r">>>?=|<<=?|\.\.\.|->|::|\+\+|--|&&|\|\||[=!<>+*/&|^%-]=|\S"

JAVA = re.compile(
    "|".join(
        [COMMENT, NAME, TEXT_BLOCK, STRING, CHARACTER, HEXADECIMAL, BINARY, DECIMAL, OPERATOR]
    ),
    re.DOTALL,
)
