"""
One experiment of the paper from end to end: look up, fit, measure, look closer.

Takes a store that holds the protocol's documents; gives findings, from which tables and figures
are made elsewhere. Every step keeps what it found in files beside the store.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from vicinal.analysis import (
    PUBLISHED,
    Change,
    Curves,
    Movements,
    Odds,
    curves,
    movements,
    odds_within,
)
from vicinal.datastore import Datastore
from vicinal.errors import EvaluationError
from vicinal.evaluation import Examination, Result, observe
from vicinal.knnlm import KNNLM, Parameters
from vicinal.lm import AbstractLanguageModel
from vicinal.locality import LocalitySchema, Observations
from vicinal.paper.departures import as_released
from vicinal.paper.effects import Effect, Measured, Pair, effects
from vicinal.paper.fitting import OURS, PAPER, Fit, Ground, Measuring, fit_all, measure_all
from vicinal.paper.protocol import TEST, VALID, Protocol
from vicinal.paper.scene import Facts, How, Scene, facts

HARD = 0.1  # the base model's p of the gold token, below which a position is hard
Advance = Callable[[int], None]


@dataclass(frozen=True)
class Plan:
    """
    How much of an experiment is done.

    *sample* positions are fitted on with each of *seeds* seeds, drawn from twice as many, and as
    many are tested. Departures are measured on *departures* positions of each split; 0 leaves them
    out. *as_released* reproduces the released code wherever that is feasible.
    """

    sample: int = 10_000
    seeds: int = 5
    seed: int = 0
    departures: int = 4_000
    cases: int = 3
    as_released: bool = False
    how: How = field(default_factory=How)

    def __post_init__(self) -> None:
        if min(self.sample, self.seeds, self.cases) < 1 or self.departures < 0:
            raise EvaluationError(
                f"Sample, seeds and cases should be at least 1, departures at least 0; found "
                f"{self.sample}, {self.seeds}, {self.cases} and {self.departures}."
            )


@dataclass(frozen=True)
class Watch:
    """Whom to tell what is being done, and of how many positions."""

    say: Callable[[str], None] = lambda words: None
    count: Callable[[str, int], AbstractContextManager[Advance]] = lambda words, n: nullcontext(
        lambda done: None
    )


@dataclass(frozen=True)
class Material:
    """What a study works with: the protocol, the store of its documents, and the model."""

    protocol: Protocol
    store: Datastore
    lm: AbstractLanguageModel

    @property
    def memory(self) -> Path:
        """Locate where a study keeps what it has found so far."""
        return self.store.files.root.parent

    def scene(self, split: str, plan: Plan) -> Scene:
        """See one split, as released if the plan says so."""
        scene = Scene.of(self.protocol, self.store, self.lm, plan.how, split)
        return scene.varied(as_released(self.protocol.name, scene)) if plan.as_released else scene


@dataclass(frozen=True)
class Looked:
    """A split whose positions were looked up."""

    scene: Scene
    model: KNNLM
    examination: Examination
    observations: Observations


@dataclass(frozen=True)
class Ladders:
    """What was fitted, and what it comes to on the split that was fitted on and on the other."""

    fits: Sequence[Fit]
    dev: Mapping[tuple[str, int], Result]
    test: Mapping[tuple[str, int], Result]

    def parameters(self, recipe: str) -> list[Parameters]:
        """Give what a recipe found, seed by seed."""
        return [fit.parameters for fit in self.fits if fit.recipe == recipe]

    def results(self, recipe: str, split: str) -> list[Result]:
        """Give what a recipe comes to on a split, seed by seed."""
        found = self.dev if split == VALID else self.test
        return [result for (name, _), result in found.items() if name == recipe]


@dataclass(frozen=True)
class Findings:
    """
    All that a report tells of one experiment.

    *odds* are those of a level against level 0 inside of one position, for all positions and for
    those that are hard for the base model.
    """

    schema: LocalitySchema
    facts: Mapping[str, Facts]
    ladders: Ladders
    raw: Curves
    odds: Mapping[str, Sequence[Odds]]
    calibrated: Curves
    moved: Movements
    base: Measured | None
    effects: Sequence[Effect]
    whole: "Whole | None" = None


@dataclass(frozen=True)
class Whole:
    """The same test text read by whole articles, with the levels of each section."""

    facts: Mapping[str, Facts]
    results: Mapping[str, Result]


def study(material: Material, plan: Plan, watch: Watch) -> Findings:
    """Do an experiment; what was found before is read, not done again."""
    valid = _looked_up(material.scene(VALID, plan), 2 * plan.sample, plan.seed, watch)
    test = _looked_up(material.scene(TEST, plan), plan.sample, plan.seed + 1, watch)
    ladders = _ladders(material, plan, watch, (valid, test))
    lines = ladders.parameters(PAPER)[0].rungs["linear"].calibration
    temperature = ladders.parameters(PAPER)[0].rungs["temperature"].calibration
    names, documents = test.scene.schema.level_names, test.examination.sample.subject
    hard = (test.observations.log_p_lm < math.log(HARD)).nonzero().squeeze(1)
    change = Change(temperature, lines, n=plan.cases, seed=plan.seed)
    watch.say("looking at single positions")
    moved = movements(test.observations, test.examination, test.model, change)
    base, found = _departures(material, plan, watch)
    return Findings(
        test.scene.schema,
        {VALID: facts(valid.scene), TEST: facts(test.scene)},
        ladders,
        curves(test.observations, names, None, PUBLISHED, documents),
        {
            "all": odds_within(test.observations, names, documents),
            "hard": odds_within(test.observations.rows(hard), names, documents[hard.numpy()]),
        },
        curves(test.observations, names, lines, PUBLISHED, documents),
        moved,
        base,
        found,
    )


def read_whole(material: Material, plan: Plan, watch: Watch) -> Whole:
    """Measure the ladder, once, where whole articles are the documents."""
    # What the released code did to sections has no meaning where documents are articles.
    small = replace(plan, seeds=1, as_released=False)
    valid = _looked_up(material.scene(VALID, small), 2 * plan.sample, plan.seed, watch)
    test = _looked_up(material.scene(TEST, small), plan.sample, plan.seed + 1, watch)
    ladders = _ladders(material, small, watch, (valid, test))
    return Whole(
        {TEST: facts(test.scene)},
        {recipe: ladders.results(recipe, TEST)[0] for recipe in (PAPER, OURS)},
    )


def _looked_up(scene: Scene, size: int, seed: int, watch: Watch) -> Looked:
    model = scene.model()
    examination = scene.examine(model, size, seed)
    with watch.count(f"looking up, {scene.split}", len(examination.sample)) as advance:
        observations = observe(examination.queries, model, advance)
    return Looked(scene, model, examination, observations)


def _ladders(
    material: Material, plan: Plan, watch: Watch, looked: tuple[Looked, Looked]
) -> Ladders:
    valid, test = looked
    ground = Ground(valid.examination, valid.observations, valid.model)
    seeds = range(plan.seed, plan.seed + plan.seeds)
    fits = fit_all(ground, seeds, material.memory / "parameters", watch.say)
    test.examination.refuse_fitted(fits[0].parameters.fitted_on)
    measured = {}
    for one in (valid, test):
        words = f"measuring, {one.scene.split}"
        with watch.count(words, len(one.examination.sample)) as advance:
            how = Measuring(material.protocol.domain.group, advance)
            measured[one.scene.split] = measure_all(one.examination, one.model, fits, how)
    return Ladders(fits, measured[VALID], measured[TEST])


def _departures(
    material: Material, plan: Plan, watch: Watch
) -> tuple[Measured | None, Sequence[Effect]]:
    if not plan.departures:
        return None, ()
    ours = replace(plan, as_released=False)
    pair = Pair(
        material.scene(VALID, ours),
        material.scene(TEST, ours),
        plan.departures,
        plan.seed,
        Measuring(material.protocol.domain.group),
    )
    watch.say("measuring departures: ours first")
    base = pair.measured()
    return base, effects(material.protocol.name, pair, base, watch.say)
