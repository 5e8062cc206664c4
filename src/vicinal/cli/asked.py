"""What was asked of ``vicinal paper``, and whether it can be done at all."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal.errors import EvaluationError

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.paper import Plan

KILOBYTE = 1000


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line; *own* is what only one of the commands has."""

    data: Path
    out: Path
    model: str | None
    dtype: str | None
    limit: int | None
    sample: int
    seeds: int
    seed: int
    k: int
    index: str
    departures: int
    as_released: bool
    baselines: Sequence[str] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def n_bytes(self) -> int | None:
        """Give the limit in bytes."""
        return None if self.limit is None else self.limit * KILOBYTE

    def plan(self) -> "Plan":
        """Say how much is done."""
        from vicinal.paper import How, Plan

        return Plan(
            sample=self.sample,
            seeds=self.seeds,
            seed=self.seed,
            departures=self.departures,
            as_released=self.as_released,
            how=How(self.k, self.index),
        )

    def settings(self) -> dict[str, Any]:
        """Write what was asked for, for the record."""
        told = {**asdict(self), **self.own, "data": str(self.data), "out": str(self.out)}
        del told["own"]
        return told

    def check(self, missing: list[str]) -> None:
        """Refuse before hours of work what would fail after them."""
        if missing:
            raise EvaluationError(
                f"A report needs {' and '.join(missing)}, not installed. "
                "Install them: `pip install 'vicinal[plot]'`."
            )
        wrong = [text for text in self.baselines if not all(text.partition("="))]
        if wrong:
            raise EvaluationError(f"Expected --baseline NAME=MODEL, found: {', '.join(wrong)}.")
