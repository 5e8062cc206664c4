"""
The steps of ``vicinal paper``: encode, study, write; interrupted at any time, it goes on.

What each step took is kept beside the store, and added up over runs.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal.cli import examining, output, parts, progress
from vicinal.cli.versions import versions
from vicinal.errors import EvaluationError

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.lm import AbstractLanguageModel
    from vicinal.paper import Baseline, Findings, Material, Plan, Protocol

KILOBYTE = 1000
DOMAINS = {"java": "code", "wikitext": "wikitext"}


@dataclass(frozen=True)
class Asked:
    """What was asked for on the command line."""

    out: Path
    limit: int | None
    sample: int
    seeds: int
    seed: int
    k: int
    index: str
    departures: int
    as_released: bool
    baselines: Sequence[str] = field(default_factory=list)

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


def run(
    asked: Asked,
    protocols: "Mapping[str, Protocol]",
    *,
    model: str | None,
    dtype: str | None,
    as_json: bool,
) -> None:
    """Encode what the store has not, study it, and write the report."""
    from vicinal.analysis import missing_packages
    from vicinal.paper import Watch, read_whole, study, tables

    _check(asked, missing_packages())
    clock = Clock(asked.out / "seconds.json")
    materials = [
        _material(protocol, asked.out / unit, clock, {"model": model, "dtype": dtype})
        for unit, protocol in protocols.items()
    ]
    watch = Watch(output.note, examining.counting)
    with clock.step("study"):
        findings = study(materials[0], asked.plan(), watch)
    if len(materials) > 1:
        with clock.step("study of whole articles"):
            whole = read_whole(materials[1], asked.plan(), watch)
        findings = replace(findings, whole=whole)
    with clock.step("baselines"):
        others = list(_baselines(asked, materials[0].protocol))
    made = tables(findings, others)
    record = _record(asked, materials, findings, clock)
    page = _write(asked, materials[0].protocol, findings, made, record)
    if as_json:
        output.print_json({**record, "report": str(page)})
        return
    for table in made:
        if table.name in ("table2", "table3", "claims"):
            output.print_table(table.columns, table.cells, table.title)
    output.print_facts({"report": page, "seconds": round(sum(clock.seconds.values()))})


class Clock:
    """Adds up what each step takes, over runs, in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        known = file.read_text("utf-8") if file.is_file() else "{}"
        self.seconds: dict[str, float] = json.loads(known)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the time of a block, also of one that is interrupted."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] = round(self.seconds.get(name, 0) + spent, 1)
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_text(json.dumps(self.seconds, indent=1), encoding="utf-8")


def _check(asked: Asked, missing: list[str]) -> None:
    """Refuse before hours of work what would fail after them."""
    if missing:
        raise EvaluationError(
            f"A report needs {' and '.join(missing)}, not installed. "
            "Install them: `pip install 'vicinal[plot]'`."
        )
    wrong = [text for text in asked.baselines if not all(text.partition("="))]
    if wrong:
        raise EvaluationError(f"Expected --baseline NAME=MODEL, found: {', '.join(wrong)}.")


def _material(
    protocol: "Protocol", folder: Path, clock: Clock, asked: Mapping[str, str | None]
) -> "Material":
    """Bring the store of a protocol to the state of its documents."""
    from vicinal.datastore import BuildOptions, Datastore, build
    from vicinal.paper import Material

    path = folder / "store"
    known = parts.settings_of(Datastore.open(path)) if parts.has_store(path) else parts.Settings()
    settings = known.given({**asked, "corpus": DOMAINS[protocol.name]})
    lm = parts.load_model(settings)
    store = parts.open_or_create(path, settings, lm, keep_outputs=True)
    output.note(f"encoding what is new ({protocol.unit}s) ...")
    step = clock.step(f"encoding ({protocol.unit}s)")
    with step, progress.indexing(protocol, store, lm) as report:
        build(store, protocol, lm, options=BuildOptions(prune=True), progress=report)
    return Material(protocol, store, lm)


def _baselines(asked: Asked, protocol: "Protocol") -> "Iterator[Baseline]":
    from vicinal.paper import baseline

    for text in asked.baselines:
        name, _, model = text.partition("=")
        output.note(f"measuring {name} ...")
        lm: AbstractLanguageModel = parts.load_model(parts.Settings(model=model))
        yield baseline(name, lm, protocol, asked.sample, asked.seed + 1)


def _record(
    asked: Asked, materials: "Sequence[Material]", findings: "Findings", clock: Clock
) -> dict[str, Any]:
    """Tell what the run was: settings, versions, model, times, and every number of the ladders."""
    lm = materials[0].lm
    settings = {**asdict(asked), "out": str(asked.out), "baselines": list(asked.baselines)}
    ladders = findings.ladders
    return {
        "experiment": materials[0].protocol.name,
        "settings": settings,
        "seeds": list(range(asked.seed, asked.seed + asked.seeds)),
        "versions": versions(),
        "model": {"name": lm.name, "fingerprint": lm.fingerprint},
        "data": {split: asdict(facts) for split, facts in findings.facts.items()},
        "seconds": clock.seconds,
        "test": [
            {"recipe": recipe, "seed": seed, **result.to_dict()}
            for (recipe, seed), result in ladders.test.items()
        ],
    }


def _write(
    asked: Asked,
    protocol: "Protocol",
    findings: "Findings",
    made: Sequence[Any],
    record: Mapping[str, Any],
) -> Path:
    from vicinal.paper import PaperReport

    lead = [protocol.note]
    if asked.limit:
        lead.append(
            f"A small run: about {asked.limit:,} kB of text in each split's store, nothing else "
            "differs. Of code, whole directories (at most 25 files each) evenly over projects; of "
            "articles, whole ones, every other training article sharing a category with a split."
        )
    if asked.as_released:
        lead.append("Done as the paper's released code did, wherever that is feasible.")
    shown = {
        "model": f"{record['model']['name']} ({record['model']['fingerprint'][:16]})",
        **{name: str(value) for name, value in record["settings"].items() if name != "out"},
        **{name: str(value) for name, value in record["versions"].items()},
    }
    page = PaperReport(protocol.name, findings, made, lead, shown).write(asked.out)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (asked.out / "run.json").write_text(text, encoding="utf-8")
    return page
