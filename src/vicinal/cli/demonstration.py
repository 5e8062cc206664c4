"""
The steps of the demo: index, fit, measure, look closer.

What was indexed or fitted before, on the same documents, is not done again. Prints nothing but
progress.
"""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import vicinal
from vicinal.cli import examining, output
from vicinal.cli.demo_store import prepared
from vicinal.cli.packages import Packages

if TYPE_CHECKING:  # the command's help must not wait for torch
    from vicinal.analysis import Report
    from vicinal.datastore import Datastore
    from vicinal.evaluation import Examination
    from vicinal.knnlm import KNNLM, Parameters

K, SEED = 128, 0
TITLE = "vicinal demo: what locality is worth on the packages installed here"


@dataclass(frozen=True)
class Demonstration:
    """The demo on some packages, in one store; *sample* positions are fitted and tested on each."""

    packages: Packages
    store: Path
    sample: int = 4_000

    def run(self, model: str | None = None) -> "Report":
        """Do all that is not done yet, and tell what came of it."""
        from vicinal.knnlm import KNNLM, Choice

        opened, lm = prepared(self.store, self.packages, model)
        knn = KNNLM.from_store(opened, lm, choice=Choice(k=K, index="exact", rung="knn"))
        return self._measure(knn, self._fit(opened, knn))

    def _fit(self, store: "Datastore", model: "KNNLM") -> "Parameters":
        """Take the stored parameters if they were fitted to these documents, or fit."""
        from vicinal.evaluation import FITTED, Watcher, fit_parameters
        from vicinal.knnlm import NAME_IN_STORE, stored_parameters
        from vicinal.locality import Recipe

        settings = self._settings(store)
        stored = stored_parameters(store)
        if stored and stored.notes.get("settings") == settings:
            return stored
        examination = self._examine(model, self.packages.fit)
        with examining.counting("looking up, to fit", len(examination.sample)) as advance:
            watcher = Watcher(advance, lambda name: output.note(f"fitting {name} ..."))
            found = fit_parameters(examination, model, FITTED, Recipe(seed=SEED), watcher)
        found = replace(found, notes={**found.notes, "settings": settings})
        store.save_parameters(NAME_IN_STORE, found.to_json())
        return found

    def _measure(self, model: "KNNLM", parameters: "Parameters") -> "Report":
        from vicinal.analysis import Report, cases, curves
        from vicinal.evaluation import observe, rungs_of, score, table

        examination = self._examine(model, self.packages.test)
        examination.refuse_fitted(parameters.fitted_on)
        rungs = rungs_of(parameters, model.retriever.schema.n_levels)
        with examining.counting("looking up, to test", 2 * len(examination.sample)) as advance:
            scored = score(examination.queries, model, rungs, advance)
            observed = observe(examination.queries, model, advance)
        names = model.retriever.schema.level_names
        told = {name: rungs[name] for name in ("lm", "temperature", "linear")}
        lines = parameters.rungs["linear"].calibration
        near = observed.distances[observed.distances.isfinite()].numpy()
        return Report(
            TITLE,
            self._facts(parameters, model),
            table(scored, examination.sample, examination.subjects, group="project", seed=SEED),
            parameters,
            cases(scored, examination, model, told),
            curves(observed, names),
            curves(observed, names, lines),
            (float(near.min()), float(near.max())),
        )

    def _examine(self, model: "KNNLM", names: tuple[str, ...]) -> "Examination":
        from vicinal.evaluation import Examination, stored_subjects

        snapshot = model.retriever.snapshot
        subjects = stored_subjects(snapshot, model.lm, self.packages.patterns(names))
        return Examination.from_subjects(subjects, model, size=self.sample, seed=SEED)

    def _settings(self, store: "Datastore") -> dict[str, object]:
        """Write what fitted parameters depend on."""
        hashes = "".join(sorted(store.content_hashes().values()))
        digest = hashlib.sha256(hashes.encode()).hexdigest()
        fit = list(self.packages.fit)
        return {"k": K, "sample": self.sample, "seed": SEED, "fit": fit, "documents": digest}

    def _facts(self, parameters: "Parameters", model: "KNNLM") -> dict[str, str]:
        """Name what a reader of the report would ask for."""
        snapshot = model.retriever.snapshot
        return {
            "model": f"{model.lm.name} ({model.lm.fingerprint[:16]})",
            "fitted on": ", ".join(self.packages.fit),
            "tested on": ", ".join(self.packages.test),
            "store": f"{self.store}: {len(snapshot.documents):,} documents, "
            f"{snapshot.n_live:,} entries",
            "neighbors": f"k = {K}, exact search, own document left out",
            "positions": f"{parameters.notes['positions']:,} fitted on, at most {self.sample:,} "
            f"tested on, seed {SEED}",
            "objective": f"{parameters.notes['objective']}, by {parameters.notes['optimizer']}",
            "vicinal": vicinal.__version__,
        }
