"""
A page of tables, figures and cases as one HTML file: nothing is fetched, figures are inline.

Knows nothing of what it shows. Needs Jinja2 (and, for figures, matplotlib): the extra ``plot``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from vicinal.analysis.moved import Movements
from vicinal.analysis.plots import color
from vicinal.analysis.tables import Number, Table
from vicinal.analysis.templating import environment


@dataclass(frozen=True)
class Drawing:
    """A figure as an SVG document, and what it shows."""

    drawn: bytes
    caption: str

    @property
    def svg(self) -> str:
        """Give the SVG element alone, as HTML takes it."""
        from markupsafe import Markup

        text = self.drawn.decode("utf-8")
        return Markup(text[text.index("<svg") :])


@dataclass(frozen=True)
class Section:
    """A part of a page."""

    title: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Drawing] = ()
    moved: Movements | None = None


@dataclass(frozen=True)
class Page:
    """A title, what to know first, sections, and the settings of it all."""

    title: str
    lead: Sequence[str]
    sections: Sequence[Section]
    settings: Mapping[str, str] = field(default_factory=dict)
    attributes: Sequence[str] = ()
    n_levels: int = 1

    def to_html(self) -> str:
        """Write the page."""
        template = environment().get_template("page.html.jinja")
        colors = [color(level) for level in range(self.n_levels)]
        return template.render(page=self, shown=self.attributes, colors=colors, number=Number)
