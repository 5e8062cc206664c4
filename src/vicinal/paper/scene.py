"""
One split of an experiment, ready to be looked up, and how it can be varied.

A variation says what the released code did otherwise at one point: to what is stored, how it is
searched, or how the base model's answer is read. Several are applied one after the other. Knows
nothing of parameters or measures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from vicinal.datastore import Datastore, Snapshot
from vicinal.evaluation import Examination, stored_subjects
from vicinal.index import AbstractIndex, RememberedIndex, open_index
from vicinal.knnlm import KNNLM, Mixture, Retriever
from vicinal.lm import AbstractLanguageModel
from vicinal.locality import LocalitySchema
from vicinal.paper.protocol import Protocol, view

View = Callable[[Snapshot], Snapshot]
Search = Callable[[Snapshot], AbstractIndex]
Reading = Callable[[AbstractLanguageModel], AbstractLanguageModel]


@dataclass(frozen=True)
class Variation:
    """
    A different way to do one thing; what is None stays as it is.

    *view* changes what is stored (and with it what is asked), *search* how neighbors are found,
    given how they were found before, *reading* what is taken for the base model's prediction.
    """

    view: View | None = None
    search: Callable[[Search], Search] | None = None
    reading: Reading | None = None


@dataclass(frozen=True)
class Scene:
    """
    One split of an experiment: who is asked, and what is searched.

    Answers of a search are kept in *memory*, so that a run that is interrupted goes on.
    """

    split: str
    schema: LocalitySchema
    snapshot: Snapshot
    lm: AbstractLanguageModel
    k: int
    memory: Path
    search: Search
    label: str = ""

    @classmethod
    def of(
        cls, protocol: Protocol, store: Datastore, lm: AbstractLanguageModel, how: "How", split: str
    ) -> "Scene":
        """See one split of a store, varied as *how* says."""

        def search(snapshot: Snapshot) -> AbstractIndex:
            return open_index(snapshot, cache=store.files.index, kind=how.index)

        scene = cls(
            split,
            protocol.domain.schema,
            view(store.snapshot(), split),
            lm,
            how.k,
            store.files.root.parent / "neighbors",
            search,
        )
        return scene.varied(how.variations)

    def varied(self, variations: Sequence[Variation]) -> "Scene":
        """Do some things otherwise."""
        scene = self
        for variation in variations:
            scene = replace(
                scene,
                snapshot=variation.view(scene.snapshot) if variation.view else scene.snapshot,
                search=variation.search(scene.search) if variation.search else scene.search,
                label=scene.label + _label(variation),
                lm=variation.reading(scene.lm) if variation.reading else scene.lm,
            )
        return scene

    def model(self) -> KNNLM:
        """Join the parts; the mixture is the published one, rungs are put in its place."""
        found = self.search(self.snapshot)
        index = RememberedIndex(found, self.snapshot, self.memory, self.label)
        retriever = Retriever(self.snapshot, index, self.schema)
        return KNNLM(self.lm, retriever, Mixture.published(self.schema.n_levels), k=self.k)

    def examine(self, model: KNNLM, size: int | None, seed: int) -> Examination:
        """Draw positions of the split's own documents."""
        subjects = stored_subjects(self.snapshot, self.lm, [f"{self.split}/*"])
        return Examination.from_subjects(subjects, model, size=size, seed=seed)


def _label(variation: Variation) -> str:
    """Name a way to search, for what is remembered of it."""
    return f"+{variation.search.__name__}" if variation.search else ""


@dataclass(frozen=True)
class How:
    """How neighbors are found: *k* of them, by which index, and with which variations."""

    k: int = 1024
    index: str = "auto"
    variations: tuple[Variation, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a split has: documents, tokens, full tokens, and how often each attribute is known."""

    documents: int
    tokens: int
    full_tokens: int
    stored: int
    known: Mapping[str, float] = field(default_factory=dict)


def facts(scene: Scene) -> Facts:
    """Count a split."""
    subjects = stored_subjects(scene.snapshot, scene.lm, [f"{scene.split}/*"])
    names = [attribute.name for attribute in scene.schema.attributes]
    known = {
        name: sum(bool(s.spans[0].attributes.get(name)) for s in subjects) / len(subjects)
        for name in names
    }
    return Facts(
        len(subjects),
        sum(len(s.ids) for s in subjects),
        sum(int(s.units.full_tokens.sum()) for s in subjects),
        scene.snapshot.n_live,
        known,
    )
