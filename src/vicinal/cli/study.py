"""
The steps of ``vicinal paper``: encode, study, write; interrupted at any time, it goes on.

What each step took is kept beside the store, and added up over runs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vicinal.cli import examining, output, parts, progress, recording
from vicinal.cli.asked import Asked

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.lm import AbstractLanguageModel
    from vicinal.paper import Baseline, Material, Protocol

DOMAINS = {"java": "code", "wikitext": "wikitext"}


def run(asked: Asked, protocols: "Mapping[str, Protocol]", *, as_json: bool) -> None:
    """Encode what the store has not, study it, and write the report."""
    from vicinal.analysis import missing_packages
    from vicinal.paper import Watch, read_whole, study, tables

    asked.check(missing_packages())
    clock = recording.Clock(asked.out / "seconds.json")
    materials = [
        _material(asked, protocol, asked.out / unit, clock) for unit, protocol in protocols.items()
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
    record = recording.record(asked, materials, findings, clock)
    page = recording.write(asked, materials[0].protocol, findings, made, record)
    if as_json:
        output.print_json({**record, "report": str(page)})
        return
    for table in made:
        if table.name in ("table2", "table3", "claims"):
            output.print_table(table.columns, table.cells, table.title)
    output.print_facts({"report": page, "seconds": round(sum(clock.seconds.values()))})


def _material(
    asked: Asked, protocol: "Protocol", folder: Path, clock: recording.Clock
) -> "Material":
    """Bring the store of a protocol to the state of its documents."""
    from vicinal.datastore import BuildOptions, Datastore, build
    from vicinal.paper import Material

    path = folder / "store"
    known = parts.settings_of(Datastore.open(path)) if parts.has_store(path) else parts.Settings()
    wanted = {"model": asked.model, "dtype": asked.dtype, "corpus": DOMAINS[protocol.name]}
    settings = known.given(wanted)
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
