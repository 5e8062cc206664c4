"""
The measured effect of each departure: the same small ladder, once ours and once as released.

A varied scene is looked up, fitted and tested like our own, on the same draw of positions where
the variation leaves them in place. Knows nothing of how effects are shown.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from vicinal.evaluation import (
    Examination,
    Result,
    fit_ladder,
    measure,
    observe,
    rungs_of,
)
from vicinal.knnlm import KNNLM, Mixture, Parameters
from vicinal.locality import Network, fit_mlp
from vicinal.paper.departures import (
    ADAM,
    CHOSEN_ON_TEST,
    END,
    FLOOR,
    Departure,
    as_released,
    departures,
)
from vicinal.paper.fitting import PAPER, RECIPES, Measuring
from vicinal.paper.scene import Scene, Variation

RUNGS = ("temperature", "linear")
ENDS = 60  # documents that are encoded again with an end
PAPER_EPOCHS = 200


@dataclass(frozen=True)
class Measured:
    """What a pair of scenes comes to: the small ladder on the test split, and what was fitted."""

    result: Result
    parameters: Parameters

    def ppl(self, rung: str) -> float:
        """Give a rung's perplexity per full token."""
        return self.measure(rung, "ppl_full_token")

    def measure(self, rung: str, name: str) -> float:
        """Give a rung's measure."""
        return next(row.measures[name] for row in self.result.rows if row.name == rung)

    @property
    def locality(self) -> float:
        """Give how much lower the lines' perplexity is than temperature's, as a share."""
        return 1 - self.ppl("linear") / self.ppl("temperature")


@dataclass(frozen=True)
class Effect:
    """A departure with what it does to our numbers; *words* where it is not a matter of rows."""

    departure: Departure
    measured: Measured | None = None
    words: str = ""


@dataclass(frozen=True)
class Pair:
    """The split to fit on and the one to test on, and how many positions of each are drawn."""

    valid: Scene
    test: Scene
    size: int | None
    seed: int
    how: Measuring

    def varied(self, variations: Sequence[Variation]) -> "Pair":
        """Do some things otherwise in both splits."""
        return replace(self, valid=self.valid.varied(variations), test=self.test.varied(variations))

    def examined(self, scene: Scene) -> tuple[Examination, KNNLM]:
        """Draw the positions of a split."""
        model = scene.model()
        return scene.examine(model, self.size, self.seed), model

    def measured(self) -> Measured:
        """Fit the small ladder by the paper's recipe, and test it."""
        examination, model = self.examined(self.valid)
        schema = self.valid.schema
        observations = observe(examination.queries, model, self.how.progress)
        fitted = fit_ladder(observations, RUNGS, RECIPES[PAPER], n_levels=schema.n_levels)
        mixtures = {name: Mixture.of(f) for name, f in fitted.items()}
        parameters = Parameters(model.lm.fingerprint, schema, model.k, mixtures)
        return Measured(self.tested(parameters), parameters)

    def tested(self, parameters: Parameters) -> Result:
        """Test some parameters."""
        examination, model = self.examined(self.test)
        rungs = rungs_of(parameters, self.test.schema.n_levels)
        group = self.how.group
        return measure(examination, model, rungs, group=group, seed=0)


def effects(protocol: str, pair: Pair, base: Measured, say: Callable[[str], None]) -> list[Effect]:
    """Measure every departure that can be measured, and all variations together."""
    found = []
    for departure in departures(protocol, pair.test):
        say(f"measuring: {departure.name}")
        if departure.variation:
            found.append(Effect(departure, pair.varied([departure.variation]).measured()))
        elif departure.measured:
            found.append(Effect(departure, words=SPECIAL[departure.measured](pair, base)))
        else:
            found.append(Effect(departure, words=f"not measured: {departure.why_not}"))
    together = pair.varied(as_released(protocol, pair.test))
    say("measuring: all of these together")
    everything = Departure("all variations above together", "", "", "")
    return [*found, Effect(everything, together.measured())]


