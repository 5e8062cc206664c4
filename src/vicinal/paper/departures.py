"""
Where the paper's text, its released code and vicinal differ, each with what it can be measured by.

The list is data: what each of the three does, and the variation of a scene that does it as the
released code did. What cannot be varied here says why. Read off notes on the released code.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from vicinal.lm import AbstractLanguageModel
from vicinal.paper.approximations import CertainIsLost, HalfPrecision, dropped_afterwards, quantized
from vicinal.paper.relabeling import (
    exact_headings,
    mistaken_paths,
    no_category_is_one,
    shifted_sections,
    truncated,
)
from vicinal.paper.scene import Scene, Variation


@dataclass(frozen=True)
class Departure:
    """
    A point where the three differ.

    *variation* makes a scene as the released code had it; where there is none, *measured* names
    another measurement or is empty, and the effect is not known here.
    """

    name: str
    paper: str
    released: str
    ours: str
    variation: Variation | None = None
    measured: str = ""
    why_not: str = ""


ADAM, CHOSEN_ON_TEST, END, FLOOR = "adam", "chosen on test", "end of document", "floor"


def departures(protocol: str, scene: Scene) -> list[Departure]:
    """List the departures of an experiment."""
    own = _of_java() if protocol == "java" else _of_wikitext(scene.lm)
    return [*own, *_of_both(scene.lm), *_of_fitting()]


def as_released(protocol: str, scene: Scene) -> tuple[Variation, ...]:
    """Join every variation that reproduces the released code's behavior."""
    found: Sequence[Departure] = departures(protocol, scene)
    return tuple(d.variation for d in found if d.variation)


def _of_java() -> list[Departure]:
    return [
        Departure(
            "paths of files",
            "project and directory of each file",
            "guessed back by text search: at least 3.5 % (test) and 7.6 % (valid) are wrong",
            "known from the first read on",
            Variation(view=mistaken_paths),
        ),
        Departure(
            "base model",
            "as Baevski and Auli (2019)",
            "a plain Transformer: 6 layers, width 512, 2,000 BPE merges",
            "any causal language model",
            why_not="needs that model: give it with --model",
        ),
    ]


def _of_wikitext(lm: AbstractLanguageModel) -> list[Departure]:
    return [
        Departure(
            "section titles",
            "the title of the section",
            "the title of the next section; the last section of each article is lost",
            "the title of the section, every section",
            Variation(view=shifted_sections(lm)),
        ),
        Departure(
            "depth of titles",
            "not said",
            "compared with their = signs",
            "the same title at any depth is the same",
            Variation(view=exact_headings(lm)),
        ),
        Departure(
            "articles without a category",
            "not said",
            "all of them share one",
            "match nothing",
            Variation(view=no_category_is_one),
        ),
        Departure(
            "distances",
            "squared distances of keys",
            "as a product quantizer of 64 bytes remembers them (WikiText only)",
            "true distances in float32",
            Variation(search=quantized),
        ),
        Departure(
            "categories",
            "Wikidata P31 and P279 of the article",
            "the same",
            "as named in the data section of this report",
            why_not="no source at hand has P31 and P279 for all of these articles",
        ),
    ]


def _of_both(lm: AbstractLanguageModel) -> list[Departure]:
    return [
        Departure(
            "long documents",
            "not said",
            "cut after 3,072 subtokens: the rest is neither stored nor scored",
            "read whole, in windows",
            Variation(view=truncated(lm)),
        ),
        Departure(
            "own document",
            "left out",
            "k + 2,048 neighbors are searched, the own are dropped, some queries keep fewer than k",
            "left out inside of the search",
            Variation(search=dropped_afterwards),
        ),
        Departure(
            "precision of log p",
            "not said",
            "half precision before mixing",
            "float32",
            Variation(reading=HalfPrecision),
        ),
        Departure(
            "certain tokens",
            "top-k of the mixture",
            "a log-probability of exactly 0 counts as not computed: -10,000",
            "counts as certain",
            Variation(reading=CertainIsLost),
        ),
    ]


def _of_fitting() -> list[Departure]:
    return [
        Departure(
            "tokens without a retrieved gold",
            "sum over all tokens",
            "add the constant 10,000 and no gradient",
            "left out of the objective 'knn', with coverage reported; counted in 'mixture'",
            measured=FLOOR,
        ),
        Departure(
            "optimizer",
            "Adam, learning rate 1e-4, 200 epochs",
            "the same in 1,000 to 2,000 epochs, batches in corpus order",
            "L-BFGS to the minimum",
            measured=ADAM,
        ),
        Departure(
            "choice of the MLP",
            "not said",
            "the state that does best on the test set",
            "the state that does best on held-out documents of the fitted split",
            measured=CHOSEN_ON_TEST,
        ),
        Departure(
            "end of a document",
            "not said",
            "a final </s> is predicted and counts in perplexity",
            "is not scored",
            measured=END,
        ),
        Departure(
            "sign of b",
            "added to the distance",
            "added to the score, so its sign is the other",
            "added to the distance",
            why_not="none: the same numbers with the other sign",
        ),
    ]
