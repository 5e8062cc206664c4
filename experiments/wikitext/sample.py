"""
Draw training articles for the store, of subjects that occur in the split under evaluation.

    python experiments/wikitext/sample.py TRAIN CATEGORIES DESTINATION

The paper's store holds the training set and the split; a laptop-sized one holds the split and
ARTICLES training articles, drawn with a seed among those whose Good Article subtopic is known.
Prints how many there were to draw from.
"""

import csv
import random
import sys
from pathlib import Path

from vicinal.corpus import Categories, WikiText

SEED = 0
ARTICLES = 40


def main(train: Path, categories: Path, destination: Path) -> None:
    csv.field_size_limit(10**7)
    known = Categories.from_tsv(
        categories, title=("wikitext_title", "enwiki_title"), column="ga_subtopic"
    )
    articles = list(WikiText(train, unit="article", categories=known))
    candidates = [a for a in articles if a.spans[0].attributes["categories"]]
    chosen = {a.name for a in random.Random(SEED).sample(candidates, ARTICLES)}
    text = "".join(a.text for a in articles if a.name in chosen)
    destination.parent.mkdir(parents=True, exist_ok=True)
    # An article's heading stands after a blank line; the reader gives texts from the heading on.
    destination.write_text(" \n" + text, encoding="utf-8")
    print(f"{len(articles)} articles, {len(candidates)} with a subtopic, {len(chosen)} drawn")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
