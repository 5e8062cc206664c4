"""What a run of ``vicinal paper`` leaves behind: its report, its record, what each step took."""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal.cli.asked import Asked
from vicinal.cli.versions import versions

if TYPE_CHECKING:  # the commands' help must not wait for torch
    from vicinal.analysis import Table
    from vicinal.datastore import Datastore
    from vicinal.paper import Findings, Material, Protocol

PLACES = ("data", "out", "categories")  # on this machine: in the record, not on the page


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


def record(
    asked: Asked, materials: "Sequence[Material]", findings: "Findings", clock: Clock
) -> dict[str, Any]:
    """Tell what the run was: settings, versions, model, times, and every number of the ladders."""
    lm = materials[0].lm
    ladders = findings.ladders
    return {
        "experiment": materials[0].protocol.name,
        "settings": asked.settings(),
        "seeds": list(range(asked.seed, asked.seed + asked.seeds)),
        "versions": versions(),
        "model": {"name": lm.name, "fingerprint": lm.fingerprint},
        "documents": {m.protocol.unit: _digest(m.store) for m in materials},
        "data": {split: asdict(facts) for split, facts in findings.facts.items()},
        "seconds": clock.seconds,
        "test": [
            {"recipe": recipe, "seed": seed, **result.to_dict()}
            for (recipe, seed), result in ladders.test.items()
        ],
    }


def write(
    asked: Asked,
    protocol: "Protocol",
    findings: "Findings",
    made: "Sequence[Table]",
    record: Mapping[str, Any],
) -> Path:
    """Write the report and the record; the answer is the report's page."""
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
    settings = {k: v for k, v in record["settings"].items() if k not in PLACES}
    shown = {
        **{name: str(value) for name, value in settings.items()},
        "model": f"{record['model']['name']} ({record['model']['fingerprint'][:16]})",
        **{name: str(value) for name, value in record["versions"].items()},
    }
    page = PaperReport(protocol.name, findings, made, lead, shown).write(asked.out)
    text = json.dumps(record, indent=1, ensure_ascii=False)
    (asked.out / "run.json").write_text(text, encoding="utf-8")
    return page


def _digest(store: "Datastore") -> str:
    """Hash the names and contents of all documents."""
    told = "\n".join(f"{name} {digest}" for name, digest in sorted(store.content_hashes().items()))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
