"""Templates of pages: escaped always, complete or an error. Needs Jinja2 (the extra ``plot``)."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from vicinal.errors import VicinalError

if TYPE_CHECKING:  # an extra
    from jinja2 import Environment

NEEDED = ("jinja2", "matplotlib")


def environment() -> "Environment":
    """Make what renders the templates of this room."""
    missing = missing_packages()
    if missing:
        raise VicinalError(
            f"A report needs {' and '.join(missing)}, not installed. "
            "Install them: `pip install 'vicinal[plot]'`."
        )
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("vicinal.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    return made


def missing_packages() -> list[str]:
    """Name the packages that a report needs and that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def visible(token: str) -> str:
    r"""
    Write a token so that its white space can be seen.

    >>> visible(" a\n")
    '␣a⏎'
    """
    return token.replace(" ", "␣").replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍")
