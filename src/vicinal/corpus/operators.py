"""
Operators of more than one character, where Pygments gives them character by character.

Knows nothing of how they are found. ``>>`` is listed only where it cannot close two lists of type
arguments as well: which of the two it is, only a parser can say.
"""

C_FAMILY = "++ -- && || == != <= >= += -= *= /= %= &= |= ^= << <<= >>= -> ..."
BESIDE_THESE = {
    "c objective-c": ">> ##",
    "cpp objective-c++ cuda arduino": ":: .* ->* <=> ##",
    "csharp": ":: => ?. ?? ??= .. >>>=",
    "dart": "=> ?. ?? ??= .. ...? ~/ ~/= >>>=",
    "groovy": ":: ** **= => ?. ?: .. <=> =~ ==~ >>>=",
    "javascript jsx typescript tsx": "=> === !== ** **= ?. ?? ??= &&= ||= >>>=",
    "kotlin": ":: === !== ?. ?: !! ..",
    "php": ":: => === !== ** **= ?-> ?? ??= <=> .= >>",
    "rust": ":: => .. ..=",
    "swift": "=== !== ?? ..<",
}
PYTHON = "== != <= >= += -= *= /= %= @= &= |= ^= << <<= >> >>= ** **= // //= -> := ..."

# By Pygments' first name of a language; in a language not listed here, pieces stay as they are.
OPERATORS = {
    language: frozenset(f"{C_FAMILY} {own}".split())
    for languages, own in BESIDE_THESE.items()
    for language in languages.split()
} | {"python": frozenset(PYTHON.split())}
