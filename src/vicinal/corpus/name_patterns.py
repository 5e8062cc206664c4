"""Which file names are alike: shell patterns, many at a time."""

import re
from fnmatch import translate


def named_like(patterns: str) -> re.Pattern[str]:
    """
    Compile shell patterns that stand one after the other, to be matched with names in lower case.

    >>> bool(named_like("*.pem id_rsa").match("server.pem"))
    True
    """
    return re.compile("|".join(map(translate, patterns.split())))