def _floor(pair: Pair, base: Measured) -> str:
    examination, model = pair.examined(pair.valid)
    found = observe(examination.queries, model)
    recipe = RECIPES[PAPER]
    fitted = fit_ladder(found, RUNGS, recipe, n_levels=pair.valid.schema.n_levels)["linear"]
    loss = fitted.coverage * fitted.loss + (1 - fitted.coverage) * 1e4
    return (
        f"at {1 - fitted.coverage:.1%} of the positions; the loss reads {loss:,.1f} in place of "
        f"{fitted.loss:.4f}; the parameters are the same"
    )


def _adam(pair: Pair, base: Measured) -> str:
    examination, model = pair.examined(pair.valid)
    recipe = replace(RECIPES[PAPER], optimizer="adam", epochs=PAPER_EPOCHS)
    n_levels = pair.valid.schema.n_levels
    found = fit_ladder(observe(examination.queries, model), RUNGS, recipe, n_levels=n_levels)
    mixtures = {name: Mixture.of(f) for name, f in found.items()}
    parameters = replace(base.parameters, rungs=mixtures)
    after = Measured(pair.tested(parameters), parameters)
    lines = found["linear"].calibration.lines
    biases = ", ".join(f"{b:+.2f}" for b in lines.biases[1:].tolist())
    return (
        f"after {PAPER_EPOCHS} epochs of {math.ceil(len(examination.sample) / recipe.batch)} "
        f"batches b has come to {biases}; test PPL of temperature {base.ppl('temperature'):.3f} → "
        f"{after.ppl('temperature'):.3f}, of linear {base.ppl('linear'):.3f} → "
        f"{after.ppl('linear'):.3f}"
    )


def _chosen_on_test(pair: Pair, base: Measured) -> str:
    (fit_on, model), (test_on, other) = pair.examined(pair.valid), pair.examined(pair.test)
    observations, judge = observe(fit_on.queries, model), observe(test_on.queries, other)
    recipe, n_levels = RECIPES[PAPER], pair.valid.schema.n_levels
    lines = fit_ladder(observations, ["linear"], recipe, n_levels=n_levels)["linear"]
    told = {}
    for name, chosen_by in (("held out", None), ("test", judge)):
        network = Network(seed=pair.seed)
        fitted = fit_mlp(observations, lines, recipe, network, judge=chosen_by)
        rungs = {"mlp": Mixture.of(fitted)}
        rows = pair.tested(replace(base.parameters, rungs=rungs)).rows
        told[name] = rows[-1].measures["ppl_full_token"]
    return (
        f"test PPL of the MLP {told['held out']:.3f} chosen on held-out documents, "
        f"{told['test']:.3f} chosen on test; of the lines {base.ppl('linear'):.3f}"
    )


def _end(pair: Pair, base: Measured) -> str:
    """Score the end of some documents by the base model, as if it were one more full token."""
    examination, _ = pair.examined(pair.test)
    end = pair.test.lm.boundary_id
    if end is None:
        return "not measured: the model has no token between documents"
    several = list(examination.subjects)[:ENDS]
    encodings = pair.test.lm.encode([np.append(s.ids, end).astype(np.int32) for s in several])
    outputs = torch.from_numpy(np.stack([e.outputs[-1] for e in encodings]))
    losses = -pair.test.lm.log_p(outputs)[:, end].double()
    all_full = sum(int(s.units.full_tokens.sum()) for s in examination.subjects)
    share = len(examination.subjects) / all_full
    before = base.ppl("lm")
    after = math.exp((math.log(before) + share * losses.mean().item()) / (1 + share))
    return (
        f"one more full token per document, {share:.2%} more; the base model gives an end "
        f"{losses.mean():.2f} nats on average ({len(several)} documents): its PPL "
        f"{before:.3f} → {after:.3f}"
    )


SPECIAL: Mapping[str, Callable[[Pair, Measured], str]] = {
    FLOOR: _floor,
    ADAM: _adam,
    CHOSEN_ON_TEST: _chosen_on_test,
    END: _end,
}
