"""
A report of one measurement as a single HTML page: nothing is fetched, plots are inline.

Knows nothing of how the numbers came about. Needs matplotlib and Jinja2 (the extra ``plot``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vicinal.analysis.cases import Case
from vicinal.analysis.curves import Curves
from vicinal.analysis.plots import color, plot_curves, plot_lines
from vicinal.analysis.templating import environment
from vicinal.evaluation import Result
from vicinal.knnlm import Parameters

SHOWN = ("ppl", "ppl_full_token", "ppl_byte", "top1", "top5", "top10", "helped", "hurt")


@dataclass(frozen=True)
class Report:
    """
    What a report tells.

    *raw* and *calibrated* are the curves before and after calibration by the rung *told*; *reach*
    is the range of distances that its lines are drawn over.
    """

    title: str
    settings: Mapping[str, str]
    result: Result
    parameters: Parameters
    cases: Sequence[Case]
    raw: Curves
    calibrated: Curves
    reach: tuple[float, float]
    told: str = "linear"

    def to_html(self) -> str:
        """Write the page."""
        from markupsafe import Markup

        page = environment().get_template("report.html.jinja")
        plots = {name: Markup(svg) for name, svg in self._plots().items()}
        names = self.parameters.schema.level_names
        return page.render(
            report=self,
            columns=SHOWN,
            levels=[(name, color(level)) for level, name in enumerate(names)],
            lines=self._lines(),
            plots=plots,
        )

    def _lines(self) -> list[tuple[str, str, list[tuple[float, float]]]]:
        """Give name, λ, and weight and bias of each level, for every fitted rung."""
        rows = []
        for name, mixture in self.parameters.rungs.items():
            lines = mixture.calibration.lines
            pairs = zip(lines.weights.tolist(), lines.biases.tolist(), strict=True)
            rows.append((name, mixture.lam_told, list(pairs)))
        return rows

    def _plots(self) -> dict[str, str]:
        """Draw the curves before and after, and the lines between."""
        right = "carries the gold token"
        found = {}
        for kind, curves, distance in (
            ("raw", self.raw, "distance d"),
            ("calibrated", self.calibrated, "calibrated distance g"),
        ):
            ranked = f"rank by {distance}"
            found[f"{kind}_rank"] = plot_curves(
                curves.by_rank, x=ranked, y=right, log_x=True, share=True
            )
            found[f"{kind}_distance"] = plot_curves(
                curves.by_distance, x=distance, y=right, share=True
            )
            found[f"{kind}_mean"] = plot_curves(
                curves.distance_by_rank, x=ranked, y=f"mean {distance}", log_x=True
            )
        lines = self.parameters.rungs[self.told].calibration.lines
        names = self.parameters.schema.level_names
        return {**found, "lines": plot_lines(lines, names, self.reach)}
